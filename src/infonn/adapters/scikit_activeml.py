"""scikit-activeml, both ways: its query strategies choose our label questions, and ours are its strategies.

create_study(..., task="labels", strategy="skactiveml:UncertaintySampling")    # theirs in our loop
InfonnSampling("info_nn").query(X, y, batch_size=10)                           # ours in theirs
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator
from skactiveml.base import SingleAnnotatorPoolQueryStrategy, SkactivemlClassifier
from skactiveml.utils import MISSING_LABEL, is_labeled
from sklearn.exceptions import NotFittedError

from infonn.arrays import FloatArray, IntArray, to_numpy
from infonn.beliefs import Belief
from infonn.contracts.loop import Allowed, Learner, Situation, Strategy
from infonn.errors import DataError, StudyError, unknown_name
from infonn.loop import Loop
from infonn.queries import Answers, last_labels
from infonn.selection.class_predictions import point_log_probs
from infonn.specs.registry import CLASS_LEARNERS, CLASS_STRATEGIES, DEFAULT_LEARNERS, build_part
from infonn.tasks.labels import LabelTask

_ANOTHER_CLASSIFIER = (
    "A study's belief cannot do that; name a classifier of scikit-activeml, such as "
    'classifier="ParzenWindowClassifier".'
)

# --- their strategies in our loop ------------------------------------------------------------------


@dataclass(frozen=True)
class QueryStrategyOf:
    """A query strategy of scikit-activeml as a strategy for label questions.

    `path` names its class: "UncertaintySampling" of `skactiveml.pool`, or "package.module.Class" for any other;
    `settings` are what its constructor takes. Where it asks for a classifier or an ensemble it is shown the belief
    of the study's own learner, so that strategies are compared and not classifiers; `classifier` names one of
    scikit-activeml's instead ("ParzenWindowClassifier"), for strategies that train it anew for every candidate.
    """

    path: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    classifier: str | None = None

    def __post_init__(self) -> None:
        _class_at(self.path, "skactiveml.pool")  # a wrong name shows now

    def choose(
        self, situation: Situation, size: int, rng: Generator, allowed: Allowed | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Distinct queries of the pool, best first, and their utilities; nothing is searched for beyond it."""
        rows, scores = self._chosen(situation, size, rng)
        return situation.pool[rows], scores[rows]

    def select(self, situation: Situation, size: int, rng: Generator) -> IntArray:
        """Distinct pool rows, best first."""
        return self._chosen(situation, size, rng)[0]

    def select_with_scores(self, situation: Situation, size: int, rng: Generator) -> tuple[IntArray, FloatArray]:
        """The rows chosen, and the utility of every row of the pool at the first choice."""
        return self._chosen(situation, size, rng)

    def _chosen(self, situation: Situation, size: int, rng: Generator) -> tuple[IntArray, FloatArray]:
        if not len(situation.pool):
            return np.empty(0, np.int64), np.empty(0)
        points = np.ascontiguousarray(to_numpy(situation.belief.embedding), float)
        labels = np.full(len(points), np.nan)
        labelled, classes = last_labels(situation.answers)
        labels[labelled] = classes
        items = situation.pool[:, 0].astype(np.int64)
        wanted = min(size, len(items))
        chosen: list[int] = []
        scores = np.zeros(len(items))
        while len(chosen) < wanted:  # some strategies name an item twice: ask again without those that are chosen
            left = items[~np.isin(items, chosen)]
            named, utilities = self._query(situation, points, labels, left, wanted - len(chosen), rng)
            if not chosen:
                scores = np.nan_to_num(utilities[0][items], nan=-np.inf, neginf=-np.inf)
            chosen += list(dict.fromkeys(int(item) for item in named))
        row_of = {int(item): row for row, item in enumerate(items)}
        return np.array([row_of[item] for item in chosen], np.int64), scores

    def _query(
        self, situation: Situation, points: FloatArray, labels: FloatArray, candidates: IntArray, size: int, rng: Any
    ) -> tuple[IntArray, FloatArray]:
        part = _class_at(self.path, "skactiveml.pool")
        strategy = part(**self.settings, random_state=int(rng.integers(2**31)))
        given = self._models(inspect.signature(strategy.query).parameters, situation.belief, points, rng)
        try:
            found: tuple[IntArray, FloatArray] = strategy.query(
                points, labels, **given, candidates=candidates, batch_size=size, return_utilities=True
            )
        except NotFittedError:
            raise StudyError(f"{self.path} trains its classifier anew. {_ANOTHER_CLASSIFIER}") from None
        return found

    def _models(self, wanted: Mapping[str, Any], belief: Belief, points: FloatArray, rng: Any) -> dict[str, Any]:
        """What `query` asks for besides the data: a classifier, an ensemble, a discriminator."""
        if "reg" in wanted:
            raise StudyError(f"{self.path} is for regression; label questions need one for classification.")
        given: dict[str, Any] = {}
        if "discriminator" in wanted:
            given["discriminator"] = _class_at("ParzenWindowClassifier", "skactiveml.classifier")(classes=[0, 1])
        for name in ("clf", "estimator"):
            if name in wanted:
                given |= {name: self._classifier(belief, points, rng), f"fit_{name}": self.classifier is not None}
        if "ensemble" in wanted:
            given |= {"ensemble": _committee(belief, points), "fit_ensemble": False}
        return given

    def _classifier(self, belief: Belief, points: FloatArray, rng: Any) -> Any:
        shown = BeliefClassifier.of(points, _point_probs(belief, len(points)))
        if self.classifier is None:
            return shown
        part = _class_at(self.classifier, "skactiveml.classifier")
        return part(classes=shown.classes, random_state=int(rng.integers(2**31)))


