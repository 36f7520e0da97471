"""How each person answers: speed, catch and repeated questions, favourite places on the screen."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from pydantic import BaseModel, Field

from infonn.contracts.storage import Answered
from infonn.queries import question_key
from infonn.records import Respondent

FAST_S = 0.4  # nobody reads four items in less


class PersonOut(BaseModel):
    """How one person answered. Shares are None where there is nothing to compare with."""

    respondent: str
    excluded: bool
    excluded_why: str = ""
    joined_at: float
    seen_at: float
    answered: int
    skipped: int
    cannot_tell: int
    late: int
    median_response_time_s: float | None
    fast_share: float | None = Field(description="Share of answers given in less than 0.4 s.")
    catch_right: int
    catch_asked: int
    agreement: float | None = Field(
        description="Share of repeated queries on which the person sided with the majority."
    )
    agreement_of: int
    position_bias: float | None = Field(description="Share of the most used place on the screen, less its fair share.")
    log_loss: float | None = Field(description="Mean surprise of the model at this person's answers, in nats.")
    details: dict[str, Any]


def people_table(
    respondents: Sequence[Respondent],
    answered: Sequence[Answered],
    details: Mapping[str, Mapping[str, Any]],
    log_losses: Mapping[str, float],
    why: Mapping[str, str] | None = None,
) -> list[PersonOut]:
    """One row per person, from all answers in force and of excluded people; `why` they are, where somebody said."""
    of_person: dict[str, list[Answered]] = defaultdict(list)
    for pair in answered:
        if not pair.answer.undone and pair.question.purpose != "practice":
            of_person[pair.answer.respondent].append(pair)
    votes = _votes(pair for pairs in of_person.values() for pair in pairs)
    rows = []
    for person in respondents:
        row = _person(person, of_person[person.name], votes, details.get(person.name, {}), log_losses.get(person.name))
        row.excluded_why = (why or {}).get(person.name, "") if person.excluded else ""
        rows.append(row)
    return rows


def _person(
    person: Respondent,
    pairs: Sequence[Answered],
    votes: Mapping[Any, Mapping[str, Any]],
    details: Mapping[str, Any],
    log_loss: float | None,
) -> PersonOut:
    answered = [pair for pair in pairs if pair.answer.response is not None]
    times = [pair.answer.response_time_s for pair in answered if pair.answer.response_time_s is not None]
    catch = [pair for pair in answered if pair.question.purpose == "catch"]
    agreed = [verdict for pair in answered if (verdict := _sides_with_majority(pair, votes)) is not None]
    outcomes = Counter(pair.answer.outcome for pair in pairs)
    return PersonOut(
        respondent=person.name,
        excluded=person.excluded,
        joined_at=person.joined_at,
        seen_at=person.seen_at,
        answered=outcomes["answered"],
        skipped=outcomes["skipped"],
        cannot_tell=outcomes["cannot_tell"],
        late=sum(pair.answer.late for pair in pairs),
        median_response_time_s=median(times) if times else None,
        fast_share=sum(time < FAST_S for time in times) / len(times) if times else None,
        catch_right=sum(pair.answer.response == pair.question.expected for pair in catch),
        catch_asked=len(catch),
        agreement=sum(agreed) / len(agreed) if agreed else None,
        agreement_of=len(agreed),
        position_bias=_position_bias(answered),
        log_loss=log_loss,
        details=dict(details),
    )


def _query(pair: Answered) -> tuple[str, str]:
    return pair.question.kind, question_key(pair.question.query, pair.question.kind)


def _choice(pair: Answered) -> str:
    """What was chosen, by its label: candidates may stand in another order for another person."""
    assert pair.answer.response is not None
    return pair.question.options[pair.answer.response].label


def _votes(pairs: Iterable[Answered]) -> dict[Any, dict[str, str]]:
    """Query -> what each person chose."""
    votes: dict[Any, dict[str, str]] = defaultdict(dict)
    for pair in pairs:
        if pair.answer.response is not None and pair.question.purpose != "catch":
            votes[_query(pair)][pair.answer.respondent] = _choice(pair)
    return votes


def _sides_with_majority(pair: Answered, votes: Mapping[Any, Mapping[str, str]]) -> bool | None:
    """Whether the person chose what most others chose; None where nobody else was asked, or they are split."""
    others = [choice for name, choice in votes.get(_query(pair), {}).items() if name != pair.answer.respondent]
    if not others or pair.question.purpose == "catch":
        return None
    ranked = Counter(others).most_common(2)
    if len(ranked) > 1 and ranked[0][1] == ranked[1][1]:
        return None
    return _choice(pair) == ranked[0][0]


def _position_bias(answered: Sequence[Answered]) -> float | None:
    """Share of the most used place on the screen, less its fair share; for at least 10 answers that choose an item."""
    choosing = ("nearest", "odd_one_out")
    near = [pair for pair in answered if pair.question.kind in choosing and pair.question.purpose != "catch"]
    if len(near) < 10:
        return None
    places = Counter(pair.question.shown.index(pair.answer.response or 0) for pair in near)
    fair = sum(1 / len(pair.question.options) for pair in near) / len(near)
    return places.most_common(1)[0][1] / len(near) - fair
