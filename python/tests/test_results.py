"""Results: the command's, as objects, as tables, as pictures."""

from __future__ import annotations

import json

import pytest
from conftest import SMALL, figures, ran

import shingle


@pytest.mark.parametrize(
    ("args", "call"),
    [
        (["-p", "lru,most,sac", "-c", "1%,5%"], {"policies": ["lru", "most", "sac"], "cache": ["1%", "5%"]}),
        (["--pacing", "trace", "--speed", "2.5"], {"pacing": "trace", "speed": 2.5}),
        (
            ["-p", "sac", "--set", "sac.rule2=off", "--set", "drive.pb=real", "--target", "hits=20%"],
            {"policies": "sac", "set": {"sac.rule2": False, "drive.pb": "real"}, "targets": "hits=20%"},
        ),
        (["--as", "store", "--depth", "4", "-p", "lru"], {"executor": "store", "depth": 4, "policies": "lru"}),
    ],
)
def test_a_comparison_is_that_of_the_command(command, args, call):
    ours = shingle.compare(SMALL, **call).to_json()
    assert figures(ours) == figures(ran(command, "compare", SMALL, *args, "--json", "-"))


def test_a_run_is_that_of_the_command(command):
    ours = shingle.run(SMALL, policy="most", cache="2%", drain=True, mode="w").to_json()
    theirs = ran(command, "run", SMALL, "-p", "most", "-c", "2%", "--drain", "--mode", "w", "--json", "-")
    assert figures(ours) == figures(theirs)


def test_a_trace_that_stays_in_its_file_gives_the_same(small, tmp_path, caplog):
    path = tmp_path / "small.shingle"
    shingle.trace.convert(small, path)
    with caplog.at_level("INFO", logger="shingle"):
        streamed = shingle.compare(path, policies=["lru", "sac"], memory="64K")
    assert any("stays in its file" in record.message for record in caplog.records)
    held = shingle.compare(path, policies=["lru", "sac"])
    assert figures(streamed.to_json()) == figures(held.to_json())


def test_requests_in_memory_are_as_good_as_a_name(small):
    held, named = shingle.compare(small, policies="lru"), shingle.compare(SMALL, policies="lru")
    assert figures(held.to_json()) == figures(named.to_json())
    shaped = shingle.compare(small, policies="lru", requests=5000, remap=True)
    named = shingle.compare(SMALL, policies="lru", requests=5000, remap=True)
    assert figures(shaped.to_json()) == figures(named.to_json())


def test_results_are_plain_objects(small):
    result = shingle.compare(small, policies=["lru", "sac"])
    assert result.to_dict() == json.loads(result.to_json())
    assert [run["policy"] for run in result.runs] == ["lru", "sac"]
    assert result.trace["requests"] == len(small) == 20_000
    assert len(result) == 2 and result.verdicts and "sac" in repr(result)
    assert "<td>sac</td>" in result._repr_html_()


def test_results_are_arrow_tables(small):
    pyarrow = pytest.importorskip("pyarrow")
    result = shingle.compare(small, policies=["lru", "none"])
    table = pyarrow.table(result)
    assert table["policy"].to_pylist() == ["lru", "none"]
    assert table["all.drive_io.rmw"].to_pylist() == [run["all"]["drive_io"]["rmw"] for run in result.runs]
    assert table.schema.field("all.drive_io.rmw").type == pyarrow.uint64()
    assert table.schema.field("all.wa_host").type == pyarrow.float64()
    assert table["latency.p99_us"].to_pylist() == [run["latency"]["p99_us"] for run in result.runs]
    assert len(result.table()) == 2 and "policy" in result.table().columns


@pytest.mark.parametrize("reader", ["polars", "pandas", "pyarrow", "duckdb"])
def test_a_table_is_taken_by(reader, small):
    """Rows, names and values of a result, and of what went over time, in each of them."""
    module = pytest.importorskip(reader)
    result = shingle.run(small, policy="lru")

    def rows(taken):
        if reader == "polars":
            return module.DataFrame(taken).rows(named=True)
        if reader == "pandas":
            return module.DataFrame.from_arrow(taken).to_dict("records")
        if reader == "pyarrow":
            return module.table(taken).to_pylist()
        found = module.sql("select * from taken")
        return [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]

    (line,), run = rows(result), result.runs[0]
    assert list(line) == result.table().columns
    assert line["policy"] == "lru"
    assert line["all.drive_io.rmw"] == run["all"]["drive_io"]["rmw"] > 0
    assert line["all.hits.ratio"] == run["all"]["hits"]["ratio"] > 0
    assert [row["at_seconds"] for row in rows(result.course())] == [at["at_seconds"] for at in run["series"]]
    if reader in ("polars", "pandas"):
        assert getattr(result, f"to_{reader}")().shape == (1, len(line))


def test_the_course_of_a_run_is_a_table(small):
    pyarrow = pytest.importorskip("pyarrow")
    result = shingle.run(small, policy="lru")
    course, series = pyarrow.table(result.course()), result.runs[0]["series"]
    assert course["at_seconds"].to_pylist() == [point["at_seconds"] for point in series]
    assert course.column_names == list(series[0])
    with pytest.raises(IndexError, match="no run 1"):
        result.course(1)


def test_files_are_written_as_their_names_end(small, tmp_path, command):
    result = shingle.compare(small, policies="lru")
    for end in ("json", "csv", "parquet", "html"):
        result.save(tmp_path / f"result.{end}")
    assert (tmp_path / "result.json").read_text() == result.to_json()
    assert (tmp_path / "result.html").read_text() == result.to_html()
    page = result.to_html()
    assert page.startswith("<!DOCTYPE html>") and "shingle.compare(trace, policies=" in page
    ran(command, "compare", SMALL, "-p", "lru", "--csv", str(tmp_path / "theirs.csv"))
    heads = [(tmp_path / name).read_text().splitlines()[0] for name in ("result.csv", "theirs.csv")]
    assert heads[0] == heads[1]
    with pytest.raises(shingle.UsageError, match="end the name in"):
        result.save(tmp_path / "result.txt")


def test_pictures_have_the_titles_and_colours_of_the_page(small):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.colors import to_hex

    result = shingle.compare(small, policies=["lru", "sac"], cache=["1%", "5%"], course=True)
    page = result.to_html()
    lines, parts = shingle._native.colours()
    assert {"io-time", "response-times", "hits-by-cache", "rmws-over-time", "heat-host"} <= set(result.pictures)
    for name in result.pictures:
        ax = result.plot(name)
        assert f'id="{name}"' in page
        assert ax.get_title() in page
        pyplot.close(ax.figure)
    ax = result.plot("hits-by-cache")
    assert [to_hex(line.get_color()) for line in ax.get_lines()] == lines[:2]
    _, labels = ax.get_legend_handles_labels()
    assert set(labels) == {"lru", "sac"}
    _, ax = pyplot.subplots()
    assert result.plot(ax=ax) is ax
    assert to_hex(ax.containers[0][0].get_facecolor()) == parts[0]
    pyplot.close("all")
    with pytest.raises(shingle.UsageError, match="no picture `io-tme`; there are io-time"):
        result.plot("io-tme")
