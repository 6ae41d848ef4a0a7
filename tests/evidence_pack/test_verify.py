"""A pack holds as it was built; whatever is changed in it is said in one sentence."""

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from gauntlet.errors import UserError
from gauntlet.evidence_pack import archive, build, layout, verify

LOGS = Path(__file__).parent / "small.zip"
"""The pack of `small.toml`; its results folder is what packs are built of here."""
CLAIM = "claims/small-002.json"
Files = dict[str, bytes]


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    with zipfile.ZipFile(LOGS) as packed:
        packed.extractall(folder)
    return folder / "experiments" / "small"


@pytest.fixture(scope="session")
def pack(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build([results], tmp_path_factory.mktemp("pack") / "small.zip").pack


def _files(pack: Path) -> Files:
    with zipfile.ZipFile(pack) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def _log(files: Files, name: str = "safety.parquet") -> str:
    return next(place for place in sorted(files) if "threat-late" in place and place.endswith(f"/{name}"))


def _hashed(pack: Path, files: Files) -> Path:
    """Write a pack whose hashes all fit, as somebody would who forges one."""
    files = {name: it for name, it in files.items() if name != layout.SUMS}
    archive.write(pack, files, {name: archive.sha256(it) for name, it in files.items()})
    return pack


def _raw(pack: Path, original: Path, files: Files) -> Path:
    """Write a pack whose list of hashes is the one from before."""
    with zipfile.ZipFile(original) as opened, zipfile.ZipFile(pack, "w") as made:
        for name, it in files.items():
            made.writestr(name, it)
        made.comment = opened.comment
    return pack


def test_a_pack_holds_and_every_verdict_was_derived_again(pack: Path) -> None:
    found = verify(pack)
    assert found.differences == []
    assert (found.claims, found.trials) == (6, 12)
    assert found.notes == []


def test_the_same_results_give_the_same_bytes(results: Path, pack: Path, tmp_path: Path) -> None:
    again = build([results.parent], tmp_path / "again.zip")
    assert again.pack.read_bytes() == pack.read_bytes()
    assert again.tree_sha256 == verify(pack).tree_sha256


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
    files = _files(pack)
    sentence = change(files)
    assert verify(_raw(tmp_path / "it.zip", pack, files)).differences == [sentence]


def test_a_changed_verdict_is_found_though_all_hashes_fit(pack: Path, tmp_path: Path) -> None:
    files = _files(pack)
    claim = json.loads(files[CLAIM])
    run, was = claim["trials"][0]["run"], claim["trials"][0]["verdict"]["verdict"]
    claim["trials"][0]["verdict"]["verdict"] = "prevented"
    files[CLAIM] = json.dumps(claim).encode()
    assert was != "prevented"
    assert verify(_hashed(tmp_path / "it.zip", files)).differences == [
        f"{CLAIM} has the verdict 'prevented' for run {run}; its logs give '{was}'."
    ]


def test_a_changed_log_is_found_though_all_hashes_fit(pack: Path, tmp_path: Path) -> None:
    files = _files(pack)
    late = _log(files)
    files[late] = files[late.replace("threat-late", "threat-none")]
    found = verify(_hashed(tmp_path / "it.zip", files))
    assert not found.holds
    assert any("its logs give" in it or "is not what the logs give" in it for it in found.differences)


def test_a_changed_manifest_is_found_though_all_hashes_fit(pack: Path, tmp_path: Path) -> None:
    files = _files(pack)
    manifest = json.loads(files[layout.MANIFEST])
    was = manifest["experiments"]["small"]["seed"]
    manifest["experiments"]["small"]["seed"] = was + 1
    files[layout.MANIFEST] = json.dumps(manifest).encode()
    assert verify(_hashed(tmp_path / "it.zip", files)).differences == [
        f"The manifest's 'seed' of 'small' is {was + 1}, and its results say {was}."
    ]


def test_a_run_taken_away_is_found_though_all_hashes_fit(pack: Path, tmp_path: Path) -> None:
    files = _files(pack)
    run = _log(files).rpartition("/")[0]
    kept = {name: it for name, it in files.items() if not name.startswith(run)}
    said = verify(_hashed(tmp_path / "it.zip", kept)).differences
    assert "The experiment 'small' planned 12 runs, and the pack has 11." in said


def test_a_changed_page_is_found_though_all_hashes_fit(pack: Path, tmp_path: Path) -> None:
    files = _files(pack)
    files[layout.PAGE] = files[layout.PAGE].replace(b"No safety integrity level", b"SIL 4")
    assert verify(_hashed(tmp_path / "it.zip", files)).differences == [
        "index.html does not say what manifest and claims say."
    ]


def test_another_pack_has_another_tree_hash(pack: Path) -> None:
    (said,) = verify(pack, tree="0" * 64).differences
    assert said.startswith("This is another pack than the one expected")


def test_what_is_no_pack_is_refused(tmp_path: Path) -> None:
    odd = tmp_path / "odd.zip"
    odd.write_bytes(b"no zip")
    with pytest.raises(UserError, match="it is no whole zip"):
        verify(odd)
    with pytest.raises(UserError, match="There is no evidence pack"):
        verify(tmp_path / "none.zip")


def test_the_page_links_only_to_what_is_in_the_pack(pack: Path) -> None:
    files = _files(pack)
    page = files[layout.PAGE].decode()
    links = set(re.findall(r'href="([^"#]+)"', page))
    assert links and links <= files.keys()
    assert "<script" not in page and "://" not in page
    assert "No safety integrity level is claimed" in page


@pytest.mark.parametrize("tampered", [False, True])
def test_a_bare_environment_verifies(pack: Path, tmp_path: Path, tampered: bool) -> None:
    """No kernel, no cache, no home, nothing on the path."""
    if tampered:
        files = _files(pack)
        _missing(files)
        pack = _raw(tmp_path / "it.zip", pack, files)
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
