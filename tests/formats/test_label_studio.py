"""Label Studio's JSON: configs, tasks and labels there and back."""

import json

import pytest

from infonn.errors import DataError
from infonn.formats.label_studio import (
    Choices,
    item_of,
    label_of,
    prediction,
    read_config,
    read_labels,
    write_config,
    write_tasks,
)
from infonn.records import Item

NAMES = ["cat01", "animals/dog01", "a tale"]
ITEM_AT = {name: index for index, name in enumerate(NAMES)}


def annotation(label: str, when: str, **more: object) -> dict[str, object]:
    region = {"type": "choices", "from_name": "class", "to_name": "item", "value": {"choices": [label]}}
    return {"result": [region], "updated_at": when, **more}


def test_a_config_goes_there_and_back() -> None:
    config = write_config(["cat & co", "dog"])
    assert read_config(config) == Choices("class", "item", ("cat & co", "dog"))


@pytest.mark.parametrize("config", ["<View>", "<View><Image name='i' value='$i'/></View>"])
def test_a_config_without_choices_is_refused_in_words(config: str) -> None:
    with pytest.raises(DataError, match="labelling config"):
        read_config(config)


def test_tasks_name_their_items() -> None:
    tasks = json.loads(write_tasks([Item("cat01", image="cat01.png"), Item("a tale", "Once")], {"cat01": "http://x/1"}))
    assert tasks[0]["data"] == {"item": "cat01", "text": "cat01", "image": "http://x/1"}
    assert [item_of(task, ITEM_AT) for task in tasks] == [0, 2]


@pytest.mark.parametrize(
    "data, item",
    [
        ({"image": "/data/upload/3/0a1b2c3d-cat01.jpg"}, 0),
        ({"image": "/data/local-files/?d=animals/dog01.png"}, 1),
        ({"image": "https://site/photos/cat01.png?size=3"}, 0),
        ({"text": "a tale"}, 2),
        ({"image": "/data/upload/3/0a1b2c3d-cow.jpg"}, None),
        ({"n": 3}, None),
    ],
)
def test_a_task_shows_the_item_that_its_data_name(data: dict[str, object], item: int | None) -> None:
    assert item_of({"data": data}, ITEM_AT) == item


def test_the_last_finished_annotation_counts() -> None:
    task = {"annotations": [annotation("dog", "2026-02"), annotation("cat", "2026-01")]}
    assert label_of(task) == "dog"
    task["annotations"].append(annotation("cat", "2026-03", was_cancelled=True))
    assert label_of(task) == "dog"
    assert label_of({"annotations": []}) is None


def test_an_export_gives_labels_by_item() -> None:
    export = json.dumps(
        [
            {"data": {"item": "a tale"}, "annotations": [annotation("dog", "1")]},
            {"data": {"item": "cat01"}, "annotations": []},
        ]
    )
    assert read_labels(export, NAMES, ["cat", "dog"]) == {2: 1}


@pytest.mark.parametrize(
    "export, says",
    [
        ("{", "not JSON"),
        ("{}", "a list of tasks"),
        (json.dumps([{"data": {"item": "cow"}, "annotations": [annotation("dog", "1")]}]), "no such item"),
        (json.dumps([{"data": {"item": "cat01"}, "annotations": [annotation("owl", "1")]}]), 'the label "owl"'),
    ],
)
def test_an_export_that_makes_no_sense_is_refused(export: str, says: str) -> None:
    with pytest.raises(DataError, match=says):
        read_labels(export, NAMES, ["cat", "dog"])


def test_a_prediction_without_a_class_is_a_place_in_the_order_alone() -> None:
    choices = Choices("class", "item", ("cat", "dog"))
    assert prediction(choices, None, 0.5, "v")["result"] == []
    assert prediction(choices, "cat", 0.5, "v")["result"][0]["value"] == {"choices": ["cat"]}
