"""Nearest labelled items against plain loops over exact distances."""

import numpy as np
import pytest

from infonn.maths import neighbours
from infonn.maths.neighbours import _farthest, farthest_first, labelled_spread, nearest_labelled, nearest_of_classes


def exact_distances(embedding, items, labelled):
    return np.array([[np.linalg.norm(embedding[i] - embedding[j]) for j in labelled] for i in items])


def plain_nearest_of_classes(embedding, items, labelled, classes, n_nearest):
    rows = []
    for distances in exact_distances(embedding, items, labelled):
        nearest = {}
        for distance, item, label in sorted(zip(distances, labelled, classes)):
            nearest.setdefault(label, (distance, item))
        row = [item for _, item in sorted(nearest.values())][:n_nearest]
        rows.append(row + [-1] * (n_nearest - len(row)))
    return np.array(rows)


def split(rng, n_items, n_labelled):
    order = rng.permutation(n_items)
    return order[n_labelled:], order[:n_labelled]


@pytest.mark.parametrize("n_classes", [2, 10, 40])
@pytest.mark.parametrize("n_nearest", [2, 3, 10])
def test_nearest_of_classes_is_what_a_plain_loop_finds(rng, n_classes, n_nearest, monkeypatch):
    monkeypatch.setattr(neighbours, "CHUNK", 1000)  # many chunks
    embedding = rng.normal(5, 1, (120, 6))
    items, labelled = split(rng, 120, 30)
    classes = rng.integers(0, n_classes, 30)
    found = nearest_of_classes(embedding, items, labelled, classes, n_nearest)
    assert found.tolist() == plain_nearest_of_classes(embedding, items, labelled, classes, n_nearest).tolist()


def test_no_labels_give_rows_of_padding(rng):
    empty = np.empty(0, np.int64)
    assert (nearest_of_classes(rng.normal(size=(5, 2)), np.arange(5), empty, empty, 3) == -1).all()


def test_far_from_the_origin_neighbours_stay_exact(rng):
    embedding = (1000 + rng.normal(size=(200, 4))).astype(np.float32)
    items, labelled = split(rng, 200, 50)
    distances = exact_distances(embedding.astype(float), items, labelled)
    found = nearest_labelled(embedding, items, labelled, 1)[:, 0]
    chosen = distances[np.arange(len(items)), found]
    assert (chosen <= distances.min(axis=1) + 1e-2).all()


def test_nearest_labelled_are_in_order(rng):
    embedding = rng.normal(size=(60, 3))
    items, labelled = split(rng, 60, 20)
    expected = np.argsort(exact_distances(embedding, items, labelled), axis=1)[:, :5]
    assert nearest_labelled(embedding, items, labelled, 5).tolist() == expected.tolist()
    assert nearest_labelled(embedding, items, labelled[:2], 5).shape == (40, 2)


def test_spread_is_that_of_all_distances(rng, monkeypatch):
    monkeypatch.setattr(neighbours, "CHUNK", 500)
    embedding = rng.normal(3, 2, (150, 8))
    items, labelled = split(rng, 150, 25)
    distances = exact_distances(embedding, items, labelled)
    deviation, largest = labelled_spread(embedding, items, labelled)
    assert deviation == pytest.approx(distances.std(ddof=1), rel=1e-4)
    assert largest == pytest.approx(distances.max(), rel=1e-5)
    assert labelled_spread(embedding, items, labelled[:0]) == (0.0, 0.0)


@pytest.mark.parametrize(("chunk", "columns", "threads"), [(1, 512, "1"), (1000, 7, "3"), (1 << 20, 512, "2")])
def test_slices_blocks_and_threads_change_no_digit(rng, monkeypatch, chunk, columns, threads):
    embedding = rng.normal(size=(301, 10)).astype(np.float32)  # dimensions that are no multiple of the step
    items, labelled = split(rng, 301, 20)
    classes = rng.integers(0, 4, 20)
    expected = nearest_of_classes(embedding, items, labelled, classes, 3), labelled_spread(embedding, items, labelled)
    monkeypatch.setattr(neighbours, "CHUNK", chunk)
    monkeypatch.setattr(neighbours, "COLUMNS", columns)
    monkeypatch.setenv("INFONN_THREADS", threads)
    assert (nearest_of_classes(embedding, items, labelled, classes, 3) == expected[0]).all()
    assert labelled_spread(embedding, items, labelled) == pytest.approx(expected[1], rel=1e-6 if columns < 20 else 0)


def test_spread_of_very_many_pairs_comes_from_evenly_spaced_items(rng, monkeypatch):
    embedding = rng.normal(size=(3000, 8))
    items, labelled = split(rng, 3000, 40)
    exact = labelled_spread(embedding, items, labelled)
    monkeypatch.setattr(neighbours, "SPREAD_PAIRS", 30_000)
    # About 700 items left: the deviation's standard error is 1 %, tolerance 4 of them.
    deviation, largest = labelled_spread(embedding, items, labelled)
    assert deviation == pytest.approx(exact[0], rel=0.04)
    assert 0.8 * exact[1] < largest <= exact[1]


@pytest.mark.parametrize("front", [1, 7, 50, 1000])
def test_farthest_first_is_the_same_with_any_front(rng, front):
    points = rng.normal(size=(300, 4)).astype(np.float32)
    left = ((points - points[0]) ** 2).sum(axis=1)
    plain, centres = [], [0]
    for _ in range(40):
        distances = np.min([((points - points[c]) ** 2).sum(axis=1) for c in centres], axis=0)
        distances[plain] = -1
        plain.append(int(np.argmax(distances)))
        centres.append(plain[-1])
    assert _farthest(points, left, 40, front).tolist() == plain


def test_without_labels_the_first_centre_is_nearest_to_the_mean(rng):
    embedding = rng.normal(size=(50, 3))
    items = np.arange(50)
    first = farthest_first(embedding, items, items[:0], 3)[0][0]
    assert first == np.argmin(((embedding - embedding.mean(axis=0)) ** 2).sum(axis=1))
    equal = farthest_first(np.zeros((6, 2)), np.arange(6), items[:0], 6)[0]
    assert sorted(equal.tolist()) == list(range(6))  # equal items are still different items
