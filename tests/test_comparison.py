"""compare(): paired seeds, the same curves as a study gives, and a table that can be read."""

import json
from dataclasses import dataclass
from threading import Lock

import numpy as np
import pytest

from infonn import Belief, ItemSet, Strategy, compare, register_strategy
from infonn.comparison import Comparison
from infonn.errors import DataError, InfonnError, ResultsFileError, StudyError, UnknownNameError
from infonn.experiments.simulation import build_simulation
from infonn.experiments.trial import Curve
from infonn.records import Item
from infonn.selection.batches import best
from infonn.storage.memory import MemoryStorage

SPEC = {
    "study": {"name": "points"},
    "items": {"dataset": "gaussian", "n_items": 9},
    "queries": {"first": 6},
    "learner": {"name": "mds"},
    "budget": {"answers": 18, "batch": 6},
}
QUIET = {"say": lambda text: None}


@dataclass(frozen=True)
class Pulled:
    """Each item moves towards the one it was judged similar to."""

    n_items: int = 9

    def fit(self, answers, rng, start=None):
        points = rng.normal(size=(self.n_items, 2))
        chosen = answers.queries[np.arange(len(answers)), 1 + answers.responses]
        for _ in range(5):
            points[answers.queries[:, 0]] += 0.2 * (points[chosen] - points[answers.queries[:, 0]])
        return Belief(points)


def least_asked(queries, situation, rng):
    """Prefer queries whose items were asked about least."""
    asked = np.bincount(situation.answers.queries.ravel(), minlength=queries.max() + 1)
    return -asked[queries].sum(axis=1) + 1e-6 * rng.random(len(queries))


MINE = Strategy(least_asked, best)


def small(**given):
    given = {"strategies": {"mine": MINE, "random": "random"}, "learners": {"pulled": Pulled()}, **QUIET, **given}
    return compare(SPEC, **{"trials": 3, **given})


def test_named_parts_give_the_curves_that_a_study_of_the_same_seed_gives() -> None:
    comparison = compare(SPEC, strategies=["info_nn", "random"], learners=["mds"], trials=2, seed=3, **QUIET)
    for curve in comparison.curves:
        spec = {**SPEC, "study": {"name": "points", "seed": 3000 + curve.trial}, "strategy": {"name": curve.method}}
        rounds = list(build_simulation(spec, MemoryStorage()).run())
        assert curve.queries == [round.n_answers for round in rounds] == [6, 12, 18]
        for measure, values in curve.measures.items():
            np.testing.assert_allclose(values, [round.measures[measure] for round in rounds], atol=1e-6)


def test_a_trial_has_one_start_for_all_and_the_table_sets_them_side_by_side() -> None:
    comparison = small()
    starts = {(c.trial, c.measures["triplet_accuracy"][0]) for c in comparison.curves}
    assert len(starts) == 3
    table = comparison.table(target=0.5)
    assert table[["strategy", "learner", "trials"]].values.tolist() == [["mine", "pulled", 3], ["random", "pulled", 3]]
    assert [column for column in table if " at " in column] == [f"triplet_accuracy at {n}" for n in (12, 18)]
    assert np.isnan(table["difference"][1])
    assert table["low"][0] <= table["difference"][0] <= table["high"][0]
    drawn = comparison.figure().axes[0]
    assert [text.get_text() for text in drawn.texts] == ["mine", "random"]


def test_what_the_table_says_can_be_worked_out_by_hand() -> None:
    def curve(method, trial, values):
        return Curve(method, "l", {}, trial, trial, [10, 20, 30], [20, 40, 60], {"accuracy": values})

    curves = [
        *(curve("good", trial, [0.5, 0.7 + 0.1 * trial, 0.9]) for trial in (0, 1)),
        *(curve("random", trial, [0.5, 0.6, 0.7]) for trial in (0, 1)),
    ]
    table = Comparison(curves).table(counts=[10, 25]).set_index("strategy")
    assert table["accuracy at 10"].tolist() == [0.5, 0.5]
    assert table.loc["good", "accuracy at 25"] == pytest.approx((0.8 + 0.85) / 2)
    assert table.loc["good", "difference"] == pytest.approx((0.15 + 0.2) / 2)
    assert table.loc["good", "target"] == 0.7  # where random ends
    assert table.loc["random", "answers to target"] == 30
    assert table.loc["good", "answers to target"] <= 20
    assert Comparison(curves).difference("good", "random", at=30).mean == pytest.approx(0.2)
    with pytest.raises(UnknownNameError, match='Strategy "goof" is unknown. Known: good, random. Did you mean "good"'):
        Comparison(curves).difference("goof", "random")
    with pytest.raises(UnknownNameError, match='Measure "tau" is unknown'):
        Comparison(curves).table("tau")