def strategy_part(path: str) -> Callable[..., QueryStrategyOf]:
    """What the name "skactiveml:UncertaintySampling" stands for: a part that takes that class's own settings."""
    theirs = inspect.signature(_class_at(path, "skactiveml.pool")).parameters
    names = [name for name in theirs if name not in ("missing_label", "random_state", "classes", "n_classes")]

    def part(n_classes: int = 0, classifier: str | None = None, **settings: Any) -> QueryStrategyOf:
        known = {"classes": list(range(n_classes)), "n_classes": n_classes}  # classes are numbers in a study
        return QueryStrategyOf(path, {**settings, **{k: v for k, v in known.items() if k in theirs}}, classifier)

    keyword = inspect.Parameter.KEYWORD_ONLY
    part.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, keyword, default=None) for name in ("n_classes", "classifier", *names)]
    )
    part.__doc__ = f"{path} of scikit-activeml."
    return part


def _class_at(path: str, home: str) -> Any:
    """The class that `path` names: in `home`, or in a module of its own."""
    module, _, name = path.replace(":", ".").rpartition(".")
    try:
        found = importlib.import_module(module or home)
    except ModuleNotFoundError as error:
        raise DataError(f'"{path}" names the module {module}, which is not installed.') from error
    if not hasattr(found, name):
        raise unknown_name(f"Class in {module or home}", name, [n for n in dir(found) if n[0].isupper()])
    return getattr(found, name)


# --- the belief, shown as a classifier -------------------------------------------------------------


