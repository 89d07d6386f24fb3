"""What documents show runs: the notebook, and the code of docs/python.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_the_notebook_runs(tmp_path, monkeypatch):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel"), pytest.importorskip("polars"), pytest.importorskip("matplotlib")
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    path = ROOT / "examples" / "notebook" / "from_a_trace_to_a_figure.ipynb"
    notebook = nbformat.read(path, as_version=4)
    kept = [cell for cell in notebook.cells if cell.cell_type == "code" and (cell.outputs or cell.execution_count)]
    assert not kept, "the notebook is kept without outputs"
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    figures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert len(figures) == 3
    assert not [output for output in outputs if output.output_type == "error"]


def test_the_code_of_the_document_runs(tmp_path, monkeypatch):
    pytest.importorskip("polars"), pytest.importorskip("pyarrow"), pytest.importorskip("matplotlib").use("Agg")
    text = (ROOT / "docs" / "python.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert len(blocks) > 4
    monkeypatch.chdir(tmp_path)
    import shingle

    shingle.trace.convert("synth:mixed?requests=3k", "trace.csv.gz")
    here: dict = {"__name__": "document"}
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), here)
