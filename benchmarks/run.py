"""`make bench`: how fast virtual time is, as ratios against real time and against ns-3 in the same run.

Each figure is the best of a few repetitions on one pinned core, because the best is the least disturbed.
Prints a table and writes `build/bench.json`. `--only NAME` runs one part, `--short` a fifth of the data.
"""

import argparse
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gauntlet.engine import guest, pool
from gauntlet.experiment import expand, parse_experiment, plan
from gauntlet.experiment.sysctls import STOCK_SYSCTLS

ROOT = Path(__file__).resolve().parent.parent
RATE_BPS = 5_200_000
"""The line's maximum (D3.4 section 5.2)."""
DELAY_S = 0.025
QUEUE_BYTES = 512_000
BULK_BYTES = 75_000_000
REPETITIONS = 3

STACKS: dict[str, tuple[str, dict[str, Any]]] = {
    "TCP CUBIC": ("tcp", {"congestion_control": "cubic"}),
    "TCP BBR": ("tcp", {"congestion_control": "bbr"}),
    "TCP Reno": ("tcp", {"congestion_control": "reno"}),
    "SCTP": ("sctp", {}),
}

SECURE_BYTES = {
    "tls-cubic": 25_000_000,
    "tls-sctp": 25_000_000,
    "quic-quinn-cubic": 25_000_000,
    "quic-s2n-cubic": 25_000_000,
    "restp-file": 25_000_000,
    "quic-aioquic-newreno": 2_500_000,
}
"""Protocols that work in user space, with what each carries: aioquic computes ten times as long."""

SECURE = """
[experiment]
name = "bench"
repetitions = 1
[scenario]
name = "constant"
rate = "{rate_bps}bit/s"
[link]
network = "rail-d34"
channel_delay = "{delay_s}s"
[matrix]
protocols = ["{protocol}"]
[workload]
app = "bulk"
size = "{size_bytes}B"
[record]
messages = false
sockets = false
packets = "none"
"""


PARTS = ("bulk", "logged", "secure", "paced", "ns3", "start", "disk")


def main() -> int:
    """Run the parts that were asked for; 0 when all of them could be measured."""
    parser = argparse.ArgumentParser(description="How fast virtual time is.")
    parser.add_argument("--only", choices=PARTS, action="append")
    parser.add_argument("--short", action="store_true", help="a fifth of the data")
    options = parser.parse_args()
    wanted = options.only or PARTS
    size = BULK_BYTES // (5 if options.short else 1)
    core = pool.usable_cores()[-1]
    figures: dict[str, Any] = {"host_cpu": _cpu(), "core": core, "bulk_bytes": size}
    if "bulk" in wanted:
        figures["bulk, nothing recorded"] = _bulk(size, core, {"messages": False, "packets": "none"})
    if "logged" in wanted:
        figures["bulk, every message's delay and every packet recorded"] = _bulk(
            size, core, {"messages": True, "packets": "headers", "socket_interval_s": 0.1}
        )
    if "secure" in wanted:
        figures["transports in user space, bulk, nothing recorded"] = _secure(options.short, core)
    if "paced" in wanted:
        figures["paced datagrams, every delay and packet recorded"] = _paced(core)
    if "ns3" in wanted:
        figures["ns-3, TCP CUBIC"] = _ns3(size, core)
    if "start" in wanted:
        figures["start of `gauntlet run` to the first guest's first packet"] = _start()
    if "disk" in wanted:
        figures["disk for a million messages"] = _disk()
    peak_kib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    figures["memory of the largest process started here"] = {"mebibytes": peak_kib / 1024}
    _print(figures)
    out = ROOT / "build"
    out.mkdir(exist_ok=True)
    (out / "bench.json").write_text(json.dumps(figures, indent=2) + "\n")
    return 0