def test_learners_are_compared_with_the_first_where_there_is_one_strategy() -> None:
    comparison = small(strategies=["random"], learners={"pulled": Pulled(), "other": Pulled()})
    table = comparison.table()
    assert np.isnan(table["difference"][0])
    assert table["difference"][1] == 0  # the same learner under another name
    assert comparison.difference("random", "random", second_learner="other").mean == 0
    assert len(comparison.figure().axes) == 2


def test_a_folder_keeps_curves_and_further_strategies_and_trials_run_alone(tmp_path) -> None:
    said: list[str] = []
    first = small(strategies={"mine": MINE}, trials=2, folder=tmp_path)
    more = small(trials=3, folder=tmp_path, say=said.append)
    assert "holds 2 finished curves" in said[0]
    assert [c for c in more.curves if c.method == "mine"][:2] == list(first.curves)
    assert len(more.curves) == 6
    assert len(json.loads((tmp_path / "results.json").read_text())["curves"]) == 6
    assert (tmp_path / "triplet_accuracy.svg").exists()
    assert {c.method for c in small(strategies=["random"], folder=tmp_path).curves} == {"random"}
    with pytest.raises(ResultsFileError, match="begun with other settings"):
        small(answers=24, folder=tmp_path)


def test_places_items_and_files_are_taken_as_the_truth(tmp_path, rng) -> None:
    places = rng.normal(size=(9, 2))
    items = ItemSet(tuple(Item(f"i{n}") for n in range(9)), places)
    (tmp_path / "items.csv").write_text("name,x,y\n" + "".join(f"i{n},{x},{y}\n" for n, (x, y) in enumerate(places)))
    found = [
        compare(about, strategies=["random"], learners={"pulled": Pulled()}, trials=1, answers=26, batch=3, **QUIET)
        for about in (places, items, tmp_path / "items.csv")
    ]
    assert found[0].curves == found[1].curves == found[2].curves
    assert found[0].curves[0].queries == [20, 23, 26]
    with pytest.raises(DataError, match=r"ndarray of shape \(9,\); it takes a study.toml or its tables"):
        compare(places[:, 0])


def test_labels_are_compared_on_items_that_are_never_asked_for() -> None:
    spec = {
        "study": {"task": "labels"},
        "items": {"dataset": "digits", "n_items": 90},
        "queries": {"first": 20},
        "budget": {"answers": 30, "batch": 10},
    }
    learner = {"name": "logistic", "members": 2}
    comparison = compare(spec, strategies=["margin", "random"], learners={"logistic": learner}, trials=1, **QUIET)
    for curve in comparison.curves:
        assert curve.queries == [20, 30]
        assert curve.measures["test_accuracy"][-1] > 0.3
    everything = compare(spec, strategies=["random"], learners={"logistic": learner}, trials=1, answers=500, **QUIET)
    assert everything.curves[0].queries[-1] == 60  # 30 of 90 are kept apart


