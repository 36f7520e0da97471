"""The few errors a caller may want to tell apart. All are `InfonnError`s."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class InfonnError(Exception):
    """Anything infonn refuses; the message says what is wrong and what would be right."""


class InvalidQueryError(InfonnError, ValueError):
    """A query that cannot be asked, or a response outside its options."""


class UnknownNameError(InfonnError, ValueError):
    """A name or key that nothing goes by."""


class UnknownQuestionError(InfonnError, KeyError):
    """An answer to a question that was never handed out."""

    def __str__(self) -> str:  # KeyError would show the message in quotes
        return str(self.args[0])


class AlreadyAnsweredError(InfonnError):
    """A second, different answer to one question by one person; the first stays."""


class StudyError(InfonnError):
    """A study that does not exist, exists already, or was made with other settings."""


class StudyFullError(StudyError):
    """A study that takes no more people."""


class StorageError(InfonnError):
    """A storage that cannot be reached or written to, or that another version of infonn wrote."""


class ResultsFileError(InfonnError, ValueError):
    """A results file that cannot be read; nothing in it was changed."""


class DataError(InfonnError, ValueError):
    """Items, features or files that are not what they should be."""


class MissingPartError(InfonnError, ImportError):
    """An optional dependency that is not installed; the message says how to get it."""


class NeedsDrawsError(InfonnError, ValueError):
    """A rule that needs something the belief does not carry."""


class TrainingError(InfonnError):
    """A model that could not be trained; the answers it was given are kept."""


class TrialError(InfonnError):
    """A trial of an experiment that failed; the message names its seed."""


class EngineError(InfonnError):
    """Workers that cannot be had, or that died over their work."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UnknownNameError:
    """An error that lists the known names and points at the near miss."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    hint = f' Did you mean "{near[0]}"?' if near else ""
    return UnknownNameError(f'{kind} "{name}" is unknown. Known: {", ".join(names)}.{hint}')
