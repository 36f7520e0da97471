"""The README says what is there."""

import json
from pathlib import Path

import pytest

from infonn.experiments.report.evidence import tally
from infonn.experiments.report.results import read_results
from infonn.experiments.report.sentences import SENTENCES
from infonn.experiments.table import EXPERIMENTS
from infonn.specs.registry import CLASS_STRATEGIES, STRATEGIES, describe

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


@pytest.mark.parametrize("table", [STRATEGIES, CLASS_STRATEGIES], ids=["similarity", "labels"])
def test_the_table_of_strategies_is_the_one_in_specs(table) -> None:
    missing = [
        row for name, line in describe("Strategy", table).items() if (row := f"| `{name}` | {line} |") not in README
    ]
    assert not missing, "README.md lacks:\n" + "\n".join(missing)


def test_every_file_the_readme_points_to_is_there() -> None:
    targets = [part.split(")")[0] for part in README.split("](")[1:]]
    assert not [target for target in targets if not (ROOT / target).exists()]


def cells(start: str) -> list[str]:
    """What the row of a table says that begins with this."""
    (row,) = [line for line in README.splitlines() if line.startswith(f"| {start}")]
    return _cells(row)


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("|").split("|")]


@pytest.mark.parametrize(
    ("row", "experiment", "claim"),
    [
        ("20 points in 2 dimensions", "beyond-mds", "mds-answers"),
        ("73 dishes, people's answers", "beyond-food73", "food73-answers"),
        ("a hidden metric, 25 %", "beyond-synthetic", "corrupted-answers"),
        ("alien eggs, 2 candidates", "beyond-eggs", "eggs-2-answers"),
    ],
)
def test_answers_to_a_target_are_those_of_the_results(row: str, experiment: str, claim: str) -> None:
    results = json.loads((ROOT / "results" / experiment / "results.json").read_text())
    (evidence,) = [found["evidence"] for found in results["claims"] if found["id"] == claim]
    shown = cells(row)
    assert f"({results['spec']['trials']} trials)" in shown[0]
    assert float(shown[1].split()[-1]) == evidence["target"]
    assert [int(count) for count in shown[2:4]] == [
        round(evidence[method]["median"]) for method in ("Info-NN", "Random")
    ]
    assert shown[4].startswith("never")
    assert evidence["Info-NN as published"]["median"] is None


@pytest.mark.parametrize(
    ("row", "entry"),
    [
        ("Score 20,000 queries by Info-NN, default", "info_nn_default"),
        ("The same with 1,024 draws", "info_nn_distances"),
        ("Score 20,000 queries by Info-NN-embedding", "info_nn_embedding"),
        ("Score all rankings", "ranking_c4"),
        ("Fit MDS", "mds_fit"),
        ("Train 20 trials", "dml_stack"),
        ("Add an answer to a network's draws", "laplace_update"),
        ("Score 60,000 items to label", "label_select"),
    ],
)
def test_ratios_are_those_of_the_benchmarks(row: str, entry: str) -> None:
    measured = {found["name"]: found for found in json.loads((ROOT / "docs" / "bench.json").read_text())}
    assert cells(row)[3] == f"{measured[entry]['ratio']:,.0f} x"


def test_what_holds_of_the_paper_is_what_the_results_say() -> None:
    results = read_results(ROOT / "results")
    rows = README.split("| The paper says | Here |\n|---|---|\n")[1].split("\n\n")[0].splitlines()
    shown = dict(map(_cells, rows))
    verdicts = {s.text: tally([claim for _, claim in s.tested_by(results)]) for s in SENTENCES}
    assert len(shown) == 6
    assert shown == {text: verdicts[text] for text in shown}


def test_the_sentence_about_mnist_is_that_of_the_results() -> None:
    results = json.loads((ROOT / "results" / "mnist-published" / "results.json").read_text())
    evidence = {claim["id"]: claim["evidence"] for claim in results["claims"]}
    above = evidence["mnist-info-nn-best-published"]
    signed = {name: f"{entry['mean']:+.3f}".replace("0.", ".", 1) for name, entry in above.items()}
    words = " ".join(README.split())
    assert (
        f"Random ({signed['Random']}), MaxEntropy ({signed['MaxEntropy']}) and K-Center ({signed['K-Center']})" in words
    )
    assert f"BatchBALD ({signed['BatchBALD']})" in words
    first = evidence["mnist-published-0.95"]
    assert f"({first['PowerBALD']:.0f} and {first['BADGE']:.0f} labels)" in words
    assert min(first, key=lambda method: first[method] or 1e9) == "PowerBALD"


def test_every_experiment_of_the_paper_has_results() -> None:
    of_the_paper = [name for name, (module, _) in EXPERIMENTS.items() if ".paper." in module]
    assert [name for name in of_the_paper if not (ROOT / "results" / name / "results.json").exists()] == []
