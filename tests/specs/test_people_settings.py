"""What the [people] table refuses, in words."""

import pytest

from infonn.errors import InfonnError
from infonn.specs.settings import check_spec

FIELD = {"name": "age", "label": "How old are you?"}


@pytest.mark.parametrize(
    "people, refusal",
    [
        ({"before": [{**FIELD, "kind": "chioce"}]}, r"\[\[people.before\]\] number 1: kind is 'chioce'"),
        ({"before": [FIELD, {"label": "x"}]}, r"\[\[people.before\]\] number 2 has no name"),
        ({"before": [{**FIELD, "labell": "x"}]}, 'Did you mean "label"'),
        ({"before": [{**FIELD, "name": "Your age"}]}, r"name is 'Your age'"),
        ({"before": [{**FIELD, "kind": "choice"}]}, "needs at least two different options"),
        (
            {"before": [{**FIELD, "kind": "choice", "options": ["a", "b"], "screen_out": ["c"]}]},
            'screens out "c", which is none of its options',
        ),
        ({"before": [FIELD], "after": [FIELD]}, 'two fields are called "age"'),
        ({"conditions": [{"name": "a"}, {"name": "a"}]}, 'two conditions are called "a"'),
        ({"conditions": [3]}, r"\[\[people.conditions\]\] number 1 is 3; it must be a table"),
        ({"ends": "soon"}, "as 2027-03-31 or"),
        ({"embed_origins": ["lab.example"]}, "https://lab.example"),
        ({"self_repeats": 0.7}, "must be from 0 to 0.5"),
    ],
)
def test_a_fault_is_named(people, refusal) -> None:
    with pytest.raises(InfonnError, match=refusal):
        check_spec({"people": people})


def test_an_old_study_has_none_of_it() -> None:
    people = check_spec({"people": {"title": "Plants"}})["people"]
    assert people["conditions"] == people["before"] == people["after"] == []
    assert not any(people[key] for key in ("self_repeats", "block", "min_time_s", "catch_every", "most_people"))
