"""A network namespace of a run's own: what is in it, what is not, and that the machine stays as it is."""

import json
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from gauntlet.attack import namespace, sockets
from gauntlet.attack.namespace import ALWAYS, COOKIES, OFF, Namespace
from gauntlet.attack.stage import Stage
from gauntlet.errors import UserError
from tests.engine import host

_SYSCTL = Path("/proc/sys/net/ipv4/tcp_syncookies")

INTERFACES = """
import json, socket
print(json.dumps([name for _, name in socket.if_nameindex()]))
"""
REACHES = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
    try:
        link.connect((sys.argv[1], 9))
    except OSError as error:
        sys.exit(error.strerror)
"""
LISTENS = """
import json, socket, time
with socket.create_server(("127.0.0.1", 0), backlog=16) as listener:
    print(json.dumps({"ready": {"port": listener.getsockname()[1]}}), flush=True)
    time.sleep(60)
"""
SENDS = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as raw:
    for packet in sys.argv[1:]:
        raw.sendto(bytes.fromhex(packet), ("127.0.0.1", 0))
"""


def namespace_can_be_made() -> bool:
    """Whether this machine lets this process make one."""
    try:
        namespace.check()
    except UserError:
        return False
    return True


can_be_made = pytest.mark.skipif(not namespace_can_be_made(), reason="no network namespace of one's own here")


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """Where processes run."""
    with Stage(tmp_path) as stage:
        yield stage


def said(inside: Namespace, program: str, *words: str) -> "subprocess.CompletedProcess[str]":
    """What comes of a program of Python inside."""
    command = inside.command([sys.executable, "-c", program, *words])
    return subprocess.run(command, capture_output=True, text=True, check=False)


def syn(source: str, port: int) -> str:
    """A packet with a SYN to 127.0.0.1, as hexadecimal digits."""
    addresses = socket.inet_aton(source) + socket.inet_aton("127.0.0.1")
    segment = struct.pack("!HHIIBBHHH", 4000, port, 1, 0, 0x50, 2, 64_240, 0, 0)
    covered = addresses + struct.pack("!HH", socket.IPPROTO_TCP, len(segment)) + segment
    total = sum(struct.unpack(f"!{len(covered) // 2}H", covered))
    total = (total & 0xFFFF) + (total >> 16)
    checksum = struct.pack("!H", ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF)
    header = struct.pack("!BBHHHBBH", 0x45, 0, 40, 0, 0x4000, 64, socket.IPPROTO_TCP, 0) + addresses
    return (header + segment[:16] + checksum + segment[18:]).hex()


def half_open(inside: Namespace, stage: Stage, sources: Sequence[str], root: Path) -> sockets.Sockets:
    """The sockets of a server to which a SYN came from each of these addresses."""
    server = stage.start("server", inside.command([sys.executable, "-c", LISTENS]))
    assert stage.listen(lambda: server.last("ready") is not None, 10), server.complaint()
    port = int((server.last("ready") or {})["port"])
    sent = said(inside, SENDS, *(syn(source, port) for source in sources))
    assert sent.returncode == 0, sent.stderr
    return sockets.of_port(port, root, inside.link)


@can_be_made
def test_nothing_leads_out_of_it(stage: Stage, tmp_path: Path) -> None:
    inside = namespace.make(stage, tmp_path, OFF)
    with inside.link:
        assert "lo" in json.loads(said(inside, INTERFACES).stdout)
        assert said(inside, REACHES, "127.0.0.1").returncode == 0
        assert said(inside, REACHES, "198.19.255.255").returncode == 0
        for elsewhere in ("198.17.255.255", "198.20.0.0", "192.0.2.1", "10.0.0.1"):
            assert said(inside, REACHES, elsewhere).stderr.strip() == "Network is unreachable"


@can_be_made
@pytest.mark.parametrize("cookies", COOKIES)
def test_cookies_are_of_the_namespace_and_not_of_the_machine(
    stage: Stage, tmp_path: Path, cookies: str
) -> None:
    before = _SYSCTL.read_text()
    inside = namespace.make(stage, tmp_path, cookies)
    with inside.link:
        read = said(inside, f"print(open('{_SYSCTL}').read().strip())").stdout.strip()
    assert read == str(COOKIES[cookies])
    assert _SYSCTL.read_text() == before


@can_be_made
@pytest.mark.parametrize(("cookies", "held", "sent"), [(OFF, 3, 0), (ALWAYS, 0, 3)])
def test_answers_to_forged_addresses_find_nobody(
    stage: Stage, tmp_path: Path, cookies: str, held: int, sent: int
) -> None:
    """Nobody resets what is half open; where a cookie was sent nothing is kept."""
    table = "TCP 10 20 2368 13 8 : tunables 0 0 0\nrequest_sock_TCP 5 5 304 1 1\n"
    root = host.write(tmp_path / "root", {"proc/slabinfo": table})
    inside = namespace.make(stage, tmp_path, cookies)
    with inside.link:
        before = inside.counted()
        found = half_open(inside, stage, ["198.18.0.1", "198.18.200.7", "198.19.255.255"], root)
        after = inside.counted()
    assert (found.half_open, found.count) == (held, held + 1), "and the one that listens"
    assert found.object_bytes == 2368 + held * 304
    assert after["SyncookiesSent"] - before["SyncookiesSent"] == sent


@can_be_made
def test_it_ends_with_its_stage(tmp_path: Path) -> None:
    with Stage(tmp_path) as stage:
        inside = namespace.make(stage, tmp_path, OFF)
        inside.link.close()
        assert Path(f"/proc/{inside.holder}").exists()
    assert not Path(f"/proc/{inside.holder}").exists()


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (
            ("sh", "-c", "echo 'unshare: unshare failed: Operation not permitted' >&2; exit 1"),
            "gives none: unshare: unshare failed: Operation not permitted.",
        ),
        (("no-such-program",), "unshare is not here"),
        # Whoever starts what sets it up where there is no new one shall change nothing.
        (("env",), "gives none: it is no new one: its loopback interface is up."),
    ],
    ids=["forbidden", "no program", "not a new one"],
)
def test_a_machine_that_gives_none_says_so_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], told: str
) -> None:
    monkeypatch.setattr(namespace, "_MADE", command)
    with pytest.raises(UserError) as refused:
        namespace.check()
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)
