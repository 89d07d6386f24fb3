"""What a run, a comparison or a sweep came to."""

from __future__ import annotations

import html
import json
import os
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ._native import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Result:
    """A result in the format ``shingle.result/1`` (docs/results.md), as objects, as a table, as pictures.

    It is an Arrow table with a row for each run: ``polars.DataFrame(result)``, ``pyarrow.table(result)``,
    ``pandas.DataFrame.from_arrow(result)`` and DuckDB take it without a copy. Columns have the names of the CSV,
    such as ``all.hits.ratio``; the end of a name is the unit.
    """

    def __init__(self, report: Any) -> None:
        self._report = report

    def to_json(self) -> str:
        """What ``--json`` writes."""
        return self._report.json()

    def to_dict(self) -> dict[str, Any]:
        """The same as plain objects."""
        return json.loads(self.to_json())

    @cached_property
    def _data(self) -> dict[str, Any]:
        return self.to_dict()

    @property
    def runs(self) -> list[dict[str, Any]]:
        """One entry for each configuration: ``runs`` of the JSON."""
        return self._data["runs"]

    @property
    def trace(self) -> dict[str, Any]:
        """The trace, after filters: its name, hash and counts."""
        return self._data["trace"]

    @property
    def targets(self) -> list[dict[str, Any]]:
        """The smallest caches that meet the ``targets`` of ``compare``."""
        return self._data.get("targets", [])

    @property
    def sweep(self) -> dict[str, Any] | None:
        """What was varied, and where in that each run stands; of sweeps."""
        return self._data.get("sweep")

    def _said(self, kind: str) -> list[str]:
        return [said["text"] for said in self._data["said"] if said["kind"] == kind]

    @property
    def verdicts(self) -> list[str]:
        """Which run is best, by how much, and why."""
        return self._said("verdict")

    @property
    def warnings(self) -> list[str]:
        """Why figures are to be taken with care."""
        return self._said("warning")

    @property
    def notes(self) -> list[str]:
        """How runs were set up: what was scaled or left out."""
        return self._said("note")

    def table(self) -> Table:
        """A row for each run and a column for each figure, as Arrow."""
        return self._report.table()

    def course(self, run: int = 0) -> Table:
        """How a run went over time (``series`` of the JSON), as Arrow: recorded by ``run``, and with
        ``course=True``."""
        return self._report.course(run)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.table().__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> Any:
        """The table as a pandas DataFrame. Needs pandas and pyarrow."""
        import pyarrow

        return pyarrow.table(self.table()).to_pandas()

    def to_polars(self) -> Any:
        """The table as a polars DataFrame. Needs polars."""
        import polars

        return polars.DataFrame(self.table())

    def to_html(self) -> str:
        """The page that ``--html`` writes: one file that works offline."""
        return self._report.html()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it into a file, which is JSON, CSV, Parquet or a page as its name ends: .json, .csv, .parquet
        or .html."""
        self._report.save(path)

    @property
    def pictures(self) -> list[str]:
        """The names of the pictures that ``plot`` can draw."""
        return [picture["name"] for picture in self._drawn]

    @cached_property
    def _drawn(self) -> list[dict[str, Any]]:
        return json.loads(self._report.pictures())

    def plot(self, picture: str = "io-time", ax: Axes | None = None) -> Axes:
        """Draws a picture of the page of ``--html`` with matplotlib, with its titles, names and colours.

        Args:
            picture: one of ``pictures``: ``io-time``, ``response-times``, and where there are several cache
                sizes ``hits-by-cache`` and others; what goes over time needs ``course=True``.
            ax: where to draw; without, on new axes.

        Returns:
            The axes.
        """
        from ._plots import draw

        return draw(self._drawn, picture, ax)

    def __len__(self) -> int:
        return len(self.runs)

    def __repr__(self) -> str:
        first = self.verdicts[0] if self.verdicts else f"{len(self)} runs"
        return f"<shingle.Result of {self.trace['name']}: {first}>"

    def _repr_html_(self) -> str:
        columns = {
            "policy": lambda run: run["policy"],
            "drive": lambda run: run["drive"],
            "cache (MiB)": lambda run: f"{run['cache_blocks'] * 4096 / 2**20:,.1f}",
            "hits": lambda run: _percent(run["all"]["hits"]["ratio"]),
            "RMWs": lambda run: f"{run['all']['drive_io']['rmw']:,}",
            "done (s)": lambda run: f"{run['all']['seconds']['total']:,.1f}",
            "left (s)": lambda run: f"{run['left']['seconds']:,.1f}",
            "99 % (ms)": lambda run: f"{run['latency']['p99_us'] / 1000:,.2f}",
        }
        head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
        rows = [
            "<tr>" + "".join(f"<td>{html.escape(str(of(run)))}</td>" for of in columns.values()) + "</tr>"
            for run in self.runs[:50]
        ]
        more = f"<p>and {len(self) - 50} more</p>" if len(self) > 50 else ""
        said = "".join(f"<p>{html.escape(text)}</p>" for text in self.verdicts + self.warnings)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>{more}{said}"


def _percent(ratio: float | None) -> str:
    return "" if ratio is None else f"{100 * ratio:.1f} %"
