"""What is in a pack and has not the shape that is read is told in one sentence."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gauntlet.errors import UserError
from gauntlet.evidence_pack import layout, verify
from tests.evidence_pack.forged import content, on_purpose

Files = dict[str, bytes]
RUN = "experiments/small/runs/tcp-cubic_freshness-off_threat-late_rep-001"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda it: it["experiments"].update(small=[]), "experiments.small: [] is not a table"),
        (lambda it: it["experiments"].update({"../out": it["experiments"]["small"]}), "experiments.../out"),
        (lambda it: it["experiments"]["small"].update(left_out={}), "experiments.small.left_out"),
        (lambda it: it.update(claims=True), "claims: True is not a whole number"),
        (lambda it: it.update(made_with={"gauntlet": "0.1.0"}), "made_with: the key 'code' is missing"),
    ],
)
def test_a_manifest_of_another_shape_is_refused(
    pack: Path, tmp_path: Path, change: Callable[[Any], None], said: str
) -> None:
    files = content(pack)
    manifest = json.loads(files[layout.MANIFEST])
    change(manifest)
    files[layout.MANIFEST] = json.dumps(manifest).encode()
    with pytest.raises(UserError) as refused:
        verify(on_purpose(tmp_path / "it.zip", files))
    assert f"{layout.MANIFEST} is not of the form that is read: {said}" in str(refused.value)


@pytest.mark.parametrize("text", [b"[]", b"1", b"{", b"[" * 100_000])
def test_a_manifest_that_is_none_is_refused(pack: Path, tmp_path: Path, text: bytes) -> None:
    with pytest.raises(UserError, match=r"manifest\.json"):
        verify(on_purpose(tmp_path / "it.zip", {**content(pack), layout.MANIFEST: text}))


@pytest.mark.parametrize(
    ("file", "change", "said"),
    [
        ("plan.json", lambda it: it.update(flows=[]), "have not the same flows"),
        ("plan.json", lambda it: it.update(in_path=3), "plan.json of run"),
        ("spec.json", lambda it: it.update(flows={}), "spec.json of run"),
        ("spec.json", lambda it: it.update(labels=[]), "spec.json of run"),
        ("record.json", lambda it: it.pop("guest"), "the key 'guest' is missing"),
        (
            "record.json",
            lambda it: it.update(in_path=[{"node": "threat", "rules": [1]}]),
            "record.json of run",
        ),
        ("record.json", lambda it: it["in_path"][0].update(rules=[]), "do not fit together"),
        ("certificate.json", lambda it: it.update(trusted="no"), "certificate.json of run"),
        ("certificate.json", lambda it: it.update(verdict="not checked"), "says trusted = True"),
    ],
)
def test_a_file_of_a_run_of_another_shape_is_a_difference(
    pack: Path, tmp_path: Path, file: str, change: Callable[[Any], None], said: str
) -> None:
    files = content(pack)
    value = json.loads(files[f"{RUN}/{file}"])
    change(value)
    _one_sentence(tmp_path, {**files, f"{RUN}/{file}": json.dumps(value).encode()}, said)


def _one_sentence(folder: Path, files: Files, said: str) -> None:
    found = verify(on_purpose(folder / "it.zip", files)).differences
    (underivable,) = [it for it in found if it.startswith("The verdicts of 'small' cannot be derived: ")]
    assert said in underivable
    assert "\n" not in underivable


@pytest.mark.parametrize("text", [b"[]", b"{", b"\xff"])
@pytest.mark.parametrize("file", ["spec.json", "plan.json", "record.json", "certificate.json", "key.json"])
def test_what_is_no_object_is_a_difference(pack: Path, tmp_path: Path, file: str, text: bytes) -> None:
    _one_sentence(tmp_path, {**content(pack), f"{RUN}/{file}": text}, f"{file}")


@pytest.mark.parametrize(
    ("file", "change", "said"),
    [
        ("safety.parquet", lambda it: it.drop_columns(["genuine"]), "no column genuine"),
        ("messages.parquet", lambda it: _as_text(it, "sent_ns"), "no column sent_ns"),
        ("in_path.parquet", lambda it: _without(it, "t_ns"), "has rows without t_ns"),
    ],
)
def test_a_table_of_another_shape_is_a_difference(
    pack: Path, tmp_path: Path, file: str, change: Callable[[pa.Table], pa.Table], said: str
) -> None:
    files = content(pack)
    (tmp_path / "was").write_bytes(files[f"{RUN}/{file}"])
    pq.write_table(change(pq.read_table(tmp_path / "was")), tmp_path / "is")
    _one_sentence(tmp_path, {**files, f"{RUN}/{file}": (tmp_path / "is").read_bytes()}, said)


def _as_text(table: pa.Table, name: str) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, table.column(name).cast(pa.string()))


def _without(table: pa.Table, name: str) -> pa.Table:
    place, none = table.column_names.index(name), pa.nulls(table.num_rows, pa.int64())
    return table.set_column(place, name, none)


def test_an_experiment_file_that_is_none_is_said(pack: Path, tmp_path: Path) -> None:
    files = {**content(pack), "experiments/small/experiment.toml": b"\xff\xfe = ["}
    found = verify(on_purpose(tmp_path / "it.zip", files))
    assert found.outcome == "does not hold"
