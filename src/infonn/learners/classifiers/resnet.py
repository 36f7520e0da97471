"""ResNet-18 for pictures of 32 x 32, with dropout before the last layer for draws."""

from __future__ import annotations

from infonn.arrays import IntArray
from infonn.learners.classifiers.augment import CropFlip
from infonn.learners.classifiers.recipes import Recipe
from infonn.learners.classifiers.torch_classifier import ModuleClassifier  # says how to get torch where it is missing

from torch import Tensor, nn  # isort: skip
from torch.nn import functional  # isort: skip

# About 60 epochs; averaged weights instead of a validation set.
STRONG = Recipe(
    epochs=60,
    batch=256,
    rate=0.2,
    optimiser="sgd",
    weight_decay=5e-4,
    warmup=0.1,
    smoothing=0.05,
    average=0.995,
    augment=CropFlip(cutout=12),
)
PUBLISHED = Recipe(epochs=250, batch=128, rate=1e-3, average=None, augment=CropFlip())


class Block(nn.Module):
    """Two 3 x 3 convolutions and the way around them."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        same = stride == 1 and inputs == outputs
        self.shortcut = (
            nn.Identity()
            if same
            else nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))
        )

    def forward(self, x: Tensor) -> Tensor:
        y = functional.relu(self.norm1(self.conv1(x)))
        return functional.relu(self.norm2(self.conv2(y)) + self.shortcut(x))


class ResNet18(nn.Module):
    """He et al. 2016 with a 3 x 3 stem and no first pooling, as is usual for pictures of 32 x 32."""

    def __init__(self, n_classes: int = 10, dropout: float = 0.3, width: int = 64) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU())
        sizes = [(width, width, 1), (width, 2 * width, 2), (2 * width, 4 * width, 2), (4 * width, 8 * width, 2)]
        blocks = [block for i, o, s in sizes for block in (Block(i, o, s), Block(o, o, 1))]
        self.blocks = nn.Sequential(*blocks)
        self.features = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.dropout = nn.Dropout(dropout)
        self.last = nn.Linear(8 * width, n_classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.classify(self.features(self.blocks(self.stem(x))))

    def classify(self, features: Tensor) -> Tensor:
        """Logits from the last hidden layer."""
        return self.last(self.dropout(features))  # type: ignore[no-any-return]


def resnet18(
    images: IntArray,
    n_classes: int = 10,
    recipe: Recipe = STRONG,
    n_draws: int = 50,
    device: str = "cpu",
    width: int = 64,
    compiled: bool = True,
) -> ModuleClassifier:
    """A learner on pictures (items, 32, 32, 3): the 512 numbers before the last layer are the embedding."""
    return ModuleClassifier(
        images, lambda: ResNet18(n_classes, width=width), "features", n_classes, recipe, n_draws, device, compiled
    )
