"""scikit-learn's digits: the labelling loop in a minute, without any file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from infonn.arrays import FloatArray, IntArray
from infonn.datasets.images import digits
from infonn.experiments.paper.labelling import accuracy_figure, labels_table, outperforms, setups
from infonn.experiments.sweep import Claim, Experiment, Plan
from infonn.experiments.trial import Curve, Setup

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from infonn.learners.classifiers.heads import Head

METHODS = ("Random", "MaxEntropy", "Margin", "K-Center", "BALD", "BatchBALD", "PowerBALD", "BADGE", "Info-NN-3")
LEARNER = "8 small networks"


@lru_cache(maxsize=2)
def learner(device: str, members: int) -> Head:
    """An ensemble of small networks on the 64 pixels; one for all trials, so that they stack."""
    from infonn.learners.classifiers.heads import Head

    return Head(_rows(digits().images), 10, members=members, device=device)


def _rows(images: IntArray) -> FloatArray:
    return images.reshape(len(images), -1).astype(np.float32)


def build(plan: Plan, trial: int) -> list[Setup]:
    s, network, data = plan.settings, learner(plan.device, plan.settings["members"]), digits()
    return setups(
        plan,
        trial,
        data,
        network,
        lambda belief, images: network.predict_log_probs(belief, _rows(images)),
        s["methods"],
        learner_name=LEARNER,
        first=30,
        size=s["size"],
        rounds=s["rounds"],
        settings={"batch": s["size"]},
    )


def claims(curves: Sequence[Curve]) -> list[Claim]:
    holds, evidence = outperforms(curves, LEARNER, "Info-NN-3", ("Random", "MaxEntropy", "K-Center", "BatchBALD"))
    text = "Info-NN-3 outperforms Random, MaxEntropy, K-Center and BatchBALD on digits."
    made = [Claim("digits-info-nn-best", text, "the paper's claim about MNIST, on smaller digits", holds, evidence)]
    holds, evidence = outperforms(curves, LEARNER, "PowerBALD", ("Random",))
    return [*made, Claim("digits-power-bald", "PowerBALD outperforms Random on digits.", "ours", holds, evidence)]


def figures(curves: Sequence[Curve]) -> dict[str, Figure]:
    return {"accuracy": accuracy_figure(curves)}


def tables(curves: Sequence[Curve]) -> dict[str, str]:
    return {"labels": labels_table(curves, (0.9, 0.95))}


SETTINGS: dict[str, Any] = {"trials": 10, "methods": METHODS, "size": 10, "rounds": 20, "members": 8}

EXPERIMENT = Experiment(
    name="digits",
    title="Labels for scikit-learn's digits",
    where="not in the paper: its MNIST experiment on 1,797 digits of 8 x 8",
    minutes={"smoke": 1, "paper": 10},
    presets={
        "paper": SETTINGS,
        "smoke": SETTINGS
        | {"trials": 3, "rounds": 6, "members": 4, "methods": ("Random", "MaxEntropy", "PowerBALD", "Info-NN-3")},
    },
    build=build,
    claims=claims,
    figures=figures,
    tables=tables,
    together=10,
    notes=("Eight small networks on the pixels, trained on random weights of the labels, are the draws.",),
)
