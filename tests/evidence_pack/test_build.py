"""A pack leads from claim to hash, has the same bytes for the same results, and is small."""

import hashlib
import json
from pathlib import Path

import pytest

from gauntlet.errors import UserError
from gauntlet.evidence_pack import build, layout
from gauntlet.results.manifest import Manifest, Session
from tests.evidence_pack import forged
from tests.report import factory
from tests.report.factory import Campaign

CBR = Campaign(protocols=("tcp-cubic",), delays_s=(0.025,), losses=(0.0,), duration_s=4, repetitions=1)


def test_the_same_results_give_the_same_bytes(pack: Path, tmp_path: Path) -> None:
    """Another folder, machine and day: what differs between equal campaigns is not in the pack."""
    again = forged.results(tmp_path / "elsewhere")
    played = {"command": ["gauntlet"], "host": {"cores": 64}, "sessions": [Session(started="now")]}
    Manifest.read(again).model_copy(update=played).write(again)
    (again / "report.html").write_text("another page")
    assert build([again], tmp_path / "again.zip").pack.read_bytes() == pack.read_bytes()


def test_a_claim_leads_to_requirement_test_logs_and_hashes(pack: Path) -> None:
    files = forged.content(pack)
    claims = [json.loads(it) for name, it in files.items() if name.startswith("claims/")]
    late = next(it for it in claims if it["cell"]["threat"] == "late" and "TCP" in it["sentence"])
    assert late["sentence"] == (
        "Delay ('late') over TCP CUBIC, freshness check off: delivered late unnoticed in 2 of 2. N = 2. "
        "Unnoticed in 2 of 2 trials, so there is no bound 3/N."
    )
    needed = late["requirement"]
    assert (needed["threat"], needed["table_4"]["defences"]) == ("Delay", ["Time stamp", "Time-out"])
    assert (needed["on_paper"]["row"], needed["on_paper"]["d35"]["ticked"]) == ("tcp", True)
    assert late["test"]["threat"] == {"name": "late", "kind": "delay", "message": 3, "by": "2s"}
    assert [it["repetition"] for it in late["trials"]] == [1, 2]
    for trial in late["trials"]:
        assert {Path(it).name for it in trial["logs"]} == set(layout.RUN_FILES)
        for name, sha256 in trial["logs"].items():
            assert hashlib.sha256(files[name]).hexdigest() == sha256


def test_hashes_can_be_checked_without_gauntlet(pack: Path) -> None:
    files = forged.content(pack)
    lines = files.pop(layout.SUMS).decode().splitlines()
    assert lines == [f"{hashlib.sha256(files[name]).hexdigest()}  {name}" for name in sorted(files)]


def test_what_no_verdict_needs_is_left_out_and_told(tmp_path: Path) -> None:
    results = forged.results(tmp_path / "logs")
    run = next((results / "runs").iterdir())
    (run / "sockets.parquet").write_bytes(b"x" * 321)
    files = forged.content(build([results], tmp_path / "it.zip").pack)
    assert not [name for name in files if name.endswith("sockets.parquet")]
    left = json.loads(files[layout.MANIFEST])["experiments"]["small"]["left_out"]
    assert [(it["file"], it["files"], it["bytes"]) for it in left] == [("sockets.parquet", 1, 321)]
    assert b"sockets.parquet" in files[layout.PAGE]


def test_a_folder_of_a_study_is_one_pack_of_its_experiments_with_threats(tmp_path: Path) -> None:
    small = forged.results(tmp_path)
    study = tmp_path / "study"
    study.mkdir()
    small.rename(study / "small")
    other = forged.results(tmp_path / "more").rename(study / "other")
    Manifest.read(other).model_copy(update={"name": "other"}).write(other)
    factory.build(study / "cbr", tmp_path / "scratch", CBR)
    built = build([study], tmp_path / "study.zip")
    assert (built.experiments, built.claims, built.runs) == (["other", "small"], 12, 24)
    assert built.passed_over == [str(study / "cbr")]


def test_results_that_cannot_be_packed_are_refused(tmp_path: Path) -> None:
    out = tmp_path / "it.zip"
    with pytest.raises(UserError, match="has no results"):
        build([tmp_path], out)
    cbr = factory.build(tmp_path / "cbr", tmp_path / "scratch", CBR)
    with pytest.raises(UserError, match="about safety messages"):
        build([cbr], out)
    one, two = forged.results(tmp_path / "one"), forged.results(tmp_path / "two")
    with pytest.raises(UserError, match="results of an experiment 'small'; build a pack for each"):
        build([one, two], out)
    next((one / "runs").iterdir()).rename(tmp_path / "gone")
    with pytest.raises(UserError, match="has 11 of the 12 runs"):
        build([one], out)
    assert not out.exists()
