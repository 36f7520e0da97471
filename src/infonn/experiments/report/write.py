"""From `results/` to the forms of the report: Markdown, a page for the screen, one for the printer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from infonn.experiments.beyond.page import selection_page
from infonn.experiments.labels.page import with_tables
from infonn.experiments.report.figures import draw_figures, kept_figures
from infonn.experiments.report.markdown import render_markdown
from infonn.experiments.report.page import render_page
from infonn.experiments.report.results import Result, read_results

IMAGES = Path("images") / "paper"  # beside the Markdown page
PRINTED = "print.html"  # beside the HTML page: every figure, nothing folded


def markdown_of(results_folder: Path, docs: Path) -> str:
    """What docs/paper.md should say, given the results and the figures drawn beside it."""
    results = read_results(results_folder)
    images = {
        name: [path.relative_to(docs).as_posix() for path in kept_figures(docs / IMAGES / name)] for name in results
    }
    return render_markdown(results, images)


def selection_of(results_folder: Path, docs: Path) -> str:
    """What docs/selection.md should say."""
    results = read_results(results_folder)
    images = {
        name: [path.relative_to(docs).as_posix() for path in kept_figures(docs / IMAGES / name)] for name in results
    }
    return selection_page({name: result.claims for name, result in results.items()}, images)


def label_pages(results_folder: Path, docs: Path) -> dict[Path, str]:
    """What docs/label.md and the README beside docs should say, as far as they tell of the label panel."""
    results = read_results(results_folder)
    if "label-panel" not in results:
        return {}
    told = results["label-accuracy"].claims if "label-accuracy" in results else ()
    evidence = {claim["id"]: claim["evidence"] for claim in told}
    places = {docs / "label.md": True, docs.parent / "README.md": False}
    curves = results["label-panel"].curves
    found = {place: whole for place, whole in places.items() if place.exists()}
    return {
        place: with_tables(place.read_text(encoding="utf-8"), whole, curves, evidence) for place, whole in found.items()
    }


def write_report(
    results_folder: Path, page: Path, docs: Path | None, say: Callable[[str], None] = print
) -> dict[str, Result]:
    """Draw every figure; write the HTML page and print.html beside it, and paper.md and selection.md into `docs`."""
    results = read_results(results_folder)
    images = {}
    for name, result in results.items():
        folder = (docs / IMAGES if docs is not None else page.parent / "figures") / name
        images[name] = draw_figures(result, folder)
        say(f"{name}: {len(images[name])} figures, {len(result.claims)} claims")
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(render_page(results, images), encoding="utf-8")
    page.with_name(PRINTED).write_text(render_page(results, images, printed=True), encoding="utf-8")
    if docs is not None:
        (docs / "paper.md").write_text(markdown_of(results_folder, docs), encoding="utf-8")
        (docs / "selection.md").write_text(selection_of(results_folder, docs), encoding="utf-8")
        for place, text in label_pages(results_folder, docs).items():
            place.write_text(text, encoding="utf-8")
    return results
