"""Files of another machine: at their paths for one process, and nowhere for all others."""

import os
import platform
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import pytest

from gauntlet.engine.contract import Engine, Place
from gauntlet.errors import RunError, UserError
from gauntlet.executor import attachments, view
from gauntlet.executor.address import Cluster
from gauntlet.executor.plan import RunPlan
from gauntlet.executor.play import Job, Packed, Player
from gauntlet.executor.view import Brought, View

ABSENT = Path("/nowhere-on-this-machine/deep")


@pytest.fixture
def may_show() -> None:
    """Skips a test where the host allows no mount namespaces."""
    if not view.possible():
        pytest.skip("this user may have no mounts of its own (unshare --mount)")


def seen(files: dict[str, Brought], folder: Path, script: str) -> str:
    """What a shell says that is in the view."""
    done = subprocess.run(
        ["sh", "-c", script],
        preexec_fn=View(files, folder / "root"),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.mark.usefixtures("may_show")
def test_files_are_at_their_paths_in_the_view_alone(tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    (here / "other.txt").write_text("old\n")
    (here / "beside.txt").write_text("beside\n")
    (here / "link").symlink_to("beside.txt")
    files = {
        str(ABSENT / "deep.txt"): Brought(b"deep\n"),
        str(here / "other.txt"): Brought(b"new\n"),
        str(here / "folder" / "tool"): Brought(b"#!/bin/sh\necho tool\n", True),
    }
    script = (
        f"cat {ABSENT}/deep.txt {here}/other.txt {here}/beside.txt {here}/link; {here}/folder/tool; id -u"
    )
    assert seen(files, tmp_path, script).split() == [
        "deep", "new", "beside", "beside", "tool", str(os.geteuid()),
    ]  # fmt: skip
    assert not ABSENT.parent.exists()
    assert (here / "other.txt").read_text() == "old\n"
    assert not (here / "folder").exists()
    assert list((tmp_path / "root").iterdir()) == []


@pytest.mark.usefixtures("may_show")
def test_what_is_written_beside_them_reaches_the_host(tmp_path: Path) -> None:
    """A guest writes its record into a folder that may lie on the way to such a file."""
    out = tmp_path / "out"
    out.mkdir()
    seen({str(tmp_path / "client.py"): Brought(b"")}, tmp_path, f"echo kept > {out}/record")
    assert (out / "record").read_text() == "kept\n"


class Reading:
    """An engine that has a program read a file, as the process that plays would."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def play(self, _run: Any, out: Path, *, place: Place, on_event: Any = None) -> Path:
        """Read it."""
        out.mkdir(parents=True)
        with (out / "record.json").open("wb") as record:
            subprocess.run(["cat", self._path], stdout=record, preexec_fn=place.enter, check=True)
        return out


def kept(_run: Any, record_dir: Path, folder: Path, *, capture: bool) -> Packed:
    """Keep the record."""
    shutil.copy(record_dir / "record.json", folder / f"record-{capture}.json")
    return Packed({}, {})


@pytest.mark.usefixtures("may_show")
def test_a_run_sees_what_was_brought_and_leaves_nothing(tmp_path: Path) -> None:
    path, brought = ABSENT / "client.py", Brought(b"print()\n")
    plan = RunPlan({"flows": b"[]"}, {str(path): brought.sha256})
    player = Player(cast(Engine, Reading(path)), kept)
    into = tmp_path / "bundle"
    played = player(Job(plan, "0" * 64, into, brought={str(path): brought}), 0, print)
    assert played.bundle is not None
    assert (into / "record-False.json").read_bytes() == b"print()\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["bundle"]


def test_a_machine_that_cannot_show_files_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "possible", lambda: False)
    brought = Brought(b"print()\n")
    plan = RunPlan({"flows": b"[]"}, {str(ABSENT / "client.py"): brought.sha256})
    player = Player(cast(Engine, Reading(ABSENT)), kept)
    with pytest.raises(RunError, match=r"client\.py cannot be shown to the run"):
        player(Job(plan, "0" * 64, tmp_path / "b", brought={str(ABSENT / "client.py"): brought}), 0, print)


def stack(folder: Path, **changes: Any) -> dict[str, Any]:
    """`stack_params` of a stack of one's own."""
    base = {
        "client": [sys.executable, "client.py"],
        "server": [sys.executable, "server.py"],
        "environment": {},
        "working_directory": str(folder),
    }
    return base | changes


def test_the_users_own_files_travel_and_what_is_installed_does_not(tmp_path: Path) -> None:
    files = ["/usr/bin/python3", f"{tmp_path}/client.py", f"{tmp_path}/part/x.py", "/opt/lib/kept.py"]
    assert attachments.own([stack(tmp_path)], files) == files[1:3]
    with_path = stack(tmp_path, environment={"PYTHONPATH": "/opt/lib:"})
    assert attachments.own([with_path], files) == files[1:]
    assert attachments.own([stack(Path("/"))], files) == [], "programs that ship work in the root folder"


def test_what_a_worker_lacks_is_named(tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_text("1")
    tool.chmod(0o755)
    there = {str(tool): sha256(b"1").hexdigest()}
    python = {"python": platform.python_version()}
    assert attachments.lacking([stack(tmp_path)], there, python, []) is None
    lacking = attachments.lacking
    assert lacking([], {}, {"python": "2.7.1"}, []) == (
        f"the run needs python 2.7.1, and there is {platform.python_version()}"
    )
    assert lacking([], {}, {"no-such-package": "1"}, []) == (
        "the run needs no-such-package 1, and there is none"
    )
    gone = str(ABSENT / "python")
    foreign = stack(tmp_path, client=[gone, "client.py"])
    assert lacking([foreign], {}, {}, []) == f"the run needs the program {gone}, which is not there"
    assert lacking([foreign], {}, {}, [gone]) is None
    assert lacking([], {gone: "0" * 64}, {}, []) == f"the run needs the file {gone}, which is not there"
    assert lacking([], {str(tool): "0" * 64}, {}, []) == (
        f"the run needs the file {tool}, which is another one there"
    )


@pytest.mark.parametrize(
    ("address", "files", "words"),
    [
        ("localhost", "", "is no address of a scheduler; write it as tcp://HOST:PORT"),
        ("http://localhost:80", "", "is no address of a scheduler"),
        ("tls://localhost:80", "", "TLS needs .* not given: --tls-ca, --tls-cert, --tls-key"),
        ("tcp://localhost:80", "ca", "not given: --tls-cert, --tls-key"),
        ("tcp://localhost:80", "ca cert key", "is an address without TLS; write tls://"),
        ("tls://localhost:80", "ca cert none", "--tls-key: there is no file .*none"),
    ],
)
def test_a_wrong_address_is_one_sentence(tmp_path: Path, address: str, files: str, words: str) -> None:
    given = [tmp_path / name for name in files.split()]
    for file in given:
        if file.name != "none":
            file.write_text("")
    with pytest.raises(UserError, match=words):
        Cluster(address, *given).check()
