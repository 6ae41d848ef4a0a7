"""Exports: what the other tool would do with the file is what the trace says."""

import math
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gauntlet.errors import UserError
from gauntlet.scenario import (
    Scenario,
    TcPlaces,
    Trace,
    export_csv,
    export_mahimahi,
    export_tc,
    load_scenario,
    read_trace,
)
from gauntlet.scenario.export import mahimahi_instants_ms


def link(t_s: list[float], rate_bps: list[float], end_s: float) -> Trace:
    same = {"delay_up_s": 0.0123456, "delay_down_s": 0.0, "loss_up": 0.015, "loss_down": 0.0}
    columns: dict[str, list[object]] = {name: [value] * len(t_s) for name, value in same.items()}
    columns |= {"t_s": list(t_s), "rate_up_bps": list(rate_bps), "queue_limit_bytes": [64_000] * len(t_s)}
    columns |= {"rate_down_bps": [2 * rate for rate in rate_bps]}
    return Trace.from_columns(columns, end_s, "made")


def test_csv_of_scenario_and_of_trace(hsr: Scenario, tmp_path: Path) -> None:
    assert export_csv(hsr, tmp_path / "a.csv") == [tmp_path / "a.csv"]
    export_csv(hsr.trace.window(60, 120), tmp_path / "b.csv")
    assert read_trace(tmp_path / "a.csv").table.equals(hsr.trace.table)
    assert read_trace(tmp_path / "b.csv").table.equals(hsr.trace.window(60, 120).table)


def test_mahimahi_at_12_mbps_is_one_opportunity_each_millisecond(tmp_path: Path) -> None:
    written = export_mahimahi(link([0.0], [12e6], 1.0), tmp_path / "m")
    assert [path.name for path in written] == ["m.up", "m.down"]
    assert written[0].read_text() == "".join(f"{ms}\n" for ms in range(1, 1001))
    assert written[1].read_text() == "".join(f"{ms}\n{ms}\n" for ms in range(1, 1001))


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.floats(0.05, 3), st.floats(1e4, 2e7)), min_size=1, max_size=6))
def test_mahimahi_never_runs_ahead_of_the_rate_and_never_falls_behind(
    stretches: list[tuple[float, float]],
) -> None:
    edges_s = np.cumsum([0.0, *[length_s for length_s, _ in stretches]])
    trace = link(edges_s[:-1].tolist(), [rate for _, rate in stretches], float(edges_s[-1]))
    instants_ms = mahimahi_instants_ms(trace, "up")
    assert instants_ms == sorted(instants_ms)

    def allowed_bytes(t_s: float) -> float:
        lasting_s = np.clip(t_s - edges_s[:-1], 0, np.diff(edges_s))
        return float(np.sum(lasting_s * trace.column("rate_up_bps")) / 8)

    # Instants are rounded to nanoseconds before they are rounded up to milliseconds.
    slack_bytes = 2e7 / 8 * 1e-9 * 2
    for number, ms in enumerate(instants_ms, start=1):
        assert number * 1500 <= allowed_bytes(ms / 1000) + slack_bytes or ms / 1000 >= edges_s[-1]
        assert number * 1500 >= allowed_bytes((ms - 1) / 1000) - slack_bytes
    assert -slack_bytes <= allowed_bytes(float(edges_s[-1])) - 1500 * len(instants_ms) < 1500 + slack_bytes


def test_mahimahi_carries_the_bytes_of_the_line(hsr: Scenario) -> None:
    instants_ms = mahimahi_instants_ms(hsr.trace, "down")
    mean_bps = len(instants_ms) * 1500 * 8 / hsr.duration_s
    assert mean_bps == pytest.approx(hsr.trace.mean("rate_down_bps"), rel=1e-5)


def test_mahimahi_needs_an_end_and_a_packet(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no end"):
        export_mahimahi(load_scenario("constant"), tmp_path / "m")
    with pytest.raises(UserError, match="no packet"):
        export_mahimahi(link([0.0], [1000.0], 1.0), tmp_path / "m")


def play(script: Path, tmp_path: Path, **environment: str) -> list[str]:
    """Run the script with `tc`, `ip` and `sleep` that only write down how they were called."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("tc", "ip", "sleep"):
        (tools / tool).write_text(f'#!/bin/sh\necho "{tool} $*" >> {tmp_path}/calls\n')
        (tools / tool).chmod(0o755)
    path = f"{tools}:{os.environ['PATH']}"
    subprocess.run([str(script)], env={**os.environ, "PATH": path, **environment}, check=True)
    return (tmp_path / "calls").read_text().splitlines()


def test_tc_script_plays_every_row_in_order(tmp_path: Path) -> None:
    trace = link([0.0, 1000.5, 2000.0], [2e6, 3e6, 1_234_567.0], 3000.0)
    [script] = export_tc(trace, tmp_path / "play.sh")
    calls = play(script, tmp_path)
    changes = [call for call in calls if call.startswith("tc ")]
    assert changes[:4] == [
        "tc qdisc replace dev train0 root tbf rate 2000000bit burst 1580 limit 64000",
        "tc qdisc replace dev trackside0 root tbf rate 4000000bit burst 1580 limit 64000",
        "tc qdisc replace dev radio0 root netem limit 100000 delay 12346us loss 1.5%",
        "tc qdisc replace dev radio1 root netem limit 100000 delay 0us loss 0%",
    ]
    assert len(changes) == 12
    assert all(" change " in call for call in changes[4:])
    assert [call.split()[8] for call in changes[::4]] == ["2000000bit", "3000000bit", "1234567bit"]
    # sleep is a stand-in that returns at once, so each wait is counted from the start.
    waits = [float(call.split()[1]) for call in calls if call.startswith("sleep ")]
    assert [math.ceil(wait / 100) * 100 for wait in waits] == [1100, 2000, 3000]
    order = ["sleep" if call.startswith("sleep") else "tc" for call in calls]
    assert order == ["tc"] * 4 + ["sleep"] + ["tc"] * 4 + ["sleep"] + ["tc"] * 4 + ["sleep"]


def test_tc_script_takes_interfaces_and_namespaces(tmp_path: Path) -> None:
    places = TcPlaces(rate_up="a0", delay_up="b0", rate_down="c0", delay_down="d0")
    [script] = export_tc(link([0.0], [2e6], math.inf), tmp_path / "play.sh", places)
    calls = play(script, tmp_path, TRAIN="ip netns exec train", DELAY_DOWN="e0")
    assert [" ".join(call.split()[: 5 + call.startswith("ip") * 4]) for call in calls] == [
        "ip netns exec train tc qdisc replace dev a0",
        "tc qdisc replace dev c0",
        "ip netns exec train tc qdisc replace dev b0",
        "tc qdisc replace dev e0",
    ]


def test_tc_script_of_a_whole_line_is_sound(hsr: Scenario, tmp_path: Path) -> None:
    [script] = export_tc(hsr, tmp_path / "hsr.sh")
    subprocess.run(["bash", "-n", str(script)], check=True)
    assert script.read_text().count("\nlink change ") == hsr.trace.table.num_rows - 1


def test_places_that_cannot_be_written_and_unknown_bearers(hsr: Scenario, tmp_path: Path) -> None:
    for export in (export_csv, export_mahimahi, export_tc):
        with pytest.raises(UserError, match=r"nowhere.* cannot be written"):
            export(hsr, tmp_path / "nowhere" / "x")
        with pytest.raises(UserError, match="no bearer 'wifi'; its bearers are: lte"):
            export(hsr, tmp_path / "x", bearer="wifi")
