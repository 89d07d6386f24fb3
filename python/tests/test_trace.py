"""Traces in and out."""

from __future__ import annotations

import pickle

import pytest
from conftest import SMALL, ran, refused

import shingle
from shingle import trace

FOUR = [(0, "W", 0, 4096), (1_000, "R", 8192, 512), (2_500, "T", 0, 4096), (3_000, "F", 0, 0)]


def test_requests_are_tuples():
    made = trace.from_requests(FOUR, name="four")
    assert (len(made), made.name, list(made)) == (4, "four", FOUR)
    assert made[-1] == FOUR[-1] and made.end_bytes == 8704 and made.seconds == 3e-6
    with pytest.raises(IndexError, match="no request 4"):
        made[4]
    with pytest.raises(shingle.OptionTypeError, match="request 2"):
        trace.from_requests([FOUR[0], (1, "R", "x", 1)])
    with pytest.raises(shingle.DataError, match="request 1: R, W, T or F is wanted"):
        trace.from_requests([(0, "Q", 0, 1)])
    with pytest.raises(shingle.DataError, match="request 2: .* numbers from 0 on"):
        trace.from_requests([FOUR[0], (1, "R", -1, 1)])
    assert list(trace.open(made, requests=2)) == FOUR[:2]


def test_what_the_command_says_of_a_trace(command, small):
    import json

    assert trace.info(SMALL) == json.loads(ran(command, "trace", "info", SMALL, "--json", "-"))
    about = trace.info(small, requests=100)
    assert about["requests"]["read"] + about["requests"]["write"] == 100


@pytest.mark.parametrize("end", ["shingle", "csv", "csv.zst", "parquet"])
def test_files_hold_the_same_requests(small, tmp_path, end):
    path = tmp_path / f"trace.{end}"
    assert trace.convert(small, path) == []
    assert trace.open(path).hash == small.hash
    assert pickle.loads(pickle.dumps(small)).hash == small.hash


def test_tables_of_others_become_traces_and_back(small):
    pyarrow, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    assert trace.from_arrow(pyarrow.table(small)).hash == small.hash
    frame = polars.DataFrame(small)
    assert frame.columns == ["time_ns", "op", "offset_bytes", "size_bytes"]
    assert trace.from_arrow(frame).hash == small.hash
    # Other types and units of the same: a timestamp, categories, small integers, sectors.
    other = frame.head(1000).select(
        polars.col("time_ns").cast(polars.Datetime("ns")).alias("timestamp"),
        polars.col("op").cast(polars.Categorical),
        (polars.col("offset_bytes") // 512).cast(polars.UInt32).alias("offset_sectors"),
        polars.col("size_bytes").cast(polars.Int32),
    )
    assert trace.from_arrow(other).hash == shingle.trace.open(SMALL, requests=1000).hash
    result = shingle.compare(frame.head(5000), policies="lru")
    assert result.trace["requests"] == 5000 and result.trace["format"] is None


@pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow", "duckdb"])
def test_requests_go_out_and_come_in_by(library, small, tmp_path):
    """What another library filters or computes is a trace again, and the same as by the options."""
    module = pytest.importorskip(library)
    if library == "polars":
        table = module.DataFrame(small).filter(module.col("op") == "W")
    elif library == "pandas":
        frame = module.DataFrame.from_arrow(small)
        table = frame[frame["op"] == "W"]
    elif library == "pyarrow":
        whole = module.table(small)
        table = whole.filter(module.compute.field("op") == "W")
    else:
        table = module.sql("select * from small where op = 'W' order by time_ns")
    writes = trace.open(SMALL, mode="w")
    assert trace.from_arrow(table).hash == writes.hash
    assert trace.from_arrow(table, requests=100).hash == trace.open(SMALL, mode="w", requests=100).hash
    assert shingle.compare(table, policies="lru").trace["requests"] == len(writes)


def test_a_unit_is_not_guessed(command, tmp_path):
    """An address without a unit is refused, in a table and in a file of its rows alike, and with one it is read."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {"time_us": [0, 5], "op": ["R", "W"], "lba": [8, 16], "size_bytes": [4096, 512]}
    table = pyarrow.table(columns)
    with pytest.raises(shingle.DataError) as raised:
        trace.from_arrow(table, name="t.parquet")
    wanted = "the column lba does not say its unit: call it lba_bytes, lba_sectors (of 512 bytes), lba_blocks"
    assert wanted in str(raised.value)
    parquet.write_table(table, tmp_path / "t.parquet")
    code, line = refused(command, "compare", str(tmp_path / "t.parquet"))
    assert code == 1 and line.endswith(str(raised.value).removeprefix("t.parquet: "))
    for unit, bytes in [("bytes", 1), ("sectors", 512), ("blocks", 4096), ("kib", 1024)]:
        named = table.rename_columns(["time_us", "op", f"lba_{unit}", "size_bytes"])
        assert [request[2] for request in trace.from_arrow(named)] == [8 * bytes, 16 * bytes]


def test_a_wrong_table_says_what_is_wanted(small):
    pyarrow = pytest.importorskip("pyarrow")
    with pytest.raises(TypeError, match="__arrow_c_stream__ is wanted"):
        trace.from_arrow([1, 2])
    table = pyarrow.table(small)
    with pytest.raises(shingle.DataError, match="no column for the offset"):
        trace.from_arrow(table.drop_columns(["offset_bytes"]))
    floats = table.set_column(0, "time_ns", table["time_ns"].cast("float64"))
    with pytest.raises(shingle.DataError, match="time_ns is of type DOUBLE, and whole numbers"):
        trace.from_arrow(floats)
    times = pyarrow.array([5, None, 7])
    gap = pyarrow.table({"time_us": times, "op": ["R"] * 3, "offset_bytes": [0] * 3, "size_bytes": [512] * 3})
    with pytest.raises(shingle.DataError, match="request 2: the time is missing"):
        trace.from_arrow(gap)


def test_traces_are_mixed_as_the_command_mixes_them(command, small, tmp_path):
    out = tmp_path / "mix.shingle"
    ran(command, "trace", "mix", SMALL, SMALL, "--copies", "2", "--time-scale", "0.5", "-o", str(out))
    mixed = trace.mix([small, SMALL], copies=2, time_scale=0.5)
    assert mixed.hash == trace.open(out).hash and len(mixed) == 4 * len(small)
    with pytest.raises(shingle.OptionTypeError, match="a list of traces is wanted, and not 'synth:zipf'"):
        trace.mix("synth:zipf")


def test_workloads_are_made_with_their_parameters():
    made = trace.synth("zipf", requests=500, seed=3)
    assert made.hash == trace.open("synth:zipf?requests=500", seed=3).hash
    with pytest.raises(shingle.UsageError, match="there is no workload 'zipff'; built in are zipf"):
        trace.synth("zipff")
