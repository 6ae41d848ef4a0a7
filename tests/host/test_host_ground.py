"""Runs on the kernel of this machine: what is counted adds up, and flows end as they should."""

import json
import os
import signal
import subprocess
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from gauntlet.certificate.certify import certify
from gauntlet.engine.contract import Place
from gauntlet.engine.host import Host
from gauntlet.errors import RunError
from tests.host.conftest import Play, datagrams, flow, run_plan


def links(record: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The counters of a record by their link."""
    return {entry["link"]: entry for entry in record["links"]}


def nodes(record: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """What each node used, by its name."""
    return {entry["node"]: entry for entry in record["nodes"]}


def test_a_transfer_arrives_whole_and_every_counter_agrees(play: Play, tmp_path: Path) -> None:
    record = play(flows=[flow()])
    assert record["outcome"] == "ok", record["reason"]
    sent = record["flows"][0]
    assert (sent["outcome"], sent["reason"]) == ("ok", None)
    assert sent["sent_bytes"] == sent["received_bytes"] == 200_000
    assert sent["delivery_instants"] == "wire"
    assert record["guest"]["ground"] == "host"
    counters = links(record)
    assert counters["west>mid"]["kind"] == "tbf"
    assert counters["mid>east"]["kind"] in ("netem", "relay")
    captured = {tap["link"]: tap for tap in record["taps"]}
    assert all(tap["missed_packets"] == 0 for tap in captured.values())
    for link in ("west>mid", "mid>east", "east>mid", "mid>west"):
        assert counters[link]["dropped_packets"] == counters[link]["backlog_packets"] == 0
        assert counters[link]["sent_packets"] == captured[link]["captured_packets"], link
    assert all(relay["missed_packets"] == 0 for relay in record["guest"]["host"]["relays"])


def test_a_processor_of_stated_speed_is_for_virtual_time(play: Play) -> None:
    record = play(flows=[flow()], processor={"node": "server", "packet_ns": 1})
    assert record["outcome"] == "failed"
    assert "virtual time" in record["reason"]


def test_each_end_has_a_process_of_its_own_whose_use_is_counted(
    play: Play, ability: Mapping[str, Any]
) -> None:
    record = play(flows=[flow()])
    host = record["guest"]["host"]
    assert host["accounting"] == ability["accounting"]
    assert host["rights"] == ability["rights"]
    assert 0.0 <= host["before"]["busy_share"] <= 1.0
    assert 0.0 <= host["after"]["busy_share"] <= 1.0
    used = nodes(record)
    assert list(used) == ["client", "west", "mid", "east", "server"]
    for end in ("client", "server"):
        assert used[end]["cpu_ns"] > 0
        assert used[end]["peak_memory_bytes"] > 0
        assert used[end]["voluntary_context_switches"] > 0
        assert used[end]["socket_dropped_packets"] == 0
    if ability["accounting"] == "cgroup v1":
        assert used["client"]["peak_socket_memory_bytes"] > 0
    for router in ("west", "mid", "east"):
        assert used[router]["cpu_ns"] is None, "routers are the kernel alone"


def test_more_work_is_counted_as_more(play: Play, ability: Mapping[str, Any]) -> None:
    sizes = {"light": 10_000, "heavy": 4_000_000}
    records = {name: play(id=name, flows=[flow(size_bytes=size)]) for name, size in sizes.items()}
    used = {name: nodes(record) for name, record in records.items()}
    for name, record in records.items():
        assert record["flows"][0]["received_bytes"] == sizes[name]
        assert links(record)["west>mid"]["sent_bytes"] > sizes[name]
    light, heavy = (links(records[name])["west>mid"]["sent_bytes"] for name in sizes)
    assert heavy > 100 * light
    # Segments of 4 MB come over seconds, and the receiver sleeps between them; 10 kB come in one flight.
    for end in ("client", "server"):
        for what in ("cpu_ns", "voluntary_context_switches"):
            assert used["heavy"][end][what] > used["light"][end][what], (end, what)
    if ability["accounting"] == "cgroup v1":
        what = "peak_socket_memory_bytes"
        assert used["heavy"]["client"][what] > used["light"]["client"][what] > 0


def test_datagrams_for_which_a_socket_has_no_room_are_counted(play: Play) -> None:
    # They are held on the way and come at once, to a receiver with the least buffer that a socket can have.
    hold = {"action": "hold", "as": "queue"}
    rules = [
        {"id": "keep", "match": {"towards": "server", "protocol": "udp"}, "do": hold},
        {"id": "open", "match": {"at_s": 2.0}, "do": {"action": "release", "from": "queue"}},
    ]
    node = {"node": "mallory", "between": ["east", "server"], "rules": rules}
    record = play(flows=[datagrams(stack_params={"receive_buffer_bytes": 2304})], in_path=[node])
    dropped = nodes(record)["server"]["socket_dropped_packets"]
    assert dropped > 0
    assert nodes(record)["client"]["socket_dropped_packets"] == 0
    assert record["flows"][0]["received_messages"] == 300 - dropped


@pytest.mark.parametrize(
    ("stack", "params"),
    [
        ("tls", {"congestion_control": "cubic"}),
        ("quic-quinn", {}),
        ("quic-s2n", {}),
        ("restp", {"profile": "file_arq"}),
    ],
)
def test_ends_in_processes_of_their_own_trust_each_other(
    play: Play, stack: str, params: dict[str, Any]
) -> None:
    record = play(flows=[flow(stack, stack_params=params)])
    assert record["flows"][0]["outcome"] == "ok", record["flows"][0]["reason"]
    assert record["flows"][0]["received_bytes"] == 200_000


def test_the_secrets_of_a_session_come_out_of_its_process_once(play: Play, tmp_path: Path) -> None:
    record = {**run_plan()["record"], "keys": True}
    play(flows=[flow("tls")], record=record)
    lines = (tmp_path / "out/run/keys.log").read_text().splitlines()
    assert any(line.startswith("CLIENT_TRAFFIC_SECRET_0 ") for line in lines)
    assert len(lines) == len(set(lines))


def test_flows_both_ways_share_the_processes_of_their_nodes(play: Play) -> None:
    back = {**flow(id="f1"), "from": "server", "to": "client"}
    record = play(flows=[flow(), back, datagrams(id="f2")])
    assert [it["outcome"] for it in record["flows"]] == ["ok"] * 3, record["flows"]
    assert record["flows"][2]["received_messages"] == record["flows"][2]["sent_messages"] == 300
    assert len(nodes(record)) == 5


def test_what_a_link_drops_is_missing_at_the_receiver_and_on_the_nodes_account(play: Play) -> None:
    timeline = run_plan()["timeline"]
    timeline[2]["loss"] = 0.2
    record = play(flows=[datagrams()], timeline=timeline)
    sent = record["flows"][0]
    dropped = links(record)["mid>east"]["dropped_packets"]
    assert 0 < dropped < 300
    assert sent["received_messages"] == 300 - dropped
    assert nodes(record)["mid"]["queue_dropped_packets"] == dropped


def test_a_link_that_is_down_fails_the_flow_at_its_limit(play: Play) -> None:
    timeline = run_plan()["timeline"]
    timeline[2]["up"] = False
    record = play(flows=[flow()], timeline=timeline, limit_s=2.0)
    assert record["outcome"] == "ok"
    assert record["flows"][0]["outcome"] == "failed"
    assert record["flows"][0]["received_bytes"] == 0
    assert links(record)["mid>east"]["dropped_packets"] > 0


def test_damaged_and_doubled_packets_are_made(play: Play) -> None:
    timeline = run_plan()["timeline"]
    timeline[2].update({"duplicate": 1.0})
    record = play(flows=[datagrams()], timeline=timeline)
    assert record["flows"][0]["received_messages"] == 300, "each counts once"
    assert links(record)["mid>east"]["sent_packets"] == 2 * links(record)["west>mid"]["sent_packets"]


def test_a_process_that_dies_fails_its_flows_and_nothing_else(play: Play) -> None:
    killed: list[int] = []

    def kill_one(event: Mapping[str, Any]) -> None:
        if event["event"] != "progress" or killed:
            return
        for status in Path("/proc").glob("[0-9]*/status"):
            try:
                text = status.read_text()
            except OSError:
                continue
            fields = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
            parent = Path("/proc") / fields["PPid"].strip() / "cmdline"
            if (
                fields["Name"].startswith("run")
                and parent.exists()
                and os.getpid() in _ancestors(int(fields["Pid"]))
            ):
                killed.append(int(fields["Pid"]))
                os.kill(killed[0], signal.SIGKILL)
                return

    slow = flow(size_bytes=50_000_000)
    record = play(flows=[slow], limit_s=20.0, on_event=kill_one)
    assert killed
    assert record["outcome"] == "ok"
    assert record["flows"][0]["outcome"] == "failed"
    assert record["flows"][0]["reason"]
    assert len(record["nodes"]) == 5


def _ancestors(pid: int) -> list[int]:
    found = []
    while pid > 1:
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            break
        pid = int(stat.rpartition(")")[2].split()[1])
        found.append(pid)
    return found


def test_settings_are_those_of_the_nodes_and_the_hosts_stay(play: Play) -> None:
    own, whole = Path("/proc/sys/net/ipv4/tcp_rmem"), Path("/proc/sys/net/core/rmem_max")
    before = (own.read_text(), whole.read_text())
    sysctls = {**run_plan()["sysctls"], "net.ipv4.tcp_rmem": "4096 65536 131072"}
    record = play(flows=[flow()], sysctls=sysctls)
    assert record["guest"]["sysctls"]["net.ipv4.tcp_rmem"].split() == ["4096", "65536", "131072"]
    left = record["guest"]["host"]["whole_kernel_sysctls"]
    assert "net.ipv4.tcp_rmem" not in left
    if whole.read_text().strip() != sysctls["net.core.rmem_max"]:
        assert left["net.core.rmem_max"] == whole.read_text().strip()
    assert (own.read_text(), whole.read_text()) == before


def _own_groups() -> dict[int, list[Path]]:
    """The control groups of players that this process has running, by the player."""
    found: dict[int, list[Path]] = {}
    for group in Path("/sys/fs/cgroup").rglob("gauntlet-[0-9]*"):
        player = int(group.name.partition("-")[2])
        if os.getpid() in _ancestors(player):
            found.setdefault(player, []).append(group)
    return found


def test_nothing_is_left_behind(play: Play, tmp_path: Path, ability: Mapping[str, Any]) -> None:
    groups: list[Path] = []
    play(flows=[flow()], on_event=lambda _event: groups.extend(chain.from_iterable(_own_groups().values())))
    assert bool(groups) == (ability["accounting"] != "rusage")
    assert not [group for group in groups if group.exists()]
    assert [it.name for it in (tmp_path / "out").iterdir()] == ["run"]


def test_what_a_killed_player_leaves_the_next_one_takes_away(
    host: Host, play: Play, tmp_path: Path, ability: Mapping[str, Any]
) -> None:
    if ability["accounting"] == "rusage":
        pytest.skip("this host lets nobody make control groups")
    left: list[Path] = []

    def kill(_event: Mapping[str, Any]) -> None:
        for player, groups in _own_groups().items():
            left.extend(groups)
            os.kill(player, signal.SIGKILL)

    place = Place(console=tmp_path / "words")
    with pytest.raises(RunError, match="The player died"):
        host.play(run_plan(flows=[flow()]), tmp_path / "killed", place=place, on_event=kill)
    assert left
    play(flows=[flow()])
    assert not [group for group in left if group.exists()]


def test_the_certificate_knows_the_ground(host: Host, tmp_path: Path) -> None:
    run = run_plan(flows=[flow()])
    folder = host.play(run, tmp_path / "out", place=Place())
    certificate = certify(run, folder)
    asked = {entry["link"] for entry in run["timeline"]}
    # How late packets were is a matter of what else this machine does; what was counted is not.
    counted = [
        it
        for it in certificate["checks"]
        if it["name"] in ("capture", "identity", "conservation", "counters")
    ]
    assert {it["link"] for it in counted if it["link"]} >= asked
    assert all(it["passed"] for it in counted), [it for it in counted if not it["passed"]]


def test_a_run_that_wants_more_than_the_kernel_has_is_refused_with_the_modules_name(
    host: Host, ability: Mapping[str, Any]
) -> None:
    wants = {
        "sctp": run_plan(flows=[flow("sctp")]),
        "ip_gre": run_plan(network={"preset": "rail-d34"}, timeline=[]),
        "act_gact": run_plan(
            flows=[flow()], drops=[{"flow": "f0", "packet": "syn", "nth": 1, "link": "mid>east"}]
        ),
    }
    missing = {it["name"] for it in ability["modules"] if it["missing"] is not None} & set(wants)
    refusals = dict(zip(wants, host.refusals(list(wants.values())), strict=True))
    for module, refusal in refusals.items():
        assert (refusal is not None and f"the module {module}," in refusal) == (module in missing), refusal
    control = {"congestion_control": "nosuch"}
    (refusal,) = host.refusals([run_plan(flows=[flow(stack_params=control)])])
    assert refusal is not None
    assert "tcp_nosuch" in refusal


def test_a_setting_of_the_whole_kernel_is_refused_unless_the_host_has_it(host: Host) -> None:
    there = Path("/proc/sys/net/ipv4/tcp_mem").read_text().split()
    stock, same = run_plan(), run_plan()
    same["sysctls"] = {**same["sysctls"], "net.ipv4.tcp_mem": " ".join(there)}
    other = run_plan()
    other["sysctls"] = {**other["sysctls"], "net.ipv4.tcp_mem": "1 2 3"}
    refusals = host.refusals([stock, same, other])
    assert refusals[:2] == [None, None]
    assert refusals[2] is not None
    assert "net.ipv4.tcp_mem = 1 2 3 belongs to the whole kernel" in refusals[2]
    assert f"it has {' '.join(there)} (as root: sysctl -w" in refusals[2]


def test_settings_that_are_none_of_a_network_are_never_written(host: Host, tmp_path: Path) -> None:
    # Root may write them from within any namespace.
    setting = Path("/proc/sys/vm/swappiness")
    before = setting.read_text().strip()
    other = run_plan(flows=[flow()])
    other["sysctls"] = {**other["sysctls"], "vm.swappiness": "61" if before != "61" else "62"}
    (refusal,) = host.refusals([other])
    played = host.play(other, tmp_path / "out", place=Place())
    left = json.loads((played / "record.json").read_text())["guest"]["host"]["whole_kernel_sysctls"]
    after = setting.read_text().strip()
    if after != before:
        setting.write_text(before)
    assert after == before
    assert left["vm.swappiness"] == before
    assert refusal is not None
    assert "belongs to the whole kernel of this host, and a run changes nothing outside" in refusal


def test_a_plan_that_is_wrong_is_said_in_one_sentence(host: Host, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"The host ground gave up: .*`limit_s` is -1"):
        host.play(run_plan(limit_s=-1), tmp_path / "out", place=Place())


def test_an_ordinary_user_can_play_too(host: Host, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("this is an ordinary user already")
    nobody = 65534
    reach = (
        subprocess.run(
            [str(host.program), "--describe"], user=nobody, group=nobody, capture_output=True, check=False
        )
        if os.access(host.program, os.X_OK)
        else None
    )
    if reach is None or reach.returncode != 0:
        pytest.skip(f"another user cannot reach {host.program}")
    answer = subprocess.run(
        [str(host.program), "--ground", "host", "--doctor"],
        user=nobody, group=nobody, extra_groups=[], capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "lets this user make no user namespace" in answer.stdout:
        pytest.skip("this host lets ordinary users make no user namespaces")
    assert answer.returncode == 0, answer.stdout
    assert json.loads(answer.stdout)["rights"] == "user namespace"
