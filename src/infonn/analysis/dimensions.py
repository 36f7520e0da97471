"""How many dimensions a map needs: the fewest that foresee held-out answers about as well as any."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import default_rng

from infonn.arrays import FloatArray, to_numpy
from infonn.contracts.loop import SizedLearner
from infonn.errors import StudyError
from infonn.loop import Loop
from infonn.maths.cross_validation import grouped_folds, one_standard_error
from infonn.maths.prediction import expected_responses, response_log_probs
from infonn.queries import Answers, question_keys

DIMS = (1, 2, 3, 4, 5, 6)
FOLDS = 5
FEWEST_ANSWERS = 50
_EFFORT = 0.3  # of each fit: there are many


@dataclass(frozen=True)
class DimensionChoice:
    """Held-out losses by the number of dimensions, and the number they speak for.

    `losses` (dims, folds) are nats an answer, or shares of wrong ones where the learner has no response model;
    `accuracies` (dims, folds) are shares of right ones.
    """

    dims: tuple[int, ...]
    losses: FloatArray
    accuracies: FloatArray
    chosen: int
    measure: str
    n_answers: int

    def __str__(self) -> str:
        _, means, errors = one_standard_error(self.losses)
        lines = [f"dimensions  {self.measure:<24}  accuracy"]
        for dims, mean, error, right in zip(self.dims, means, errors, self.accuracies.mean(axis=1)):
            mark = "  <- chosen" if dims == self.chosen else ""
            told = f"{mean:.3f} ± {error:.3f}"
            lines.append(f"{dims:>10}  {told:<24}  {100 * right:.1f} %{mark}")
        lines.append(
            f"{self.chosen} dimension{'s are' if self.chosen > 1 else ' is'} enough: more foresee held-out answers no "
            f"better by more than one standard error ({self.n_answers:,} answers, {self.losses.shape[1]} folds)."
        )
        return "\n".join(lines)


def choose_dims(
    answers: Answers,
    loop: Loop,
    seed: int = 0,
    dims: Sequence[int] = DIMS,
    n_folds: int = FOLDS,
    watch: Callable[[int, int], None] | None = None,
) -> DimensionChoice:
    """The fewest dimensions within one standard error of the best, by cross-validation over questions.

    Copies of one question are in one fold. `watch` is told how many of all fits are done.
    """
    learner = loop.learner
    if answers.kind == "label":
        raise StudyError("Labels make no map, so there are no dimensions to choose. Use a similarity study.")
    if not isinstance(learner, SizedLearner):
        raise StudyError(f"The learner {type(learner).__name__} has no number of dimensions to choose.")
    if len(answers) < FEWEST_ANSWERS:
        raise StudyError(
            f"{len(answers)} answers are too few to choose dimensions by; at least {FEWEST_ANSWERS} are needed."
        )
    wanted = tuple(sorted({size for size in dims if 1 <= size < loop.task.n_items}))
    if not wanted or n_folds < 2:
        raise StudyError(f"dims={list(dims)}, folds={n_folds}: there must be dimensions to try, and two folds or more.")
    folds = grouped_folds(question_keys(answers.queries, answers.kind).astype(np.int64), n_folds, default_rng(seed))
    losses, accuracies = np.empty((2, len(wanted), n_folds))
    measure = "held-out nats an answer"
    for row, size in enumerate(wanted):
        sized = replace(loop, learner=learner.with_dims(size)).with_effort(_EFFORT)
        for fold in range(n_folds):
            belief = sized.fit(answers.take(folds != fold), default_rng([seed, fold]))
            test, points = answers.take(folds == fold), to_numpy(belief.embedding).astype(float)
            right = expected_responses(points, test.queries, test.kind) == test.responses
            accuracies[row, fold] = right.mean()
            if belief.response is None:
                losses[row, fold], measure = 1 - right.mean(), "held-out share wrong"
            else:
                log_probs = response_log_probs(points, test.queries, test.responses, test.kind, belief.response)
                losses[row, fold] = -log_probs.mean()
            if watch is not None:
                watch(row * n_folds + fold + 1, len(wanted) * n_folds)
    chosen, _, _ = one_standard_error(losses)
    return DimensionChoice(wanted, losses, accuracies, wanted[chosen], measure, len(answers))
