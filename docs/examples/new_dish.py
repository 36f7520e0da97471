"""Learn how 73 dishes taste from people's answers, then place a dish that nobody was asked about."""

import numpy as np

from infonn.datasets.food import food73
from infonn.estimators import Embedding
from infonn.queries import draw_from_triplets

food = food73()
answers = draw_from_triplets(food.triplets, 4000, 3, np.random.default_rng(0))  # which of three tastes most alike?
train, test = answers.take(slice(2000)), answers.take(slice(2000, None))

# Eight small networks, trained briefly: trained for long they learn the 73 dishes by heart, not what tastes say.
settings = {"layers": [12, 12, 12], "members": 8, "epochs": 60, "learning_rate": 0.01}
model = Embedding("network", features=food.tastes, settings=settings, random_state=0)
model.fit(train.queries, train.responses)
print(f"Triplet accuracy on answers it has not seen: {model.score(test.queries, test.responses):.2f}")

mango_sorbet = np.array([[0.0, 0.0, 0.25, 0.0, 0.75, 0.0]])  # salty, savory, sour, bitter, sweet, spicy
distances = np.linalg.norm(model.embedding_ - model.transform(mango_sorbet), axis=1)
print("Nearest to a mango sorbet:", *(food.names[item] for item in distances.argsort()[:3]), sep="\n  ")
