"""Programs of `gauntlet exec` have a /tmp of their own and find each other by name."""

import sys
from pathlib import Path

from .conftest import gauntlet

SERVER = "echo theirs > /tmp/note; exec {python} -m http.server 8000 --directory /tmp"
CLIENT = (
    "ls /tmp | wc -l; echo ours > /tmp/note; cat /tmp/note; "
    '{python} -c "from urllib.request import urlopen as get; '
    "print(get('http://trackside:8000/note').read().decode())\"; "
    "grep -c train /etc/hosts"
)


def test_each_side_has_a_tmp_of_its_own_and_finds_the_other_by_name(tmp_path: Path) -> None:
    """The present folder lies in the host's /tmp: it alone is there, and what is written in it stays."""
    assert tmp_path.is_relative_to("/tmp")
    line = f"{CLIENT.format(python=sys.executable)}; echo kept > here"
    server = SERVER.format(python=sys.executable)
    answer = gauntlet(
        "exec", "--scenario", "constant", "--server", server, "--", "sh", "-c", line, cwd=tmp_path
    )
    assert answer.code == 0, answer.err
    assert answer.out.split() == ["1", "ours", "theirs", "1"]
    assert (tmp_path / "here").read_text() == "kept\n"
    assert not Path("/tmp/note").exists()


def test_folders_of_the_hosts_tmp_are_there_when_the_command_names_them(tmp_path: Path) -> None:
    own, other = tmp_path / "own", Path("/tmp") / f"gauntlet-test-{tmp_path.parent.name}-{tmp_path.name}"
    own.mkdir()
    other.mkdir()
    try:
        (other / "data").write_text("there\n")
        named = ["sh", "-c", f"cat {other}/data; touch {other}/new || echo read-only"]
        answer = gauntlet("exec", "--scenario", "constant", "--", *named, cwd=own)
        assert answer.code == 0, answer.err
        assert answer.out.split() == ["there", "read-only"]
    finally:
        (other / "data").unlink(missing_ok=True)
        other.rmdir()