def test_classes_may_come_from_a_file_of_labels(tmp_path, rng) -> None:
    x = np.repeat([0.0, 5.0], 30) + rng.normal(size=60)
    (tmp_path / "items.csv").write_text("name,x\n" + "".join(f"i{n},{value}\n" for n, value in enumerate(x)))
    labels = [f"i{n},{'low' if n < 30 else 'high'}\n" for n in range(60)]
    (tmp_path / "labels.csv").write_text("item,label\n" + "".join(labels))
    study = (
        '[study]\ntask = "labels"\n[items]\nfile = "items.csv"\nlabels = "labels.csv"\n[queries]\n'
        'classes = ["low", "high"]\nfirst = 6\n[budget]\nanswers = 12\nbatch = 6\n'
    )
    (tmp_path / "study.toml").write_text(study)
    given = {"strategies": ["random"], "learners": {"l": {"name": "logistic", "members": 1}}, "trials": 1, **QUIET}
    assert compare(tmp_path / "study.toml", **given).curves[0].measures["test_accuracy"][-1] > 0.9
    (tmp_path / "study.toml").write_text(study.replace('classes = ["low", "high"]\n', ""))
    with pytest.raises(StudyError, match=r"\[queries\] classes is empty; name the classes of labels.csv"):
        compare(tmp_path / "study.toml", **given)
    (tmp_path / "study.toml").write_text(study)
    (tmp_path / "labels.csv").write_text("item,label\n" + "".join(labels[:-1]))
    with pytest.raises(DataError, match='no label for "i59"; a simulation needs the class of every item'):
        compare(tmp_path / "study.toml", **given)


def test_what_cannot_be_compared_is_said_before_anything_is_run(tmp_path) -> None:
    wrong = [
        ({"strategies": "random"}, r'strategies is "random"; give a list of names, like \["random"\]'),
        ({"strategies": []}, "no strategies to compare"),
        ({"strategies": ["info"]}, 'Strategy "info" is unknown'),
        ({"strategies": [MINE]}, "Strategy without a name; give your own as a mapping"),
        ({"strategies": {"mine": least_asked}}, '"mine" in strategies is a function; it must be a name, a table, or a'),
        ({"learners": {"mine": object()}}, "it must be a name, a table, or a learner, which has `fit`"),
        ({"learners": {"mds": {"name": "mds", "colour": 1}}}, 'Setting of learner "mds" "colour" is unknown'),
        ({"trials": 0}, "0 trials; at least 1"),
    ]
    for number, (given, sentence) in enumerate(wrong):
        with pytest.raises(InfonnError, match=sentence):
            small(**{**given, "folder": tmp_path / str(number)})
    with pytest.raises(StudyError, match='Oracle "replay" does not answer questions of task "labels". Use labels.'):
        compare({"study": {"task": "labels"}, "items": {"dataset": "digits"}, "oracle": {"name": "replay"}})
    with pytest.raises(StudyError, match='Oracle "labels" needs the true class of every item'):
        compare({"study": {"task": "labels"}, "items": {"dataset": "food73"}})
    with pytest.raises(StudyError, match='Oracle "distances" needs items whose true distances are known'):
        compare(ItemSet((Item("a"), Item("b"))))


def test_a_strategy_that_cannot_travel_to_other_processes_is_refused() -> None:
    lock = Lock()
    local = Strategy(lambda queries, situation, rng: np.full(len(queries), lock.locked()), best)
    with pytest.raises(StudyError, match='"mine" cannot be sent to other processes, for it cannot be pickled'):
        small(strategies={"mine": local}, processes=2)


def test_a_registered_name_is_known_here_and_not_in_other_processes(monkeypatch) -> None:
    monkeypatch.setattr("infonn.specs.registry._registered", {})
    register_strategy("least_asked", lambda: MINE)
    assert (
        small(strategies=["least_asked"], trials=1).curves == small(strategies={"least_asked": MINE}, trials=1).curves
    )
    with pytest.raises(StudyError, match='"least_asked" is registered in this process alone'):
        small(strategies=["least_asked"], processes=2)


def test_a_strategy_without_a_module_travels_to_other_processes() -> None:
    local = Strategy(lambda queries, situation, rng: queries[:, 0].astype(float), best)
    given = {"strategies": {"mine": local}, "learners": ["mds"], "trials": 2, **QUIET}
    assert compare(SPEC, **given, processes=2).curves == compare(SPEC, **given).curves


def test_the_number_of_processes_changes_no_curve() -> None:
    given = {"strategies": ["random"], "learners": ["mds"], "trials": 2, **QUIET}
    assert compare(SPEC, **given, processes=2).curves == compare(SPEC, **given).curves
