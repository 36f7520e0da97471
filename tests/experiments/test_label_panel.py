"""The panel that decides: its sets, how the default is chosen and judged, and a run in miniature."""

import numpy as np
import pytest

from infonn.experiments.labels import panel
from infonn.experiments.labels.sets import SETS, WITHOUT_FILES
from infonn.experiments.sweep import Plan, run_experiment
from infonn.experiments.trial import Curve

COUNTS = list(range(20, 210, 10))


def curve(method, name, trial, level, start="random", batch=10):
    """An accuracy that comes near `level`."""
    accuracy = [level - 0.5 * np.exp(-n / 40) for n in COUNTS]
    settings = {"set": name, "start": start, "batch": batch}
    return Curve(method, panel.LEARNER, settings, trial, trial, COUNTS, COUNTS, {panel.ACCURACY: accuracy})


def curves(levels, names=("one", "two"), trials=range(30)):
    """`levels`: run -> level, with noise that runs of a trial share."""
    made = []
    for trial in trials:
        for name in names:
            luck = np.random.default_rng([trial, len(name)]).normal(0, 0.01)
            made += [curve(m, name, trial, level + luck, start, batch) for (m, start, batch), level in levels.items()]
    return made


RANDOM = ("random", "random", 10)


@pytest.mark.parametrize("name", WITHOUT_FILES)
def test_every_set_has_all_its_classes_and_other_items_to_be_tested_on(name):
    data = SETS[name](np.random.default_rng(0))
    assert set(np.unique(data.labels[: data.n_pool])) == set(range(data.n_classes))
    assert len(data.labels) - data.n_pool >= 50
    assert np.isfinite(data.features).all()
    again = SETS[name](np.random.default_rng(0))
    np.testing.assert_array_equal(again.features, data.features)


def test_copies_are_never_among_the_test_items():
    data = SETS["near copies"](np.random.default_rng(0))
    assert data.n_pool == 20_000
    test = data.features[data.n_pool :]
    nearest = [np.sqrt(((data.features[: data.n_pool] - row) ** 2).sum(axis=1).min()) for row in test[:20]]
    inside = [np.sort(((data.features[:2000] - row) ** 2).sum(axis=1))[1] ** 0.5 for row in data.features[:20]]
    assert np.median(nearest) > 1.2 * np.median(inside)


def test_the_run_with_the_fewest_labels_to_target_ranks_first():
    good = ("margin", "typicality", 10)
    made = curves({RANDOM: 0.8, good: 0.9, ("bald", "random", 10): 0.7})
    ranks = panel.mean_ranks(made)
    assert list(ranks) == [good, RANDOM, ("bald", "random", 10)]
    assert ranks[good] == 1
    assert panel.labels_to_target(made, "one", good) < panel.labels_to_target(made, "one", RANDOM)
    assert np.isinf(panel.labels_to_target(made, "one", ("bald", "random", 10)))
    assert panel.best_run(made, "two") == good


def test_judging_looks_at_other_trials_than_choosing():
    made = curves({RANDOM: 0.8, panel.DEFAULT: 0.85})
    for one in made:
        if one.method == panel.DEFAULT[0] and one.trial >= 10:
            one.measures[panel.ACCURACY] = [value - 0.1 for value in one.measures[panel.ACCURACY]]
    verdicts = panel.judge(made)
    assert not any(verdict.holds for verdict in verdicts if verdict.against == "random")
    claims = {claim.id: claim for claim in panel.claims(made)}
    assert claims["label-panel-random"].holds is False
    assert len(claims["label-panel-random"].evidence["exceptions"]) == 2 * len(panel.COUNTS)
    assert claims["label-panel-chosen"].holds is True
    assert "| one | 20 |" in panel.exception_table(made)


def test_too_few_trials_leave_it_open():
    made = curves({RANDOM: 0.8, panel.DEFAULT: 0.85}, trials=range(5))
    assert {claim.holds for claim in panel.claims(made)[:2]} == {None}


def test_runs_of_a_trial_share_their_items_and_their_start():
    settings = panel.EXPERIMENT.settings("smoke") | {"sets": ("iris",)}
    setups = panel.EXPERIMENT.build(Plan(settings), 3)
    by_random = [setup for setup in setups if setup.settings["start"] == "random"]
    assert len({setup.first.queries.tobytes() for setup in by_random}) == 1
    assert len({id(setup.learner) for setup in setups}) == 1
    assert all(setup.first.queries[:, 0].max() < setup.task.n_items for setup in setups)


def test_a_small_panel_runs_from_end_to_end(tmp_path, monkeypatch):
    settings = {"sets": ("iris",), "runs": (RANDOM, ("parbals", "random", 10), panel.DEFAULT)}
    small = panel.EXPERIMENT.settings("smoke") | settings | {"labels": 30, "trials": 1}
    monkeypatch.setitem(panel.EXPERIMENT.presets, "smoke", small)
    results = run_experiment(panel.EXPERIMENT, "smoke", folder=tmp_path)
    assert len(results["curves"]) == 3
    assert (tmp_path / "ranks.md").is_file()
    assert (tmp_path / "accuracy.png").is_file()


def test_every_run_names_a_method():
    for preset in panel.EXPERIMENT.presets.values():
        assert {run[0] for run in preset["runs"]} <= set(panel.METHODS)
        assert set(preset["sets"]) <= set(SETS)
