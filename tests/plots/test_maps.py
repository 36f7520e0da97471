"""Maps: the plane keeps what it can, and labels never lie on each other."""

import sys

import numpy as np
import pytest

from infonn.errors import DataError, MissingPartError
from infonn.plots.labels import place_labels, short
from infonn.plots.look import save
from infonn.plots.maps import draw_map, draw_maps, project


def test_principal_axes_keep_all_distances_of_a_plane(rng):
    flat = rng.normal(size=(30, 2)) @ rng.normal(size=(2, 5))
    points = project(flat, "pca")
    for a, b in rng.integers(0, 30, (20, 2)):
        assert np.linalg.norm(points[a] - points[b]) == pytest.approx(np.linalg.norm(flat[a] - flat[b]))
    assert points[:, 0].std() >= points[:, 1].std()


def test_neighbours_stay_neighbours_and_the_seed_decides(rng):
    groups = np.repeat([0, 1], 20)
    embedding = rng.normal(size=(40, 6)) + 20 * groups[:, None]
    points = project(embedding, "tsne", seed=3)
    np.testing.assert_array_equal(points, project(embedding, "tsne", seed=3))
    distances = np.linalg.norm(points[:, None] - points[None], axis=2) + 1e9 * np.eye(40)
    assert (groups[distances.argmin(axis=1)] == groups).all()


def test_one_dimension_and_unknown_projections(rng):
    assert project(rng.normal(size=(9, 1)), "pca").shape == (9, 2)
    with pytest.raises(ValueError, match='Known: "tsne", "umap", "pca"'):
        project(rng.normal(size=(9, 2)), "flat")


def test_labels_never_lie_on_each_other(rng):
    points = rng.normal(size=(60, 2))
    figure = draw_maps({"a": points}, rng.integers(0, 2, 60), ["x", "y"], ["#111111", "#999999"], ["some dish"] * 60)
    texts = [text for text in figure.axes[0].texts if text.get_text() == "some dish"]
    assert 5 < len(texts) < 60
    renderer = figure.canvas.get_renderer()
    boxes = [text.get_window_extent(renderer) for text in texts]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_embeddings_that_are_not_finite_are_refused():
    with pytest.raises(DataError, match="not finite"):
        project(np.array([[0.0, np.nan]]), "pca")


def test_labels_part_and_stay_inside_their_frame(rng) -> None:
    points = rng.uniform(180, 320, (30, 2))
    sizes = np.tile([60.0, 12.0], (30, 1))
    centres = place_labels(points, sizes, np.array([600.0, 500.0]))
    gap = np.abs(centres[:, None] - centres[None]) - sizes[0]
    overlapping = (gap < -1).all(axis=2).sum() - 30  # each overlaps itself
    assert overlapping == 0
    assert (centres - sizes / 2 >= -1e-9).all()
    assert (centres + sizes / 2 <= [600 + 1e-9, 500 + 1e-9]).all()


def test_long_names_are_cut_with_an_ellipsis() -> None:
    assert short("Apple") == "Apple"
    assert short("Warm Butternut and Chickpea Salad with Tahini Dressing") == "Warm Butternut and\nChickpea Salad with…"


def test_a_map_shows_names_groups_and_values(rng, tmp_path) -> None:
    points = rng.normal(size=(12, 2))
    named = draw_map(points, names=[f"item {i}" for i in range(12)], values=rng.random(12), value_label="sweet")
    svg, _ = save(named, tmp_path / "named")
    assert "item 7" in svg.read_text()
    grouped = draw_map(points, groups=np.arange(12) % 3, group_names=["a", "b", "c"], title="Classes")
    assert [text.get_text() for text in grouped.axes[0].get_legend().get_texts()] == ["a", "b", "c"]
    assert len(draw_map(points).axes[0].collections) == 1


def test_a_map_by_umap_says_how_to_get_it(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(MissingPartError, match=r'UMAP maps need umap-learn: pip install "infonn\[maps\]"\.'):
        project(np.eye(5), "umap")