class BeliefClassifier(SkactivemlClassifier):  # type: ignore[misc]
    """Class probabilities that are known already, by item: what scikit-activeml sees of a belief."""

    def __init__(
        self,
        points: Any = None,
        probs: Any = None,
        classes: Any = None,
        missing_label: Any = MISSING_LABEL,
        cost_matrix: Any = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(classes, missing_label, cost_matrix, random_state)
        self.points = points
        self.probs = probs

    @classmethod
    def of(cls, points: FloatArray, probs: FloatArray) -> BeliefClassifier:
        """A classifier that is fitted: item i stands at `points[i]` and has `probs[i]`."""
        made = cls(points, probs, classes=list(range(probs.shape[1])), random_state=0)
        made._validate_data(points[:1], np.zeros(1))
        made._item_at = {row.tobytes(): item for item, row in enumerate(points)}
        return made

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BeliefClassifier:
        """Refused: the study's learner has done that."""
        raise StudyError(f"This strategy trains its classifier anew. {_ANOTHER_CLASSIFIER}")

    def predict_proba(self, X: Any, **kwargs: Any) -> Any:
        """The class probabilities of the items at `X`."""
        rows = np.ascontiguousarray(X, float)
        try:
            return self.probs[[self._item_at[row.tobytes()] for row in rows]]
        except KeyError:
            raise StudyError(f"This strategy asks about points that are no items. {_ANOTHER_CLASSIFIER}") from None

    def __deepcopy__(self, memo: Any) -> BeliefClassifier:
        return self  # nothing in it changes, and a committee of copies would hold the items many times


def _point_probs(belief: Belief, n_items: int) -> FloatArray:
    return _normalised(np.exp(point_log_probs(belief, np.arange(n_items))))


def _committee(belief: Belief, points: FloatArray) -> list[BeliefClassifier]:
    draws = belief.log_probs_of(np.arange(len(points)))
    if draws is None:
        raise DataError("A committee needs class probabilities by draw, and this belief has none. Use a classifier.")
    return [BeliefClassifier.of(points, _normalised(np.exp(to_numpy(draw)))) for draw in draws]


def _normalised(probs: FloatArray) -> FloatArray:
    doubles = np.asarray(probs, float)
    return doubles / doubles.sum(axis=1, keepdims=True)


# --- our strategies in theirs ----------------------------------------------------------------------


class InfonnSampling(SingleAnnotatorPoolQueryStrategy):  # type: ignore[misc]
    """A label strategy of infonn as a query strategy of scikit-activeml.

    `strategy` and `learner` are names or tables as in `create_study`; `infonn strategies` lists them. `classes` are
    all classes, where not every one has a label yet. Until two classes have a label, typical samples are chosen.
    A batch never holds a sample twice, and utilities are kept for the whole batch only where they are asked for.
    """

    def __init__(
        self,
        strategy: str | Mapping[str, Any] = "info_nn",
        learner: str | Mapping[str, Any] = "default",
        classes: Any = None,
        missing_label: Any = MISSING_LABEL,
        random_state: Any = None,
    ) -> None:
        super().__init__(missing_label=missing_label, random_state=random_state)
        self.strategy = strategy
        self.learner = learner
        self.classes = classes

    def query(self, X: Any, y: Any, candidates: Any = None, batch_size: int = 1, return_utilities: bool = False) -> Any:
        """Indices of the samples to label next, and where asked for the utilities (batch_size, n_samples)."""
        X, y, candidates, batch_size, return_utilities = self._validate_data(
            X, y, candidates, batch_size, return_utilities, reset=True
        )
        _, mapping = self._transform_candidates(candidates, X, y, enforce_mapping=True, allow_only_unlabeled=True)
        labelled = np.flatnonzero(is_labeled(y, self.missing_label_))
        classes, codes = _encoded(y[labelled], self.classes)
        rng = np.random.default_rng(self.random_state_.randint(2**31 - 1))
        learner, strategy = self._parts(X, len(classes), n_seen=len(np.unique(codes)))
        task = LabelTask(len(X), [str(i) for i in range(len(classes))])
        queries = np.full((len(labelled), 1 + task.n_nearest), -1, np.int32)
        queries[:, 0] = labelled
        answers = Answers(queries, codes.astype(np.int32), "label")
        loop = Loop(task, learner, strategy, "label")
        pool, rows, scores = loop.ranked(loop.fit(answers, rng), answers, batch_size, rng, mapping)
        chosen = pool[rows, 0].astype(np.int64)
        return (chosen, _utilities(scores, pool[:, 0], chosen, len(X))) if return_utilities else chosen

    def _parts(self, features: FloatArray, n_classes: int, n_seen: int) -> tuple[Learner, Strategy]:
        default = DEFAULT_LEARNERS["labels", True]
        context = {"features": features, "n_items": len(features), "n_classes": n_classes, "kind": "label"}
        learner = _built("Learner", CLASS_LEARNERS, default if self.learner == "default" else self.learner, context)
        strategy = _built("Strategy", CLASS_STRATEGIES, self.strategy, context)
        if n_seen < 2:
            strategy = _built("Strategy", CLASS_STRATEGIES, "typicality", context)
        return learner, strategy


def _built(kind: str, table: Mapping[str, str], part: Any, context: Mapping[str, Any]) -> Any:
    if not isinstance(part, str | Mapping):
        raise TypeError(f"{kind} is {part!r}; it must be a name, or a table with a name and settings.")
    settings = {"name": part} if isinstance(part, str) else dict(part)
    return build_part(kind, table, settings.pop("name"), settings, context)


def _encoded(labels: Any, classes: Any) -> tuple[list[Any], IntArray]:
    """All classes, two at least, and the position among them of every label."""
    known = sorted(set(labels.tolist())) if classes is None else list(np.asarray(classes).ravel().tolist())
    position = {name: i for i, name in enumerate(known)}
    for label in labels.tolist():
        if label not in position:
            raise ValueError(f"Label {label!r} is none of the classes {known}.")
    codes = np.array([position[label] for label in labels.tolist()], np.int64)
    return [*known, *[None] * (2 - len(known))], codes


def _utilities(scores: FloatArray, items: IntArray, chosen: IntArray, n_samples: int) -> FloatArray:
    """(batch, samples): the score of each candidate, from its choice on nan."""
    utilities = np.full((len(chosen), n_samples), np.nan)
    utilities[:, items] = scores
    for step, item in enumerate(chosen[:-1], start=1):
        utilities[step:, item] = np.nan
    return utilities
