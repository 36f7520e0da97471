"""What a study says of its own trustworthiness: values where there are data, honest sentences where there are none."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng

from infonn import create_study
from infonn.analysis.reliability import judged_of, reliability_of, split_half_of
from infonn.contracts.storage import Answered
from infonn.records import Answer, Option, Question

NAMES = "abcdefghijkl"


def answered_by(
    person: str, query: tuple[int, ...], chosen: int, number: int, purpose="train", context=None
) -> Answered:
    """Person chose item `chosen`; the options stand in the order of the query."""
    names = tuple(NAMES[item] for item in query)
    options = tuple(Option(NAMES[item], item) for item in query[1:])
    question = Question(f"q{number}", "s", query, names, options, tuple(range(len(options))), purpose=purpose)
    response = query[1:].index(chosen)
    return Answered(question, Answer(f"a{number}", question.id, person, response, context=context or {}))


def crowd(n_people: int, n_questions: int, noise: float, seed: int = 0, copies: int = 3) -> list[Answered]:
    """People who see the items on a circle; each question goes to `copies` of them, options in any order."""
    rng, rows = default_rng(seed), []
    angles = np.arange(12) / 12 * 2 * np.pi
    truth = np.column_stack([np.cos(angles), np.sin(angles)])
    for _ in range(n_questions):
        query = rng.permutation(12)[:4]
        nearest = query[1:][((truth[query[1:]] - truth[query[0]]) ** 2).sum(axis=1).argmin()]
        for person in rng.permutation(n_people)[:copies]:
            shown = (int(query[0]), *(int(item) for item in rng.permutation(query[1:])))
            chosen = int(rng.choice(shown[1:])) if rng.random() < noise else int(nearest)
            rows.append(answered_by(f"p{person}", shown, chosen, len(rows)))
    return rows


def study_of(rows: list[Answered]):
    """A study whose storage holds these answers."""
    study = create_study(list(NAMES), learner={"name": "mds", "mu": 0.1}, candidates=3, name="s")
    questions = {pair.question.id: pair.question for pair in rows}
    study.storage.add_questions("s", list(questions.values()))
    for pair in rows:
        study.storage.add_answer("s", pair.answer)
    return study


def test_copies_of_a_question_are_compared_whatever_the_order_of_their_options() -> None:
    rows = [answered_by("p1", (0, 1, 2, 3), 2, 1), answered_by("p2", (0, 3, 2, 1), 2, 2)]
    judged, chance = judged_of(rows)
    assert judged.units.tolist() == [0, 0]
    assert judged.choices.tolist() == [1, 1]
    assert chance == pytest.approx(1 / 3)


def test_skips_practice_catch_and_the_nameless_are_not_compared() -> None:
    good = answered_by("p1", (0, 1, 2, 3), 2, 1)
    skipped = replace(good, answer=replace(good.answer, response=None, outcome="skipped"))
    nameless = replace(good, answer=replace(good.answer, respondent=""))
    others = [replace(good, question=replace(good.question, purpose=purpose)) for purpose in ("practice", "catch")]
    assert len(judged_of([good, skipped, nameless, *others])[0]) == 1


def test_a_study_tells_all_five_with_sentences() -> None:
    rows = crowd(8, 100, noise=0.15)
    found = study_of(rows).reliability(splits=2)
    # a person chooses the nearest with 0.9, each of the others with 0.05
    assert found.agreement_with_others.value == pytest.approx(0.9**2 + 2 * 0.05**2, abs=0.08)
    assert found.agreement_with_others.n >= 300
    assert found.noise_ceiling.low <= 0.9 <= found.noise_ceiling.high
    assert found.noise_ceiling.value <= found.noise_ceiling.upto
    assert found.alpha.value == pytest.approx((0.815 - 1 / 3) / (2 / 3), abs=0.12)
    assert found.split_half.value > 0.5
    assert "half of the people" in found.split_half.sentence
    assert "by guessing it would be 33 %" in found.agreement_with_others.sentence
    assert found.agreement_with_oneself.value is None
    assert "at least 20 are needed" in found.agreement_with_oneself.sentence
    assert str(found).count("\n") == 4
    assert set(found.to_json()) == set(found.findings)


def test_a_person_asked_again_agrees_with_themselves_and_is_nobody_else() -> None:
    rows = []
    for number in range(30):
        query = (number % 12, (number + 1) % 12, (number + 3) % 12, (number + 6) % 12)
        rows += [answered_by("p1", query, query[1], 2 * number), answered_by("p1", query, query[1], 2 * number + 1)]
    found = reliability_of(rows, split_half_of(rows, study_of(rows).answers(), study_of(rows).loop, n_splits=1))
    assert found.agreement_with_oneself.value == 1
    assert found.agreement_with_others.value is None
    assert found.noise_ceiling.value is None
    assert "half of the questions" in found.split_half.sentence  # one person cannot be halved


def test_an_empty_study_says_what_is_missing() -> None:
    found = study_of([]).reliability()
    assert all(finding.value is None for finding in found.findings.values())
    assert all(finding.sentence.startswith("Not known yet") for finding in found.findings.values())


def test_labels_make_no_map() -> None:
    study = create_study(list(NAMES), features=np.eye(12), task="labels", classes=["x", "y"], learner="logistic")
    [question] = study.ask()
    study.tell(question, 0)
    assert "no map" in study.reliability().split_half.sentence
