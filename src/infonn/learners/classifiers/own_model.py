"""A model of yours as the learner: a scikit-learn classifier or a torch module, as an object or as "module:Class"."""

from __future__ import annotations

import copy
import importlib
import inspect
from typing import Any

from infonn.arrays import FloatArray
from infonn.contracts.loop import Learner
from infonn.errors import DataError
from infonn.learners.classifiers.sklearn_classifier import SklearnClassifier

DEFAULT = "sklearn.linear_model:LogisticRegression"


def own_model(
    features: FloatArray, n_classes: int, model: Any = DEFAULT, members: int = 5, scale: bool = True
) -> Learner:
    """A learner around `model`: a scikit-learn classifier with `predict_proba`, or a torch module.

    `model` is an object, a class, or text "module:Class". A class of torch is called with the number of features and
    of classes where it takes two arguments, else with none; an object is copied for each fit, as it is. `members`
    classifiers on resampled labels are the draws of a scikit-learn model; those of a torch module are its dropout's.
    """
    part = named_model(model) if isinstance(model, str) else model
    kind = part if inspect.isclass(part) else type(part)
    if _is_torch_module(kind):
        return _module_classifier(part, features, n_classes)
    if not hasattr(kind, "fit") or not (hasattr(kind, "predict_proba") or hasattr(part, "predict_proba")):
        raise DataError(
            f"{kind.__name__} is no classifier: it needs fit and predict_proba, as scikit-learn's have, or to be a "
            "torch.nn.Module."
        )
    return SklearnClassifier(features, n_classes, part() if inspect.isclass(part) else part, members, scale)


def named_model(name: str) -> Any:
    """What "module:Class" names; one sentence where there is no such thing."""
    module, separator, attribute = name.partition(":")
    if not (module and separator and attribute):
        raise DataError(f'Model "{name}" is not of the form module:Class, such as sklearn.svm:SVC.')
    try:
        loaded = importlib.import_module(module)
    except ImportError as error:
        raise DataError(f'Model "{name}": the module {module} cannot be imported ({error}).') from error
    if not hasattr(loaded, attribute):
        raise DataError(f'Model "{name}": the module {module} has no {attribute}.')
    return getattr(loaded, attribute)


def _is_torch_module(kind: type) -> bool:
    """Without importing torch: a class of it has been imported by whoever made it."""
    return any(base.__module__.startswith("torch.nn") and base.__name__ == "Module" for base in kind.__mro__)


def _module_classifier(part: Any, features: FloatArray, n_classes: int) -> Learner:
    from infonn.learners.classifiers.torch_classifier import ModuleClassifier

    def build() -> Any:
        if not inspect.isclass(part):
            return copy.deepcopy(part)
        needed = [
            parameter
            for parameter in inspect.signature(part).parameters.values()
            if parameter.default is parameter.empty and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        ]
        make: Any = part
        return make(features.shape[1], n_classes) if len(needed) >= 2 else make()

    return ModuleClassifier(features, build, _layer_before_last(build()), n_classes)


def _layer_before_last(module: Any) -> str:
    """The name of the last layer but one, whose output is the embedding."""
    leaves = [name for name, part in module.named_modules() if name and not list(part.children())]
    if len(leaves) < 2:
        raise DataError(
            f"{type(module).__name__} has {len(leaves)} layers; the last but one gives the embedding, so 2 are needed."
        )
    return leaves[-2]
