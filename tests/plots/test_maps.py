"""Maps: the plane keeps what it can, and labels never lie on each other."""

import numpy as np
import pytest

from infonn.plots.maps import draw_maps, project


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
