"""What the kernel counts: sessions, memory and sockets, from its files and from its own mouth."""

import socket
import time
from contextlib import ExitStack
from pathlib import Path
from typing import cast

import pytest

from gauntlet.attack import counters, sockets
from tests.engine import host


def process(pid: int, session: int, **files: str) -> dict[str, str]:
    """Files of a process below /proc."""
    stat = f"{pid} (a (strange) name) S 1 {pid} {session} 0 -1 4194304"
    return {f"proc/{pid}/stat": stat, **{f"proc/{pid}/{name}": text for name, text in files.items()}}


def test_a_session_is_who_was_started_in_it(tmp_path: Path) -> None:
    files = {**process(10, 10), **process(11, 10), **process(12, 12)}
    assert counters.session(10, host.write(tmp_path, files)) == [10, 11]


def test_computing_time_is_of_all_threads_to_the_nanosecond(tmp_path: Path) -> None:
    files = {
        "proc/10/task/10/schedstat": "1500000000 30 7\n",
        "proc/10/task/14/schedstat": "250000001 30 7\n",
        "proc/11/task/11/schedstat": "5 0 1\n",
    }
    assert counters.cpu_s([10, 11, 99], host.write(tmp_path, files)) == 1.750000006


def test_memory_is_added_up_over_processes(tmp_path: Path) -> None:
    text = "55d0-7ffe ---p 00000000 00:00 0 [rollup]\nRss:  2000 kB\nPss:  1500 kB\n"
    files = {f"proc/{pid}/smaps_rollup": text for pid in (10, 11)}
    found = counters.memory([10, 11, 12], host.write(tmp_path, files))
    assert (found.resident, found.proportional) == (4_096_000, 3_072_000)


def test_what_processors_do_is_with_interrupts_as_what_processes_take_is(tmp_path: Path) -> None:
    root = host.write(tmp_path, {"proc/stat": "cpu  100 20 30 900 5 70 80 4 6 7\ncpu0 1 1 1\n"})
    assert counters.busy_s(root) == 3.0


def test_segments_that_were_sent_again_are_the_kernels(tmp_path: Path) -> None:
    text = (
        "Ip: Forwarding DefaultTTL\nIp: 1 64\n"
        "Tcp: RtoAlgorithm OutSegs RetransSegs InErrs\nTcp: 1 5000 17 3\n"
        "Udp: InDatagrams\nUdp: 9\n"
    )
    assert counters.retransmitted(host.write(tmp_path, {"proc/net/snmp": text})) == 17
    assert counters.retransmitted(host.write(tmp_path, {"proc/10/net/snmp": text}), of=10) == 17
    assert counters.retransmitted() >= 0


def test_what_linux_counts_of_tcp_besides_has_its_names(tmp_path: Path) -> None:
    text = "TcpExt: SyncookiesSent SyncookiesRecv\nTcpExt: 7 3\nIpExt: InNoRoutes\nIpExt: 1\n"
    root = host.write(tmp_path, {"proc/10/net/netstat": text})
    assert counters.tcp_extensions(10, root) == {"SyncookiesSent": 7, "SyncookiesRecv": 3}
    assert "SyncookiesSent" in counters.tcp_extensions()


def test_sockets_of_a_port_are_counted_and_what_waits_in_them() -> None:
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=16))
        port = int(listener.getsockname()[1])
        assert sockets.of_port(port).count == 1
        clients = [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(5)]
        served = [stack.enter_context(listener.accept()[0]) for _ in clients]
        idle = sockets.of_port(port)
        assert idle.count == 6, "the listener and the server's ends, not those of the clients"
        for client in clients:
            client.sendall(b"." * 20_000)
        served[-1].setblocking(True)
        assert served[-1].recv(1) == b"."
        full = sockets.of_port(port)
        assert full.queued_bytes >= idle.queued_bytes + 4 * 20_000
        assert full.bytes == full.queued_bytes + full.object_bytes


class Heard:
    """What tells of sockets, with how many bytes it told."""

    def __init__(self, link: socket.socket) -> None:
        self.link = link
        self.told_bytes = 0

    def sendto(self, data: bytes, to: tuple[int, int]) -> int:
        return self.link.sendto(data, to)

    def recv(self, most: int) -> bytes:
        data = self.link.recv(most)
        self.told_bytes += len(data)
        return data


def test_the_kernel_leaves_out_the_sockets_of_other_ports() -> None:
    """Beside the server after a flood there are tens of thousands, which nobody is to read."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        other = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=256))
        for _ in range(200):
            stack.enter_context(socket.create_connection(other.getsockname()))
            stack.enter_context(other.accept()[0])
        heard = Heard(stack.enter_context(sockets.link()))
        found = sockets.of_port(int(listener.getsockname()[1]), over=cast("socket.socket", heard))
    assert found.count == 1
    assert heard.told_bytes < 2000


def test_a_connection_that_is_over_and_waits_is_no_whole_socket(tmp_path: Path) -> None:
    """Who closes first keeps it for a minute (TIME_WAIT); the kernel keeps less of it than of a socket."""
    table = "TCP 10 20 2368 13 8 : tunables 0 0 0\ntw_sock_TCP 10 20 256 16 1 : tunables 0 0 0\n"
    root = host.write(tmp_path, {"proc/slabinfo": table})
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = int(listener.getsockname()[1])
        client = socket.create_connection(("127.0.0.1", port))
        listener.accept()[0].close()
        assert client.recv(1) == b""
        client.close()
        until_s = time.monotonic() + 5
        while (found := sockets.of_port(port, root)).object_bytes > 2368 + 256 and time.monotonic() < until_s:
            time.sleep(0.01)
    assert (found.count, found.object_bytes) == (2, 2368 + 256)


def test_packets_that_found_a_full_queue_are_counted() -> None:
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client,
    ):
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        server.bind(("127.0.0.1", 0))
        port = int(server.getsockname()[1])
        for _ in range(50):
            client.sendto(b"." * 1200, ("127.0.0.1", port))
        found = sockets.of_port(port)
        if found.count == 0:
            pytest.skip("this kernel does not tell of sockets of UDP (udp_diag)")
        assert 0 < found.dropped < 50


def test_the_size_of_a_socket_is_the_kernels(tmp_path: Path) -> None:
    table = "slabinfo - version: 2.1\nTCP 10 20 2368 13 8 : tunables 0 0 0\nUDP 5 5 1344 1 1\nother 1 1 1\n"
    root = host.write(tmp_path, {"proc/slabinfo": table})
    assert sockets.tells_objects(root)
    assert not sockets.tells_objects(tmp_path / "nowhere")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert sockets.of_port(int(listener.getsockname()[1]), root).object_bytes == 2368
