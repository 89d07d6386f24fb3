"""The pictures of the page, drawn by matplotlib."""

from __future__ import annotations

import math
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from ._calls import native
from ._errors import UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw(pictures: list[dict[str, Any]], name: str, ax: Axes | None) -> Axes:
    picture = next((picture for picture in pictures if picture["name"] == name), None)
    if picture is None:
        names = [picture["name"] for picture in pictures]
        names = [*get_close_matches(name, names), *names]
        raise UsageError(f"there is no picture `{name}`; there are {', '.join(dict.fromkeys(names))}")
    if ax is None:
        from matplotlib import pyplot

        _, ax = pyplot.subplots(figsize=(6.2, 3.3), layout="constrained")
    _KINDS[picture["kind"]](ax, picture)
    ax.set_title(picture["title"], fontsize="medium")
    return ax


def _finite(value: float | None) -> float:
    return math.nan if value is None else value


def _rows(ax: Axes, picture: dict[str, Any]) -> None:
    _, colours = native.colours()
    names, places = picture["names"], range(len(picture["names"]))
    left = [0.0] * len(names)
    for nth, (series, values) in enumerate(picture["series"]):
        values = [value if value is not None else 0.0 for value in values]
        ax.barh(places, values, left=left, label=series, color=colours[nth % len(colours)], height=0.7)
        left = [so_far + value for so_far, value in zip(left, values, strict=True)]
    ax.set_yticks(places, names)
    ax.invert_yaxis()
    ax.set_xlabel(picture["x_label"])
    ax.legend(fontsize="small")


def _steps(ax: Axes, picture: dict[str, Any]) -> None:
    colours, _ = native.colours()
    places = range(len(picture["places"]))
    highest = []
    for nth, (series, values) in enumerate(picture["series"]):
        mean = [_finite(value[0]) for value in values]
        low = [max(0.0, m - _finite(value[1])) for m, value in zip(mean, values, strict=True)]
        high = [max(0.0, _finite(value[2]) - m) for m, value in zip(mean, values, strict=True)]
        ax.errorbar(places, mean, yerr=[low, high], label=series, marker="o", color=colours[nth % len(colours)])
        highest += mean
    _upward(ax, highest)
    ax.set_xticks(places, picture["places"])
    ax.legend(fontsize="small")


def _upward(ax: Axes, values: list[float]) -> None:
    """Logarithmic where values differ much, as on the page."""
    positive = [value for value in values if value > 0]
    if positive and max(positive) > 100 * min(positive):
        ax.set_yscale("log")
    else:
        ax.set_ylim(bottom=0)


def _lines(ax: Axes, picture: dict[str, Any], marker: str) -> None:
    colours, _ = native.colours()
    for nth, (series, points) in enumerate(picture["series"]):
        xs, ys = [_finite(x) for x, _ in points], [_finite(y) for _, y in points]
        ax.plot(xs, ys, label=series, marker=marker, markersize=3, color=colours[nth % len(colours)])
    ax.set_xlabel(picture["x_label"])
    ax.set_ylim(bottom=0)
    ax.legend(fontsize="small")


def _course(ax: Axes, picture: dict[str, Any]) -> None:
    _lines(ax, picture, "")


def _decades(ax: Axes, picture: dict[str, Any]) -> None:
    _lines(ax, picture, "o")
    ax.set_xscale("log")


def _dots(ax: Axes, picture: dict[str, Any]) -> None:
    colours, _ = native.colours()
    xs, ys = zip(*picture["dots"], strict=True) if picture["dots"] else ((), ())
    ax.plot(xs, ys, ".", color=colours[0])
    ax.set_xlabel(picture["x_label"])
    ax.set_ylabel(picture["y_label"])


def _heat(ax: Axes, picture: dict[str, Any]) -> None:
    colours, _ = native.colours()
    from matplotlib.colors import LinearSegmentedColormap, SymLogNorm

    rows = picture["rows"]
    shades = LinearSegmentedColormap.from_list("shingle", ["#ffffff00", colours[0]])
    cells = [list(row) for row in zip(*picture["columns"], strict=True)]
    most = picture["darkest"] or max((max(row, default=0) for row in cells), default=0)
    extent = (0, picture["x_end"], 0, len(rows))
    norm = SymLogNorm(linthresh=1, vmin=0, vmax=max(most, 1))
    shown = ax.imshow(cells, origin="lower", aspect="auto", extent=extent, cmap=shades, norm=norm)
    every = max(1, len(rows) // 6)
    ax.set_yticks([at + 0.5 for at in range(0, len(rows), every)], rows[::every])
    ax.set_xlabel(picture["x_label"])
    ax.figure.colorbar(shown, ax=ax, label=picture["unit"])


_KINDS = {
    "rows": _rows,
    "steps": _steps,
    "course": _course,
    "decades": _decades,
    "dots": _dots,
    "heat": _heat,
}
