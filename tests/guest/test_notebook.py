"""The notebook of the guide: every cell runs, in order, and what it shows is there."""

import ast
import json
from pathlib import Path
from typing import Any

import altair as alt
import duckdb
import polars as pl
import pytest

import gauntlet

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = json.loads((ROOT / "docs" / "guide" / "notebook.ipynb").read_text(encoding="utf-8"))
CODE = ["".join(cell["source"]) for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]


def executed(cell: str, names: dict[str, Any]) -> Any:
    """Run a cell as a notebook does; its last expression is what it shows."""
    tree = ast.parse(cell)
    last = tree.body[-1]
    if not isinstance(last, ast.Expr):
        exec(compile(tree, "cell", "exec"), names)
        return None
    exec(compile(ast.Module(tree.body[:-1], []), "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def test_no_output_is_kept() -> None:
    """What a machine once showed would stand there after it is no longer true."""
    for cell in NOTEBOOK["cells"]:
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)


def test_every_cell_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    shown = [executed(cell, names) for cell in CODE]
    frames = [it for it in shown if isinstance(it, pl.DataFrame)]
    assert [frame.height for frame in frames] == [12, 4, 6, 4]
    assert all(frame.null_count().sum_horizontal().item() == 0 for frame in frames)
    means = {(row["protocol"], row["loss"]): row for row in frames[1].to_dicts()}
    assert means["tcp-cubic", 0.02]["download_time_s"] > means["tcp-cubic", 0.0]["download_time_s"] > 0.3
    assert all(row["completed"] == row["flows"] == 3 for row in means.values())
    charts = [it for it in shown if isinstance(it, alt.TopLevelMixin)]
    assert ["$schema" in chart.to_dict() for chart in charts] == [True] * 3
    (relation,) = [it for it in shown if isinstance(it, duckdb.DuckDBPyRelation)]
    packets = relation.fetchall()
    assert {row[:2] for row in packets} == set(means)
    carried = {row[2]: row[4] for row in packets if row[:2] == ("tcp-cubic", 0.0)}
    assert max(carried.values()) > 300_000, "a direction carries the file"
    again = gauntlet.run(tmp_path / "results" / "notebook" / "experiment.toml", capture=True)
    assert again.runs.arrow.equals(names["results"].runs.arrow)
