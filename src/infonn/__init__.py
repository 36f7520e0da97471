"""Learn what is similar to what, and what belongs to which class, from as few human answers as possible.

    from infonn import create_study

    study = create_study(["apple", "pear", "plum", "leek", "onion"])
    question = study.ask()[0]
    study.tell(question.id, 0)
    study.embedding()

The public names are imported when first used, so that `import infonn` is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from infonn.beliefs import Belief
    from infonn.comparison import Comparison, compare
    from infonn.contracts.loop import Strategy
    from infonn.datasets.items import ItemSet, load_items
    from infonn.errors import InfonnError
    from infonn.live.label_fits import fit_labels
    from infonn.maths.responses import ResponseSettings
    from infonn.queries import Answers
    from infonn.records import Answer, Item, Question
    from infonn.specs.build import create_study, load_study
    from infonn.specs.registry import register_learner, register_strategy
    from infonn.study import Study

__version__ = "0.1.0"
__all__ = [
    "Answer",
    "Answers",
    "Belief",
    "Comparison",
    "InfonnError",
    "Item",
    "ItemSet",
    "Question",
    "ResponseSettings",
    "Strategy",
    "Study",
    "compare",
    "create_study",
    "fit_labels",
    "load_items",
    "load_study",
    "register_learner",
    "register_strategy",
]

_HOMES = {
    "Answer": "records",
    "Answers": "queries",
    "Belief": "beliefs",
    "Comparison": "comparison",
    "InfonnError": "errors",
    "Item": "records",
    "ItemSet": "datasets.items",
    "Question": "records",
    "ResponseSettings": "maths.responses",
    "Strategy": "contracts.loop",
    "Study": "study",
    "compare": "comparison",
    "create_study": "specs.build",
    "fit_labels": "live.label_fits",
    "load_items": "datasets.items",
    "load_study": "specs.build",
    "register_learner": "specs.registry",
    "register_strategy": "specs.registry",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'infonn' has no attribute {name!r}")
    return getattr(importlib.import_module(f"infonn.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
