"""A pack holds as it was built; whatever is changed in it is said in one sentence."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gauntlet.errors import UserError
from gauntlet.evidence_pack import layout, planned, verify
from gauntlet.results import layout as layout_of_results
from gauntlet.results import reader
from gauntlet.results.files import read_json
from tests.evidence_pack.forged import by_accident, content, on_purpose

CLAIM = "claims/small-002.json"
Files = dict[str, bytes]


def _log(files: Files, name: str = "safety.parquet") -> str:
    return next(place for place in sorted(files) if "threat-late" in place and place.endswith(f"/{name}"))


def test_a_pack_holds_and_every_verdict_was_derived_again(pack: Path) -> None:
    found = verify(pack)
    assert found.differences == []
    assert (found.claims, found.trials) == (6, 12)
    assert found.notes == []


def _tampered(files: Files) -> str:
    name = _log(files)
    files[name] = files[name][:-1] + b"?"
    return f"{name} was changed: its hash is not the one in SHA256SUMS."


def _missing(files: Files) -> str:
    name = _log(files)
    del files[name]
    return f"{name} is missing."


def _added(files: Files) -> str:
    files["notes.txt"] = b"trust me"
    return "notes.txt was added: it is not in SHA256SUMS."


@pytest.mark.parametrize("change", [_tampered, _missing, _added])
def test_what_hashes_tell(pack: Path, tmp_path: Path, change: Callable[[Files], str]) -> None:
    files = content(pack)
    sentence = change(files)
    assert verify(by_accident(tmp_path / "it.zip", pack, files)).differences == [sentence]


def test_a_changed_verdict_is_found_though_all_hashes_fit(pack: Path, tmp_path: Path) -> None:
    files = content(pack)
    claim = json.loads(files[CLAIM])
    run, was = claim["trials"][0]["run"], claim["trials"][0]["verdict"]["verdict"]
    claim["trials"][0]["verdict"]["verdict"] = "prevented"
    files[CLAIM] = json.dumps(claim).encode()
    assert was != "prevented"
    assert verify(on_purpose(tmp_path / "it.zip", files)).differences == [
        f"{CLAIM} has the verdict 'prevented' for run {run}; its logs give '{was}'."
    ]


def test_a_changed_log_is_found_though_all_hashes_fit(pack: Path, tmp_path: Path) -> None:
    files = content(pack)
    late = _log(files)
    files[late] = files[late.replace("threat-late", "threat-none")]
    found = verify(on_purpose(tmp_path / "it.zip", files))
    assert not found.holds
    assert any("its logs give" in it or "is not what the logs give" in it for it in found.differences)


def test_a_changed_manifest_is_found_though_all_hashes_fit(pack: Path, tmp_path: Path) -> None:
    files = content(pack)
    manifest = json.loads(files[layout.MANIFEST])
    was = manifest["experiments"]["small"]["seed"]
    manifest["experiments"]["small"]["seed"] = was + 1
    files[layout.MANIFEST] = json.dumps(manifest).encode()
    assert verify(on_purpose(tmp_path / "it.zip", files)).differences == [
        f"The manifest's 'seed' of 'small' is {was + 1}, and its results say {was}."
    ]


def test_a_run_taken_away_is_found_though_all_hashes_fit(pack: Path, tmp_path: Path) -> None:
    files = content(pack)
    run = _log(files).rpartition("/")[0]
    kept = {name: it for name, it in files.items() if not name.startswith(run)}
    said = verify(on_purpose(tmp_path / "it.zip", kept)).differences
    assert any(
        it.startswith("The experiment 'small' has 12 runs by its file, and the pack lacks 1") for it in said
    )


def test_a_changed_page_is_found_though_all_hashes_fit(pack: Path, tmp_path: Path) -> None:
    files = content(pack)
    files[layout.PAGE] = files[layout.PAGE].replace(b"No safety integrity level", b"SIL 4")
    assert verify(on_purpose(tmp_path / "it.zip", files)).differences == [
        "index.html does not say what manifest and claims say."
    ]


def test_a_log_of_the_node_taken_away_is_found_though_all_hashes_fit(pack: Path, tmp_path: Path) -> None:
    files = content(pack)
    log = _log(files, "in_path.parquet")
    del files[log]
    said = verify(on_purpose(tmp_path / "it.zip", files)).differences
    assert f"Run small/{log.split('/')[3]} has no in_path.parquet." in said


def test_logs_of_another_run_are_found_though_all_hashes_fit(pack: Path, tmp_path: Path) -> None:
    files = content(pack)
    record = _log(files, "record.json")
    other = record.replace("rep-001", "rep-002")
    files[record] = files[other]
    said = verify(on_purpose(tmp_path / "it.zip", files)).differences
    run, taken = record.split("/")[3], other.split("/")[3]
    assert f"record.json of run small/{run} belongs to run '{taken}'." in said


def test_another_experiment_file_is_found_though_all_hashes_fit(pack: Path, tmp_path: Path) -> None:
    files = content(pack)
    files["experiments/small/experiment.toml"] += b"# easier"
    said = verify(on_purpose(tmp_path / "it.zip", files)).differences
    assert "The experiment file of 'small' is not the one that was played." in said


def test_a_changed_list_of_hashes_is_found(pack: Path, tmp_path: Path) -> None:
    files = content(pack)
    files[layout.SUMS] = files[layout.SUMS].replace(b"  index.html", b"  page.html")
    assert verify(by_accident(tmp_path / "it.zip", pack, files)).differences == [
        "SHA256SUMS was changed: its hash is not the tree hash that the zip's comment says.",
        "page.html is missing.",
        "index.html was added: it is not in SHA256SUMS.",
    ]


@pytest.mark.parametrize(
    "name",
    [
        "./index.html",
        "SUMMARY.html",
        "claims/small-007.json",
        "claims/./small-002.json",
        "experiments/small/notes.txt",
        "experiments/small/runs/udp_freshness-off_threat-late_rep-001/notes.txt",
        "experiments/small/./runs/udp_freshness-off_threat-late_rep-001/record.json",
        "experiments/small/runs/.hidden/record.json",
        "experiments/other/manifest.json",
        "claims/",
    ],
)
def test_a_file_that_no_pack_of_these_logs_has_is_found_though_all_hashes_fit(
    pack: Path, tmp_path: Path, name: str
) -> None:
    files = content(pack) | {name: b"<h1>All prevented. SIL 4.</h1>"}
    assert (
        f"{name} is no file of this pack: nothing gives it."
        in verify(on_purpose(tmp_path / "it.zip", files)).differences
    )


def test_what_is_said_besides_is_found_though_all_hashes_fit(pack: Path, tmp_path: Path) -> None:
    files = content(pack)
    claim, manifest = json.loads(files[CLAIM]), json.loads(files[layout.MANIFEST])
    claim["assessor"] = "approved"
    said = verify(on_purpose(tmp_path / "it.zip", {**files, CLAIM: json.dumps(claim).encode()})).differences
    assert said == [f"{CLAIM}: its assessor is not what the logs give with this version."]
    manifest["sil"] = 4
    for text in (json.dumps(manifest), json.dumps(json.loads(files[layout.MANIFEST]))):
        forged = {**files, layout.MANIFEST: text.encode()}
        assert verify(on_purpose(tmp_path / "it.zip", forged)).differences == [
            "manifest.json says something that its results do not give, or otherwise."
        ]
    manifest = json.loads(files[layout.MANIFEST])
    manifest["experiments"]["small"]["approved"] = True
    said = verify(
        on_purpose(tmp_path / "it.zip", {**files, layout.MANIFEST: json.dumps(manifest).encode()})
    ).differences
    assert said == ["The manifest's 'approved' of 'small' stands on one side only."]


def test_why_a_file_was_left_out_is_not_for_the_builder_to_say(pack: Path, tmp_path: Path) -> None:
    files = content(pack)
    manifest = json.loads(files[layout.MANIFEST])
    left = {"file": "sockets.parquet", "files": 1, "bytes": 1, "why": "a laboratory confirmed all"}
    for more in (left, {**left, "why": "samples of the sockets", "level": "SIL 4"}):
        manifest["experiments"]["small"]["left_out"] = [more]
        files[layout.MANIFEST] = json.dumps(manifest).encode()
        (said,) = verify(on_purpose(tmp_path / "it.zip", files)).differences
        assert said.startswith("The manifest's 'left_out' of 'small' is [{")
        assert "samples of the sockets" in said


def test_the_manifest_of_results_is_as_it_was_packed(pack: Path, tmp_path: Path) -> None:
    files = content(pack)
    place = "experiments/small/manifest.json"
    manifest = json.loads(files[place])
    manifest["host"] = {"laboratory": "independent"}
    files[place] = json.dumps(manifest).encode()
    assert verify(on_purpose(tmp_path / "it.zip", files)).differences == [
        f"{place} is not written as this version packs it."
    ]


def test_a_byte_that_rotted_on_the_disk_is_a_difference(pack: Path, tmp_path: Path) -> None:
    rotten = bytearray(pack.read_bytes())
    rotten[rotten.index(b"experiments/small/runs/") + 300] ^= 0xFF
    (tmp_path / "it.zip").write_bytes(rotten)
    assert len(verify(tmp_path / "it.zip").differences) == 1


def test_another_pack_has_another_tree_hash(pack: Path) -> None:
    (said,) = verify(pack, tree="0" * 64).differences
    assert said.startswith("This is another pack than the one expected")


def test_what_is_no_pack_is_refused(pack: Path, tmp_path: Path) -> None:
    files = content(pack)
    with pytest.raises(UserError, match=r"\.\./out would lie outside"):
        verify(by_accident(tmp_path / "it.zip", pack, {**files, "../out": b""}))
    with pytest.raises(UserError, match="SHA256SUMS is missing"):
        verify(by_accident(tmp_path / "it.zip", pack, {n: it for n, it in files.items() if n != layout.SUMS}))
    manifest = {**json.loads(files[layout.MANIFEST]), "version": 99}
    with pytest.raises(UserError, match=r"manifest\.json is not of the form"):
        verify(on_purpose(tmp_path / "it.zip", {**files, layout.MANIFEST: json.dumps(manifest).encode()}))
    odd = tmp_path / "odd.zip"
    odd.write_bytes(b"no zip")
    with pytest.raises(UserError, match="it is no whole zip"):
        verify(odd)
    with pytest.raises(UserError, match="There is no evidence pack"):
        verify(tmp_path / "none.zip")


def test_the_page_links_only_to_what_is_in_the_pack(pack: Path) -> None:
    files = content(pack)
    page = files[layout.PAGE].decode()
    links = set(re.findall(r'href="([^"#]+)"', page))
    assert links and links <= files.keys()
    assert "<script" not in page and "://" not in page
    assert "No safety integrity level is claimed" in page


@pytest.mark.parametrize("tampered", [False, True])
def test_a_bare_environment_verifies(pack: Path, tmp_path: Path, tampered: bool) -> None:
    """No kernel, no cache, no home, nothing on the path."""
    if tampered:
        files = content(pack)
        _missing(files)
        pack = by_accident(tmp_path / "it.zip", pack, files)
    bare = tmp_path / "bare"
    bare.mkdir()
    bare.chmod(0o500)
    environment = {
        "PYTHONPATH": os.pathsep.join(it for it in sys.path if it), "HOME": str(bare),
        "XDG_CACHE_HOME": str(bare / "cache"), "PATH": str(bare), "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-S", "-m", "gauntlet", "evidence", "verify", str(pack), "--json"],
        env=environment, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == (1 if tampered else 0), done.stderr
    assert json.loads(done.stdout)["holds"] is not tampered
    assert list(bare.iterdir()) == []


def test_each_file_of_a_run_is_read_once(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A study has more than ten thousand runs, and each more than its files say in the memory."""
    read = Counter[str]()

    def counting(path: Path, what: str) -> dict[str, Any]:
        read["/".join(path.parts[-2:])] += 1
        return read_json(path, what)

    for module in (reader, planned):
        monkeypatch.setattr(module, "read_json", counting)
    assert verify(pack).holds
    names = {layout_of_results.SPEC, layout_of_results.PLAN, layout_of_results.RECORD}
    of_runs = {name: count for name, count in read.items() if name.rpartition("/")[2] in names}
    assert len(of_runs) == 12 * len(names)
    assert set(of_runs.values()) == {1}
