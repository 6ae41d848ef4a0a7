"""A pack of another version of Gauntlet: all is derived again, and other words are not called good."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gauntlet.cli import main
from gauntlet.evidence_pack import layout, page, verify
from gauntlet.results.files import json_bytes
from tests.evidence_pack.forged import content, on_purpose

CLAIM = "claims/small-002.json"
Files = dict[str, bytes]


@pytest.fixture
def older(pack: Path) -> Files:
    """The files of the pack as another version would have made them that says the same."""
    files = content(pack)
    manifest = json.loads(files[layout.MANIFEST])
    manifest["made_with"] = {"gauntlet": "0.0.1", "code": "0" * 64}
    claims = [json.loads(it) for name, it in sorted(files.items()) if name.startswith("claims/")]
    files[layout.MANIFEST] = json_bytes(manifest)
    files[layout.PAGE] = page.html(manifest, claims).encode()
    return files


def _changed(files: Files, **parts: object) -> Files:
    return {**files, CLAIM: json_bytes({**json.loads(files[CLAIM]), **parts})}


def test_what_it_says_alike_holds(older: Files, tmp_path: Path) -> None:
    found = verify(on_purpose(tmp_path / "it.zip", older))
    assert (found.outcome, found.unverified) == ("holds", [])
    assert "built by another version of the package (0.0.1)" in found.notes[0]


def test_what_it_says_in_other_words_holds_in_part(older: Files, tmp_path: Path) -> None:
    """So does whatever a forger writes who claims to be another version."""
    files = _changed(older, sentence="Prevented in 1,000 of 1,000.", requirement=None)
    files[layout.PAGE] = b"<h1>SIL 4</h1>"
    found = verify(on_purpose(tmp_path / "it.zip", files))
    assert (found.outcome, found.holds, found.differences) == ("holds in part", False, [])
    assert found.unverified == [
        f"{CLAIM}: its requirement and sentence are not what the logs give with this version.",
        "index.html does not say what manifest and claims say.",
    ]


def test_labels_and_plans_of_another_version_are_not_verified(older: Files, tmp_path: Path) -> None:
    place = next(name for name in sorted(older) if name.endswith("spec.json"))
    spec = json.loads(older[place])
    spec["labels"]["protocol"] = "QUIC"
    found = verify(on_purpose(tmp_path / "it.zip", {**older, place: json_bytes(spec)}))
    assert not found.holds
    assert any("spec.json of 1 run of 'small'" in it and it.endswith("labels.") for it in found.unverified)


def test_what_does_not_follow_from_the_logs_does_not_hold(older: Files, tmp_path: Path) -> None:
    finding = {**json.loads(older[CLAIM])["finding"], "trials": 1000}
    found = verify(on_purpose(tmp_path / "it.zip", _changed(older, finding=finding)))
    assert found.differences == [f"{CLAIM}: its finding is not what the logs give."]


def test_the_command_has_a_word_an_exit_code_and_the_page_of_this_version(
    pack: Path, older: Files, tmp_path: Path
) -> None:
    forged = on_purpose(tmp_path / "it.zip", {**older, layout.PAGE: b"<h1>SIL 4</h1>"})
    out = tmp_path / "page.html"
    done = CliRunner().invoke(main, ["evidence", "verify", str(forged), "--page", str(out)])
    assert done.exit_code == 3
    assert "Not verified: index.html does not say" in done.stdout
    assert f"{forged} holds in part: " in done.stdout
    assert out.read_bytes() == content(pack)[layout.PAGE]


def test_no_page_is_written_of_a_pack_that_does_not_hold(older: Files, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    found = verify(on_purpose(tmp_path / "it.zip", {**older, "notes.txt": b""}), page=out)
    assert "No page was written, for the pack does not hold." in found.notes
    assert not out.exists()