def _plan(flows: list[dict[str, Any]], record: Mapping[str, Any]) -> dict[str, Any]:
    shaper = {"rate_bps": RATE_BPS, "queue_limit_bytes": QUEUE_BYTES}
    timeline = [{"at_s": 0.0, "link": link, **shaper} for link in ("rasa>ra", "rbsb>rb", "rcsc>rc")]
    timeline += [{"at_s": 0.0, "link": link, "delay_s": DELAY_S * 0.6} for link in ("ra>rabc", "rabc>ra")]
    timeline += [{"at_s": 0.0, "link": link, "delay_s": DELAY_S * 0.4} for link in ("rabc>rb", "rb>rabc")]
    run = {
        "id": "bench",
        "seed": 1,
        "limit_s": 3600.0,
        "network": {"preset": "rail-d34"},
        "timeline": timeline,
        "sysctls": dict(STOCK_SYSCTLS),
        "flows": flows,
        "record": {"socket_interval_s": None, "taps": None, **record},
    }
    return {"format": "gauntlet-plan", "version": 1, "runs": [run]}


def _flow(stack: str, params: Mapping[str, Any], app: str, app_params: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": "f0",
        "stack": stack,
        "stack_params": dict(params),
        "app": app,
        "app_params": dict(app_params),
        "from": "tc1",
        "to": "tsb1",
        "start_s": 1.0,
    }


def _timed(plan: Mapping[str, Any], core: int) -> dict[str, float]:
    """Play a plan a few times: virtual seconds, least wall seconds, largest resident memory of the guest."""
    machine = guest.Machine.installed()
    best: dict[str, float] = {}
    for _ in range(REPETITIONS):
        with tempfile.TemporaryDirectory(prefix="gauntlet-bench-") as folder:
            path = Path(folder) / "plan.json"
            path.write_text(json.dumps(plan))
            before = time.perf_counter()
            guest.boot(path, Path(folder) / "out", seed=1, machine=machine, core=core)
            wall_s = time.perf_counter() - before
            record = json.loads((Path(folder) / "out" / "bench" / "record.json").read_text())
        for flow in record["flows"]:
            if flow["outcome"] != "ok":
                raise SystemExit(f"the flow failed: {flow['reason']}")
        if not best or wall_s < best["wall_s"]:
            best = {"virtual_s": record["virtual_s"], "wall_s": wall_s}
    return best


def _bulk(size: int, core: int, record: Mapping[str, Any]) -> dict[str, Any]:
    parts = {
        name: _timed(_plan([_flow(stack, params, "bulk", {"size_bytes": size})], record), core)
        for name, (stack, params) in STACKS.items()
    }
    return _together(parts)


def _secure(short: bool, core: int) -> dict[str, Any]:
    parts = {}
    for protocol, size_bytes in SECURE_BYTES.items():
        text = SECURE.format(
            rate_bps=RATE_BPS,
            delay_s=DELAY_S,
            protocol=protocol,
            size_bytes=size_bytes // (5 if short else 1),
        )
        (spec,) = expand(parse_experiment(text, "bench", Path()))
        parts[protocol] = _timed(plan([replace(spec, id="bench")]), core)
    return _together(parts)


def _together(parts: dict[str, dict[str, float]]) -> dict[str, Any]:
    virtual_s = sum(part["virtual_s"] for part in parts.values())
    wall_s = sum(part["wall_s"] for part in parts.values())
    return {
        "virtual_s_per_wall_s": virtual_s / wall_s,
        "virtual_s": virtual_s,
        "wall_s": wall_s,
        "parts": parts,
    }


def _paced(core: int) -> dict[str, Any]:
    flow = _flow("udp", {}, "cbr", {"rate_bps": RATE_BPS, "message_size_bytes": 1448, "duration_s": 120.0})
    part = _timed(_plan([flow], {"messages": True, "packets": "headers"}), core)
    return {"virtual_s_per_wall_s": part["virtual_s"] / part["wall_s"], **part}


