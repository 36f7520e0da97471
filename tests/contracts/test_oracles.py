"""What every oracle owes: one response per query, within its options, the same for the same generator."""

import importlib
import pkgutil

import numpy as np
import pytest

import infonn.oracles
from infonn.datasets.eggs import alien_eggs
from infonn.maths.responses import ResponseSettings
from infonn.oracles.distances import DistanceOracle, mahalanobis_oracle
from infonn.oracles.eggs import EggOracle
from infonn.oracles.labels import LabelOracle
from infonn.oracles.noise import Corrupted
from infonn.oracles.replay import Recorded, ReplayOracle
from infonn.queries import Answers, all_queries, check_responses

POINTS = np.random.default_rng(0).normal(size=(8, 2))
QUERIES = all_queries(8, 3)
BANK = Recorded(Answers(QUERIES, np.random.default_rng(1).integers(0, 3, len(QUERIES)).astype(np.int32)))

ORACLES = {
    "nearest": DistanceOracle(POINTS),
    "ranking": DistanceOracle(POINTS, "ranking"),
    "noisy": DistanceOracle(POINTS, response=ResponseSettings(0.5, lapse=0.1)),
    "noisy ranking": DistanceOracle(POINTS, "ranking", ResponseSettings(0.5)),
    "mahalanobis": mahalanobis_oracle(POINTS, np.diag([4.0, 1.0])),
    "replay": ReplayOracle(BANK),
    "eggs": EggOracle(alien_eggs().smoothness),
    "corrupted": Corrupted(DistanceOracle(POINTS), 0.3),
    "label": LabelOracle(np.arange(8) % 3),
    "corrupted ranking": Corrupted(DistanceOracle(POINTS, "ranking"), 0.3, kind="ranking"),
}


@pytest.mark.parametrize("name", ORACLES)
def test_oracles_keep_their_contract(name) -> None:
    oracle, kind = ORACLES[name], "ranking" if "ranking" in name else "nearest"
    before = QUERIES.copy()
    first, again = (oracle.answer(QUERIES, np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(check_responses(first, QUERIES, kind), again)
    assert first.dtype == np.int32
    assert oracle.answer(QUERIES[:0], np.random.default_rng(5)).shape == (0,)
    np.testing.assert_array_equal(QUERIES, before)  # nothing it was asked is changed


def test_every_oracle_is_in_this_suite() -> None:
    names = [found.name for found in pkgutil.iter_modules(infonn.oracles.__path__)]
    homes = [importlib.import_module(f"infonn.oracles.{name}") for name in names]
    parts = [part for home in homes for part in vars(home).values() if isinstance(part, type)]
    classes = {part for part in parts if hasattr(part, "answer") and part.__module__.startswith("infonn.oracles.")}
    assert classes == {type(oracle) for oracle in ORACLES.values()}
