"""The paper on one page: made from results alone, whole with however many there are, and never out of date."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from infonn.cli.main import app
from infonn.errors import DataError
from infonn.experiments.report.chapters import chapters_of
from infonn.experiments.report.evidence import (
    evidence_tables,
    last_values,
    moved_by_a_second_run,
    resolution,
    tally,
    verdict_of,
    what_would_decide,
)
from infonn.experiments.report.markdown import render_markdown
from infonn.experiments.report.page import render_page
from infonn.experiments.report.paper import PAPER
from infonn.experiments.report.results import judge_again, read_results
from infonn.experiments.report.sentences import SENTENCES
from infonn.experiments.report.telling import TELLING
from infonn.experiments.report.write import markdown_of
from infonn.experiments.table import EXPERIMENTS
from infonn.experiments.trial import Curve

ROOT = Path(__file__).parents[2]


def curve(method: str, trial: int, values: list[float], **settings) -> dict:
    queries = [20 + 10 * i for i in range(len(values))]
    return Curve(method, "mds", settings, trial, trial, queries, queries, {"tau": values}).to_json()


def keep(folder: Path, name: str, **changes) -> None:
    difference = {"mean": 0.1, "low": 0.05, "high": 0.15, "wins": 1.0, "trials": 3}
    claims = [
        {"id": "a", "text": "Active | is better.", "where": "Fig. 1", "holds": True, "evidence": {"D=2": difference}},
        {"id": "b", "text": "<Cheap> too.", "where": "Fig. 1", "holds": False, "evidence": {"seconds": 3.5}},
        {"id": "c", "text": "And alike.", "where": "Fig. 1", "holds": None, "evidence": "one trial only"},
    ]
    curves = [curve("Info-NN", t, [0.1, 0.5 + 0.01 * t, 0.8]) for t in range(3)]
    curves += [curve("Random", t, [0.1, 0.3, 0.5 + 0.01 * t]) for t in range(3)]
    data = {"experiment": name, "preset": "paper", "seconds": 600, "machine": {"device": "cpu", "cores": 2}}
    data |= {"notes": ["Twice as many rounds."], "curves": curves, "claims": claims, **changes}
    (folder / name).mkdir(parents=True)
    (folder / name / "results.json").write_text(json.dumps(data))


def test_the_published_page_says_what_the_results_say() -> None:
    """When this fails: run `infonn report` and commit docs/paper.md with its figures."""
    assert (ROOT / "docs" / "paper.md").read_text() == markdown_of(ROOT / "results", ROOT / "docs")


def test_every_published_result_has_a_name_and_figures() -> None:
    for name, result in read_results(ROOT / "results").items():
        assert name in EXPERIMENTS
        assert list((ROOT / "docs" / "images" / "paper" / name).glob("*")), f"infonn report draws {name}"
        assert result.curves


def test_published_claims_are_what_the_code_says_of_the_curves(tmp_path) -> None:
    """When this fails: run `infonn report --judge` and commit results/ with docs/paper.md."""
    results = tmp_path / "results"
    for path in (ROOT / "results").glob("*/results.json"):
        (results / path.parent.name).mkdir(parents=True)
        (results / path.parent.name / path.name).write_bytes(path.read_bytes())
    assert judge_again(results) == []


def test_every_claim_about_the_paper_tests_one_of_its_sentences() -> None:
    ours = ("a target of ours", "ours", "this package", "Beyond the paper")
    results = read_results(ROOT / "results")
    for name, result in results.items():
        for claim in result.claims:
            tested = [s for s in SENTENCES if claim in [own for _, own in s.tested_by({name: result})]]
            whose = claim["where"].partition(",")[0]  # "ours, seeds 0 to 9" is ours
            assert len(tested) == (whose not in ours), f"{name}/{claim['id']} tests {len(tested)} sentences"


def test_the_figures_that_tell_most_are_of_experiments_that_there_are() -> None:
    assert len(TELLING) == 10
    assert {telling.experiment for telling in TELLING} <= set(EXPERIMENTS)


def test_every_experiment_of_the_paper_has_a_place_on_the_page() -> None:
    placed = {name for part in PAPER for name in part.experiments}
    modules = {name: module for name, (module, _) in EXPERIMENTS.items()}
    ours = {name for name, module in modules.items() if ".paper." in module and name != "digits"}
    assert ours <= placed


def test_without_results_the_page_says_what_to_run(tmp_path) -> None:
    text = render_markdown(read_results(tmp_path), {})
    assert "No results are there yet" in text
    assert "infonn reproduce mds-random" in text
    assert "infonn reproduce mds-random" in render_page({}, {})


def test_each_claim_comes_with_verdict_and_evidence(tmp_path) -> None:
    keep(tmp_path, "mds-random")
    results = read_results(tmp_path)
    text, page = render_markdown(results, {"mds-random": ["images/x.svg"]}), render_page(results, {})
    for verdict in ("holds", "does not hold", "not testable here"):
        assert verdict in text
        assert verdict in page
    assert "D=2 +0.100 (+0.050 to +0.150)" in text
    assert "D=2 +0.100 (+0.050 to +0.150)" in page
    assert "Twice as many rounds." in text
    assert "![MDS: chosen against random NN queries](images/x.svg)" in text
    assert "| [mds-random](#mds-random) | MDS: chosen against random NN queries | 1 | 1 |  | 1 |" in text
    assert "&lt;Cheap&gt;" in page
    assert "<Cheap>" not in page


def test_each_result_is_told_once_and_beyond_comes_last(tmp_path) -> None:
    for name in ("beyond-mds", "dml-admissions", "digits"):
        keep(tmp_path, name)
    chapters = chapters_of(read_results(tmp_path))
    told = [result.name for chapter in chapters for result in chapter.results]
    assert told == ["dml-admissions", "beyond-mds", "digits"]
    assert any("dml-admissions" in chapter.elsewhere for chapter in chapters)


def test_a_changed_result_changes_the_page(tmp_path) -> None:
    keep(tmp_path / "a", "mds-random")
    keep(tmp_path / "b", "mds-random", seconds=601)
    assert markdown_of(tmp_path / "a", tmp_path) != markdown_of(tmp_path / "b", tmp_path)


def test_last_values_stand_beside_random_under_the_same_learner(tmp_path) -> None:
    keep(tmp_path, "mds-random")
    table = last_values(read_results(tmp_path)["mds-random"].curves)
    rows = {row[0]: dict(zip(table.header, row)) for row in table.rows}
    assert rows["Info-NN"]["tau"] == "0.800 (0.800 to 0.800)"
    assert rows["Info-NN"]["answers"] == "40"
    difference = rows["Info-NN"]["tau over all rounds, minus random's (95 % interval)"]
    assert difference.startswith("+0.25")
    assert rows["Random"]["answers to random's last level"] == ""


def test_coordinates_of_a_map_are_no_values_of_a_curve() -> None:
    mapped = Curve("Info-NN", "net", {}, 0, 0, [20], [40], {"x": [0.1, 0.2, 0.3], "purity": [0.9]})
    assert last_values([mapped]).header == ("method", "answers", "purity")


def test_evidence_of_any_shape_becomes_words() -> None:
    sentence, tables = evidence_tables({"ratio": 0.5, "by": {"D=2": {"ours": 3.0, "paper": None}}})
    assert sentence == "ratio: 0.500"
    assert tables[0].rows == (("by", "ours 3, paper -"),)
    assert evidence_tables("just words") == ("just words", [])
    assert evidence_tables({"mean": None, "low": None, "high": None}) == ("too few trials", [])
    many = {f"C={c}": {"mean": 0.1, "low": 0.05, "high": 0.2, "wins": 1.0} for c in range(5)}
    assert evidence_tables(many)[1][0].rows[0] == ("C=0", "+0.100 (+0.050 to +0.200)", "1")


def test_what_was_measured_and_does_not_tell_is_undecided() -> None:
    difference = {"mean": 0.1, "low": -0.05, "high": 0.2}
    assert verdict_of({"holds": None, "evidence": {"D=2": difference}}) == "undecided"
    assert (
        verdict_of({"holds": None, "evidence": {"target": 0.9, "trials": 1, "D=2": {"low": None}}})
        == "not testable here"
    )
    assert verdict_of({"holds": False, "evidence": "words"}) == "does not hold"


def test_an_open_claim_says_how_many_trials_would_decide_it() -> None:
    open_one = {"mean": 0.1, "low": -0.1, "high": 0.3, "trials": 10}
    sure = {"mean": 0.5, "low": 0.4, "high": 0.6, "trials": 10}
    claim = {"holds": None, "evidence": {"a": open_one, "b": sure}}
    assert what_would_decide(claim, 10) == "About 82 trials would decide it (here 10)."
    assert what_would_decide({"holds": None, "evidence": {"a": {**open_one, "mean": 0.0}}}, 10).startswith("About more")
    assert what_would_decide({"holds": None, "evidence": {"a": 0.3}}, 1) == "About 5 trials would decide it (here 1)."
    assert what_would_decide({"holds": False, "evidence": {"a": open_one}}, 10) == ""
    assert resolution([claim], 10).startswith("10 trials tell a paired difference of 0.214 from none")
    assert resolution([claim], 2) == ""


def test_a_second_run_of_the_same_seeds_stands_beside_the_first(tmp_path) -> None:
    keep(tmp_path, "mds-random")
    other = json.loads((tmp_path / "mds-random" / "results.json").read_text())
    for entry in other["curves"]:
        entry["measures"]["tau"][-1] += 0.05 * (entry["method"] == "Random")
    (tmp_path / "mds-random" / "again.json").write_text(json.dumps(other))
    result = read_results(tmp_path)["mds-random"]
    said = moved_by_a_second_run(result.curves, result.again.curves, "a GPU")
    assert said.startswith("A second run of 3 of these seeds (a GPU) moved the last medians of tau by at most 0.050")
    assert "(Random: 0.510 and 0.560)" in said
    assert "by at most 0.050" in render_markdown({"mds-random": result}, {})


def test_several_claims_are_summed_up_in_a_word() -> None:
    held, failed = {"holds": True, "evidence": {}}, {"holds": False, "evidence": {}}
    undecided = {"holds": None, "evidence": {"mean": 0.1}}
    assert tally([]) == "not run"
    assert tally([failed]) == "does not hold"
    assert tally([held, held]) == "holds (2 tests)"
    assert tally([held, held, failed, undecided]) == "in part: 2 hold, 1 does not, 1 open"
    assert tally([undecided, undecided]) == "undecided (2 tests)"
    assert tally([failed, undecided]) == "no test holds: 1 does not, 1 open"


def test_the_printed_page_folds_nothing_away(tmp_path) -> None:
    keep(tmp_path, "mds-random")
    results = read_results(tmp_path)
    assert "<details>" in render_page(results, {})
    printed = render_page(results, {}, printed=True)
    assert "<details>" not in printed
    assert "Twice as many rounds." in printed
    assert "@page" in printed


def test_answers_to_a_target_stand_side_by_side(tmp_path) -> None:
    ours, never = {"median": 40.0, "low": 30.0, "high": None}, dict.fromkeys(("median", "low", "high"))
    evidence = {"target": 0.75, "ratio of medians": 0.5, "Info-NN": ours, "Random": never}
    claim = {"id": "a", "text": "Fewer answers.", "where": "", "holds": True, "evidence": evidence}
    keep(tmp_path, "beyond-mds", claims=[claim])
    results = read_results(tmp_path)
    row = "| beyond-mds | a | 0.750 | 40 (30 to not reached) | not reached |"
    assert row in render_markdown(results, {})
    assert "<td>40 (30 to not reached)</td><td>not reached</td>" in render_page(results, {})
    assert evidence_tables({"after 60": {"Info-NN": [0.7, 0.75, 0.8]}})[1][0].rows[0][1] == "0.750 (0.700 to 0.800)"


def test_a_broken_results_file_is_named(tmp_path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "results.json").write_text("{}")
    with pytest.raises(DataError, match="is not a file of results"):
        read_results(tmp_path)


def test_the_command_writes_page_and_markdown(tmp_path) -> None:
    keep(tmp_path / "results", "beyond-nothing")
    (tmp_path / "docs").mkdir()
    arguments = ["--results", tmp_path / "results", "--out", tmp_path / "page", "--docs", tmp_path / "docs"]
    done = CliRunner().invoke(app, ["report", *map(str, arguments)])
    assert done.exit_code == 0, done.output
    assert "1 claims: holds" in done.output
    for name in ("index.html", "print.html"):
        assert (tmp_path / "page" / name).read_text().startswith("<!doctype html>")
    assert "beyond-nothing" in (tmp_path / "docs" / "paper.md").read_text()
