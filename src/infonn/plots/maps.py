"""Maps of what was learned: an embedding brought down to the plane, items by name, group or value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from infonn.arrays import FloatArray, IntArray
from infonn.errors import DataError, MissingPartError
from infonn.plots.labels import write_names
from infonn.plots.look import COLOURS, GREY, INK, new_figure, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Projection = Literal["tsne", "umap", "pca"]


def project(embedding: FloatArray, method: Projection = "tsne", seed: int = 0) -> FloatArray:
    """(items, dims) -> (items, 2), turned so that the widest direction lies flat; the same seed gives the same map."""
    if not np.isfinite(embedding).all():
        raise DataError("The embedding has entries that are not finite; a map needs every coordinate.")
    points = embedding - embedding.mean(axis=0)
    if method == "tsne":
        from sklearn.manifold import TSNE
        from threadpoolctl import threadpool_limits

        perplexity = min(30.0, max(2.0, (len(points) - 1) / 4))
        init = _widest(points) / max(1e-12, float(_widest(points)[:, 0].std())) * 1e-4
        with threadpool_limits(1):  # threads that wait for each other on a busy machine take minutes
            points = TSNE(perplexity=perplexity, init=init, random_state=seed).fit_transform(points)
    elif method == "umap":
        try:
            from umap import UMAP
        except ImportError as error:
            raise MissingPartError('UMAP maps need umap-learn: pip install "infonn[maps]". Or use tsne.') from error
        points = UMAP(n_neighbors=min(15, len(points) - 1), random_state=seed).fit_transform(points)
    elif method != "pca":
        raise ValueError(f'Projection "{method}" is unknown. Known: "tsne", "umap", "pca".')
    return _widest(np.asarray(points, float))


def _widest(points: FloatArray) -> FloatArray:
    """The first two principal axes; one-dimensional points get a second axis of zeros."""
    centred = points - points.mean(axis=0)
    left, scales, _ = np.linalg.svd(centred, full_matrices=False)
    axes = left * scales
    if axes.shape[1] < 2:
        axes = np.hstack([axes, np.zeros((len(axes), 1))])
    flip = np.where(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])] < 0, -1, 1)  # svd leaves signs open
    plane: FloatArray = (axes * flip)[:, :2]
    return plane


def draw_maps(
    panels: Mapping[str, FloatArray],
    groups: IntArray,
    group_names: Sequence[str],
    group_colours: Sequence[str],
    labels: Sequence[str] | None = None,
    size: float = 5.2,
) -> Figure:
    """One panel per title of `points` (items, 2); as many labels as find room."""
    with style():
        figure = new_figure(size * len(panels), size + 0.5)
        grid: Any = figure.subplots(1, len(panels), squeeze=False)[0]
        for axes, (title, points) in zip(grid, panels.items()):
            for group, name in enumerate(group_names):
                own = points[groups == group]
                axes.scatter(*own.T, s=30, color=group_colours[group], label=name, edgecolor="white", linewidth=0.5)
            axes.set_title(title)
            axes.set_xticks([])
            axes.set_yticks([])
            axes.grid(visible=False)
            axes.set_aspect("equal", adjustable="datalim")
            axes.margins(0.08)
        handles, names = grid[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=min(len(names), 7))
        figure.canvas.draw()
        if labels is not None:
            for axes, points in zip(grid, panels.values()):
                _label(axes, points, labels)
    return figure


def _label(axes: Any, points: FloatArray, labels: Sequence[str]) -> None:
    """Write the labels that overlap neither one another nor the panel's edge."""
    renderer = axes.figure.canvas.get_renderer()
    inside = axes.get_window_extent(renderer)
    spots = axes.transData.transform(points)
    taken: list[Any] = []
    order = np.argsort(((points - np.median(points, axis=0)) ** 2).sum(axis=1))[::-1]  # the rim first: it has room
    for item in order:
        text = axes.annotate(
            labels[item],
            points[item],
            xytext=(0, 4.5),
            textcoords="offset points",
            fontsize=6.5,
            color=INK,
            ha="center",
            va="bottom",
        )
        box = text.get_window_extent(renderer)
        covers = ((spots > [box.x0, box.y0]) & (spots < [box.x1, box.y1])).all(axis=1).any()
        outside = box.x0 < inside.x0 or box.x1 > inside.x1 or box.y1 > inside.y1
        if covers or outside or any(box.overlaps(other) for other in taken):
            text.remove()
        else:
            taken.append(box)


def draw_map(
    points: FloatArray,
    *,
    names: Sequence[str] | None = None,
    groups: Sequence[str] | IntArray | None = None,
    group_names: Sequence[str] | None = None,
    values: FloatArray | None = None,
    value_label: str = "",
    title: str = "",
    size: float | None = None,
) -> Figure:
    """Items as dots: with their names, coloured by group (with a legend) or by a value (with a colour bar)."""
    size = size or (6.0 if names is None else 9.5)
    with style():
        spread = np.ptp(points, axis=0) + 1e-12
        wide = 1.18 if values is not None or groups is not None else 1.0
        figure = new_figure(size * wide, size * float(np.clip(spread[1] / spread[0], 0.6, 1.1)) + 0.4)
        axes: Any = figure.subplots()
        _draw_dots(figure, axes, points, groups, group_names, values, value_label, large=names is not None)
        axes.set_title(title)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.grid(visible=False)
        axes.set_aspect("equal", adjustable="datalim")
        axes.margins(0.1 if names is not None else 0.04)
        for spine in axes.spines.values():
            spine.set_visible(False)
        if names is not None:
            figure.canvas.draw()  # sizes are now final
            figure.set_layout_engine("none")
            write_names(axes, points, names)
    return figure


def _draw_dots(
    figure: Figure,
    axes: Any,
    points: FloatArray,
    groups: Sequence[str] | IntArray | None,
    group_names: Sequence[str] | None,
    values: FloatArray | None,
    value_label: str,
    large: bool,
) -> None:
    dot = 20.0 if large else float(np.clip(360 / len(points) ** 0.5, 3, 26))
    if values is not None:
        drawn = axes.scatter(*points.T, c=values, s=dot, cmap="viridis", linewidths=0, zorder=3)
        bar = figure.colorbar(drawn, ax=axes, shrink=0.5, pad=0.02, label=value_label)
        bar.outline.set_visible(False)
    elif groups is not None:
        array = np.asarray(groups)
        for place, group in enumerate(np.unique(array)):
            colour = _group_colour(place, len(np.unique(array)))
            label = str(group) if group_names is None else group_names[place]
            rows = array == group
            axes.scatter(*points[rows].T, color=colour, s=dot, linewidths=0, alpha=0.85, label=label, zorder=3)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), markerscale=max(1.0, 5 / dot**0.5))
    else:
        axes.scatter(*points.T, color=COLOURS[0] if large else GREY, s=dot, linewidths=0, zorder=3)


def _group_colour(place: int, n_groups: int) -> Any:
    if n_groups <= len(COLOURS):
        return COLOURS[place]
    import matplotlib as mpl

    return mpl.colormaps["tab20"](place % 20)