def _ns3(size: int, core: int) -> dict[str, Any]:
    """The same flow over a chain of the same length in ns-3 (Debian's libns3-dev)."""
    compiler = shutil.which("g++")
    if compiler is None or not Path("/usr/include/ns3").exists():
        return {"skipped": "ns-3 is not installed: apt-get install g++ libns3-dev"}
    modules = ["applications", "point-to-point", "internet", "traffic-control", "network", "core"]
    with tempfile.TemporaryDirectory(prefix="gauntlet-ns3-") as folder:
        program = Path(folder) / "line"
        source = ROOT / "benchmarks" / "ns3" / "line.cc"
        libraries = [f"-lns3-{name}" for name in modules]
        subprocess.run([compiler, "-O2", "-o", str(program), str(source), *libraries], check=True)
        runs = []
        for _ in range(REPETITIONS):
            answer = subprocess.run(
                [
                    "taskset",
                    "-c",
                    str(core),
                    str(program),
                    str(RATE_BPS),
                    str(DELAY_S),
                    str(QUEUE_BYTES),
                    str(size),
                ],
                check=True,
                capture_output=True,
                text=True,
            )
            runs.append(json.loads(answer.stdout))
    best: dict[str, Any] = min(runs, key=lambda run: run["wall_s"])
    return {"virtual_s_per_wall_s": best["virtual_s"] / best["wall_s"], **best}


def _start() -> dict[str, Any]:
    """Wall seconds from typing `gauntlet run` until the first guest captures: its flows start then."""
    times = []
    for _ in range(REPETITIONS):
        with tempfile.TemporaryDirectory(prefix="gauntlet-bench-") as folder:
            out = Path(folder) / "out"
            file = ROOT / "experiments" / "constant.toml"
            command = [sys.executable, "-m", "gauntlet", "run", str(file), "--out", str(out), "--quiet"]
            before = time.perf_counter()
            with subprocess.Popen(command, env=os.environ, stderr=subprocess.DEVNULL) as process:
                while process.poll() is None and not any(out.glob(".work-*/records/*/packets.bin")):
                    time.sleep(0.002)
                times.append(time.perf_counter() - before)
                process.send_signal(signal.SIGINT)
    return {"wall_s": min(times)}


def _disk() -> dict[str, Any]:
    """Bytes on disk of the messages of a million-message run, as the store writes them."""
    import pyarrow as pa

    from gauntlet.results import parquet

    machine = guest.Machine.installed()
    flow = _flow(
        "tcp", {"congestion_control": "bbr"}, "bulk", {"size_bytes": 20_000_000, "message_size_bytes": 100}
    )
    with tempfile.TemporaryDirectory(prefix="gauntlet-bench-") as folder:
        path = Path(folder) / "plan.json"
        path.write_text(json.dumps(_plan([flow], {"messages": True, "packets": "headers"})))
        guest.boot(path, Path(folder) / "out", seed=1, machine=machine, core=pool.usable_cores()[-1])
        with pa.OSFile(f"{folder}/out/bench/messages.arrow") as source:
            table = pa.ipc.open_file(source).read_all()
        parquet.write(table, Path(folder) / "messages.parquet")
        size = (Path(folder) / "messages.parquet").stat().st_size
    return {"messages": table.num_rows, "mebibytes_per_million": size / table.num_rows * 1e6 / 2**20}


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def _print(figures: Mapping[str, Any]) -> None:
    print(f"\n{figures['host_cpu']}, one core\n")
    for name, part in figures.items():
        if not isinstance(part, dict):
            continue
        if "skipped" in part:
            print(f"  {name}: not measured ({part['skipped']})")
        elif "virtual_s_per_wall_s" in part:
            print(f"  {name}: {part['virtual_s_per_wall_s']:.0f} virtual seconds per wall second")
            for inner, values in part.get("parts", {}).items():
                print(f"      {inner}: {values['virtual_s'] / values['wall_s']:.0f}")
        else:
            print(f"  {name}: " + ", ".join(f"{key} {value:.3g}" for key, value in part.items()))
    peers = figures.get("ns-3, TCP CUBIC", {})
    ours = figures.get("bulk, nothing recorded", {})
    if "virtual_s_per_wall_s" in peers and ours:
        cubic = ours["parts"]["TCP CUBIC"]
        ratio = cubic["virtual_s"] / cubic["wall_s"] / peers["virtual_s_per_wall_s"]
        print(f"\n  virtual-time kernel to ns-3, same flow (TCP CUBIC): {ratio:.1f} times as fast")


if __name__ == "__main__":
    sys.exit(main())
