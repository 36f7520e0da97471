"""scikit-activeml's own template tests for pool strategies, run on ours.

The package that is installed does not carry them: SKACTIVEML_SOURCE names a checkout of its repository.
"""

import importlib.util
import os
import sys
import unittest
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("skactiveml", reason="make test-ecosystem builds the environment that has it")

SOURCE = Path(os.environ.get("SKACTIVEML_SOURCE", "not given")) / "skactiveml" / "tests"
if not SOURCE.is_dir():
    pytest.skip("SKACTIVEML_SOURCE names no checkout of scikit-activeml", allow_module_level=True)

from infonn.adapters.scikit_activeml import InfonnSampling  # noqa: E402


def _package(name: str, folder: Path) -> None:
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


_package("skactiveml.tests", SOURCE)
template = importlib.import_module("skactiveml.tests.template_query_strategy")


class Promises(template.TemplateSingleAnnotatorPoolQueryStrategy):  # type: ignore[misc,name-defined]
    strategy = ""

    def setUp(self) -> None:
        points = np.random.default_rng(0).normal(size=(12, 2))
        labels = np.array([0, 1, 1, 0, 1, 0, *[np.nan] * 6])
        super().setUp(
            qs_class=InfonnSampling,
            init_default_params={"strategy": self.strategy, "classes": [0, 1]},
            query_default_params_clf={"X": points, "y": labels},
        )

    def test_init_param_strategy(self) -> None:
        self._test_param("init", "strategy", [("no such", ValueError), (1, TypeError), ("margin", None)])

    def test_init_param_learner(self) -> None:
        self._test_param("init", "learner", [("no such", ValueError), (1, TypeError), ("logistic", None)])

    def test_init_param_classes(self) -> None:
        self._test_param("init", "classes", [([0, 2], ValueError), ([0, 1, 2], None), (None, None)])

    def test_query(self) -> None:
        chosen = InfonnSampling(self.strategy, random_state=0).query(**self.query_default_params_clf, batch_size=6)
        assert sorted(chosen.tolist()) == list(range(6, 12))


def _case(name: str) -> type[unittest.TestCase]:
    return type(f"Test_{name}", (Promises, unittest.TestCase), {"strategy": name})


Test_info_nn = _case("info_nn")
Test_margin = _case("margin")
Test_batch_bald = _case("batch_bald")
Test_badge = _case("badge")
Test_k_center = _case("k_center")
Test_typicality = _case("typicality")
Test_random = _case("random")
