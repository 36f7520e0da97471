"""What a study, a server and a worker need of a storage: two protocols, and how questions are handed to people."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from infonn.arrays import FloatArray
from infonn.records import (
    Act,
    Answer,
    Counts,
    Deletion,
    Item,
    ItemFile,
    Purpose,
    Question,
    Respondent,
    Round,
    StudyRecord,
    Token,
)

Spec = Mapping[str, Any]
SpecChange = Mapping[str, Mapping[str, Any]] | Callable[[Spec], Spec]  # keys by table, or the old tables to the new


def changed_spec(spec: Spec, change: SpecChange) -> dict[str, Any]:
    """The tables of a study after a change: of some keys, or whatever a function makes of them."""
    if callable(change):
        return dict(change(spec))
    return {**spec, **{table: {**spec.get(table, {}), **keys} for table, keys in change.items()}}


@dataclass(frozen=True)
class Answered:
    """An answer beside the question it answers."""

    question: Question
    answer: Answer


@dataclass(frozen=True)
class Serving:
    """How a study's questions are leased to people. `draw` makes random questions of a purpose, one after another."""

    lease_s: float = 600.0
    hold_out: float = 0.0  # share of questions that are random and never train
    at_random: float = 0.0  # share of the others that are random though they train, to compare the chosen ones with
    overlap: int = 1  # people who are asked the same query
    repeats: bool = False  # whether one person may be asked the same query again; never by a copy made for overlap
    self_repeats: float = 0.0  # share of questions that ask a person again what they answered before
    repeat_gap: int = 10  # questions in between, at least
    per_person: int | None = None
    ahead: int | None = None  # questions that a person may hold before having answered as many; None for any number
    practice: tuple[Question, ...] = ()
    catch: Mapping[int, Question] = field(default_factory=dict)  # position in a person's sequence -> question
    catch_list: tuple[Question, ...] = ()  # of which one comes among every `catch_every` questions, anywhere
    catch_every: int = 0
    most_wrong: int = 0  # wrong answers to catch questions after which a person is asked no more; 0 for no limit
    draw: Callable[[Purpose], Iterator[Question]] | None = None
    draw_at: Callable[[Purpose, int], Iterator[Question]] | None = None  # in place of the queue: the n-th question
    condition: str = ""  # the condition whose own questions a person is asked; empty for those of everybody
    seed: int = 0

    def purpose_at(self, respondent: str, position: int) -> Purpose:
        """Train or hold-out: as random as a coin, and the same when asked again."""
        return "hold_out" if self._coins(respondent, position)[0] < self.hold_out else "train"

    def is_random_at(self, respondent: str, position: int) -> bool:
        """Whether a train question is to be a random one: another such coin."""
        return self._coins(respondent, position)[1] < self.at_random

    def is_repeat_at(self, respondent: str, position: int) -> bool:
        """Whether a person is to be asked again what they answered before: a third coin."""
        return self._coins(respondent, position)[2] < self.self_repeats

    def catch_until(self, respondent: str, position: int) -> list[Question]:
        """The catch questions of a person's sequence up to this position, in their order."""
        due = [(place, question) for place, question in self.catch.items() if place <= position]
        if self.catch_list and self.catch_every > 0:
            for block in range(position // self.catch_every + 1):
                coins = self._coins(respondent, block, "catch")
                place = block * self.catch_every + int(coins[0] * self.catch_every)
                if place <= position:
                    due.append((place, self.catch_list[self._turn(respondent, block)]))
        return [question for _, question in sorted(due, key=lambda pair: pair[0])]

    def _turn(self, respondent: str, block: int) -> int:
        """Which catch question of the list comes in a block: all of them in a random order, then all again."""
        n = len(self.catch_list)
        turn, place = divmod(block, n)
        return sorted(range(n), key=lambda i: self._coins(respondent, i, f"catch order {turn}"))[place]

    def _coins(self, respondent: str, position: int, use: str = "") -> tuple[float, float, float]:
        text = f"{self.seed}/{respondent}/{position}" + (f"/{use}" if use else "")
        digest = hashlib.sha256(text.encode()).digest()
        first, second, third = (int.from_bytes(digest[start : start + 8], "big") / 2**64 for start in (0, 8, 16))
        return first, second, third


class Storage(Protocol):
    """What was asked and answered, as a study needs it. Every method is one transaction; what returned is kept."""

    def create_study(self, record: StudyRecord, items: Sequence[Item], features: FloatArray | None = None) -> None: ...

    def study(self, name: str) -> StudyRecord: ...

    def studies(self) -> list[StudyRecord]: ...

    def items(self, study: str) -> list[Item]: ...

    def features(self, study: str) -> FloatArray | None: ...

    def add_questions(self, study: str, questions: Sequence[Question]) -> None:
        """Put questions at the end of the study's queue."""

    def take(self, study: str, respondent: str, n: int, lease_s: float) -> list[Question]:
        """Lease up to `n` train questions to one person; first comes what this person already holds."""
        ...

    def replace_open(self, study: str, questions: Sequence[Question]) -> None:
        """Replace the train questions nobody holds by `questions`; copies for overlap stay."""

    def questions(self, study: str, state: Literal["open", "leased", "answered", "all"] = "all") -> list[Question]: ...

    def question(self, study: str, question_id: str) -> Question: ...

    def add_answer(self, study: str, answer: Answer) -> Answer:
        """Keep an answer; the same id again is the same answer and gives back what was kept."""
        ...

    def undo(self, study: str, answer_id: str) -> Answer:
        """Take an answer out of force; its question goes back to the same person."""
        ...

    def answers(self, study: str, purpose: Purpose | None = "train") -> list[Answered]:
        """Answers in the order of arrival, without those undone or of excluded people."""
        ...

    def exclude(self, study: str, respondent: str, excluded: bool = True) -> None: ...

    def add_round(self, study: str, round: Round) -> None: ...

    def rounds(self, study: str) -> list[Round]: ...

    def save_model(self, study: str, version: int, model: Mapping[str, Any]) -> None:
        """Keep a model: names to arrays, or to anything JSON can hold."""

    def load_model(self, study: str, version: int | None = None) -> tuple[int, Mapping[str, Any]] | None: ...

    def claim(self, study: str, worker: str, lease_s: float) -> bool:
        """Whether this worker now holds the study; a claim ends by itself when it is not renewed."""
        ...


@runtime_checkable
class LiveStorage(Storage, Protocol):
    """What servers and workers need besides, so that many people can answer one study at the same time."""

    def create_study(
        self,
        record: StudyRecord,
        items: Sequence[Item],
        features: FloatArray | None = None,
        files: Sequence[ItemFile] = (),
        *,
        questions: Sequence[Question] = (),
        answered: Sequence[Answered] = (),
        excluded: Collection[str] = (),
        deletions: Sequence[Deletion] = (),
    ) -> None:
        """A new study with its first questions, or with all it had elsewhere: everything is stored, or nothing."""

    def study_by_key(self, key: str) -> StudyRecord | None: ...

    def change_study(
        self,
        name: str,
        change: SpecChange | None = None,
        *,
        archived: bool | None = None,
        paused: bool | None = None,
        retention_days: float | None = None,
    ) -> StudyRecord:
        """Change some keys of a study's tables, or other things about it; changes made at once are all kept.

        A function is given the present tables and gives the new ones, or refuses by raising; it may be called twice."""
        ...

    def delete_study(self, name: str) -> None:
        """Delete a study with all that belongs to it, for good."""

    def file(self, study: str, path: str) -> ItemFile | None: ...

    def files(self, study: str) -> list[str]: ...

    # --- people ------------------------------------------------------------------------------------

    def join(
        self,
        study: str,
        outside_id: str | None = None,
        details: Mapping[str, Any] | None = None,
        *,
        conditions: Sequence[str] = (),
        most_people: int = 0,
    ) -> Respondent:
        """A new person, or the one who came before with this `outside_id` (of a crowd platform, say).

        A new one is put into the condition of `conditions` that has the fewest people; people who came and went
        without an answer do not count. Where `most_people` take part already, a new one is a `StudyFullError`."""
        ...

    def respondents(self, study: str) -> list[Respondent]: ...

    def respondent(self, study: str, name: str) -> Respondent | None: ...

    def tell_about(self, study: str, respondent: str, about: Mapping[str, Any]) -> None:
        """Keep what a person said about themselves, beside what they said before."""

    def n_done(self, study: str, respondent: str) -> int:
        """How many questions a person is done with, practice aside."""
        ...

    def details(self, study: str) -> dict[str, Mapping[str, Any]]:
        """What is known about people beyond their answers, by respondent."""
        ...

    def purge_details(self, study: str) -> int:
        """Forget who the respondents are; their answers stay. Gives the number of people forgotten."""
        ...

    def consent(self, study: str, respondent: str, text: str) -> int:
        """Keep that a person agreed to this text; its version, counted from 1 within the study."""
        ...

    def consent_texts(self, study: str) -> dict[int, str]:
        """The texts that people agreed to, by version."""
        ...

    def delete_person(self, study: str, respondent: str) -> int:
        """Delete a person with all answers, for good; the number of answers. Fitted models go as well, as they knew."""
        ...

    def deletions(self, study: str) -> list[Deletion]:
        """What was deleted from the study, in order; for whoever reads its export."""
        ...

    def forget_expired(self) -> dict[str, int]:
        """Forget who people are whom their study's retention time lets go; people forgotten, by study."""
        ...

    # --- questions and answers ---------------------------------------------------------------------

    def serve(self, study: str, respondent: str, n: int, serving: Serving) -> list[Question]:
        """As `take`, with practice, catch, hold-out and overlap as `serving` says, and a fallback for a dry queue."""
        ...

    def undo(self, study: str, answer_id: str, lease_s: float = 600.0) -> Answer:
        """As for every storage; the person holds the question for `lease_s`."""
        ...

    def queue_depth(self, study: str) -> int:
        """Train questions that nobody holds; a lapsed lease holds nothing."""
        ...

    def exchange(self, study: str, answer: Answer, n: int, serving: Serving) -> tuple[Answer, list[Question], int]:
        """Keep an answer to a question this person was handed, and serve the next ones: one commit.

        Gives the answer as it is kept, the questions, and how many the person is done with (`n_done`)."""
        ...

    def answers(
        self, study: str, purpose: Purpose | None = "train", after: int = 0, everything: bool = False
    ) -> list[Answered]:
        """As for every storage, from answer number `after` + 1; or `everything`: undone and excluded ones too."""
        ...

    def answers_of(self, study: str, respondent: str) -> list[Answered]:
        """Everything one person answered, undone answers included, in the order of arrival."""
        ...

    def import_answers(self, study: str, answered: Sequence[Answered]) -> int:
        """Keep earlier answers with their questions; those whose id is there already are left as they are."""
        ...

    def revision(self, study: str) -> tuple[int, int]:
        """(answers ever kept, other changes: undone, excluded, imported). Equal revisions, equal answers."""
        ...

    def counts(self, study: str) -> Counts: ...

    # --- workers and servers -----------------------------------------------------------------------

    def release(self, study: str, worker: str) -> None:
        """Give a claim back before its time."""

    def note(self, study: str, key: str, value: Any) -> None:
        """Leave word about a study for whoever looks at its status; None takes it away."""

    def notes(self, study: str) -> dict[str, Any]: ...

    def setting(self, key: str, value: str | None = None) -> str | None:
        """A setting of the server; with `value`, it is set first."""
        ...

    def first_setting(self, key: str, value: str) -> str:
        """The setting as it is kept; `value` where there was none. Of many who come at once, all get the same."""
        ...

    def drop_setting(self, key: str) -> None:
        """Take a setting away, also from what its place on the disk still holds."""

    # --- owners ------------------------------------------------------------------------------------

    def add_token(self, token: Token, sha256: str) -> bool:
        """Keep a token by its hash; False where its id is taken, so that of two who make the first one, one does."""
        ...

    def token_by_hash(self, sha256: str) -> Token | None:
        """The token whose text has this hash, revoked or not."""
        ...

    def tokens(self) -> list[Token]:
        """All tokens, in the order in which they were made."""
        ...

    def revoke_token(self, token_id: str) -> Token:
        """End a token; ending it again changes nothing."""
        ...

    def add_act(
        self, who: str, what: str, study: str | None = None, details: Mapping[str, Any] | None = None
    ) -> None: ...

    def acts(self, study: str | None = None, after: int = 0, limit: int = 1000) -> list[Act]:
        """The audit log from line `after` + 1, of one study or all."""
        ...
