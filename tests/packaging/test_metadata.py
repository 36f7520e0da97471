"""What is written in several places says the same: the version, and what infonn needs."""

import json
import re
import tomllib
from pathlib import Path

import infonn

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
RECIPE = (ROOT / "deploy" / "conda" / "meta.yaml").read_text()
CITATION = (ROOT / "CITATION.cff").read_text()
ZENODO = json.loads((ROOT / ".zenodo.json").read_text())
ELSEWHERE = {"matplotlib": "matplotlib-base"}  # what conda-forge calls it


def test_one_version_everywhere() -> None:
    (recipe,) = re.findall(r'set version = "(.+)"', RECIPE)
    (citation,) = re.findall(r"^version: (.+)$", CITATION, re.MULTILINE)
    assert {PROJECT["version"], infonn.__version__, recipe, citation, ZENODO["version"]} == {infonn.__version__}
    assert f"## {infonn.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_the_conda_recipe_needs_what_the_project_needs() -> None:
    run = RECIPE.partition("  run:\n")[2].partition("\n\n")[0]
    theirs = dict(re.findall(r"- (\S+) (>=\S+)", run))
    assert theirs.pop("python") == PROJECT["requires-python"]
    wanted = [re.match(r"([\w.\-]+)(>=[\w.]+)", line) for line in PROJECT["dependencies"]]
    ours = {match[1].lower(): match[2] for match in wanted if match}
    assert len(ours) == len(PROJECT["dependencies"])
    assert theirs == {ELSEWHERE.get(name, name): least for name, least in ours.items()}


def test_title_and_licence_are_those_of_the_citation() -> None:
    assert f'title: "{ZENODO["title"]}"' in CITATION
    assert f"license: {ZENODO['license']}" in CITATION
    assert ZENODO["keywords"] == PROJECT["keywords"]
