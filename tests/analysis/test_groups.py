from dataclasses import replace

import numpy as np
import pytest

from analysis.test_reliability import NAMES, crowd, study_of
from infonn.errors import StudyError


def in_conditions(differ: bool):
    """Two conditions: the second sees the circle with its items in another order, or the same circle."""
    first, second = crowd(6, 80, noise=0.0, seed=1), crowd(6, 80, noise=0.0, seed=2)
    rows = [replace(pair, answer=replace(pair.answer, context={"condition": "plain"})) for pair in first]
    place = np.random.default_rng(0).permutation(12) if differ else np.arange(12)
    for pair in second:
        query = tuple(int(place[item]) for item in pair.question.query)
        options = tuple(replace(o, item=int(place[o.item]), label=NAMES[place[o.item]]) for o in pair.question.options)
        names = tuple(NAMES[item] for item in query)
        question = replace(pair.question, id=f"other {pair.question.id}", query=query, options=options, names=names)
        answer = replace(pair.answer, id=f"other {pair.answer.id}", question_id=question.id)
        answer = replace(answer, respondent=f"other {answer.respondent}", context={"condition": "turned"})
        rows.append(replace(pair, question=question, answer=answer))
    return study_of(rows)


def test_conditions_that_differ_lie_apart_and_alike_ones_do_not() -> None:
    apart, alike = (in_conditions(differ).maps("condition") for differ in (True, False))
    assert [group.name for group in apart.groups] == ["plain", "turned"]
    assert [group.n_people for group in apart.groups] == [6, 6]
    assert apart.deviation.mean() > 2 * alike.deviation.mean()
    assert alike.deviation.mean() < 1.5 * alike.by_chance.mean() + 0.05
    table = apart.to_pandas()
    assert len(table) == 3 * 12
    assert set(table["condition"]) == {"", "plain", "turned"}
    assert "The maps by condition lie" in apart.sentence


def test_people_have_maps_of_their_own_where_they_answered_enough() -> None:
    rows = crowd(4, 60, noise=0.1, copies=3)
    found = study_of(rows).maps()
    assert [group.name for group in found.groups] == ["p0", "p1", "p2", "p3"]
    assert all(group.n_people == 1 for group in found.groups)
    assert np.isfinite(found.deviation).all()


def test_too_few_answers_or_an_unknown_key_are_said() -> None:
    study = study_of(crowd(4, 20, noise=0.1))
    with pytest.raises(StudyError, match='No group by "respondent" has 30 answers; the largest has'):
        study.maps()
    with pytest.raises(StudyError, match="The answers tell: respondent"):
        study.maps("colour")
