"""How fast runs over three long paths play: ResTP and MPTCP at 10 and at 100 Mbit/s a path, on one core.

The network is that of `experiments/geodiverse.toml`, the three paths 50 km apart, before anything fails:
greedy flows, once with nothing recorded and once with all that an experiment records unless told otherwise
(every message, every packet at every link). Run it with `python benchmarks/paths.py`; it prints virtual
seconds a second of one core, boot and power-off of the guest included, and writes `build/bench-paths.json`.
`--beside PLAYER` has another build of the guest program take turns with the installed one, and says how many
times as fast the installed one is.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gauntlet import engine
from gauntlet.engine import cores
from gauntlet.engine.hashes import sha256_of_file
from gauntlet.errors import UserError
from gauntlet.experiment import expand, parse_experiment, plan_run
from speed import line, program
from speed.host import guest_kernel, host, sentence
from speed.turns import Contender, Turn, figures, take_turns, times

PROTOCOLS: Mapping[str, tuple[str, str]] = {
    "mptcp-cubic": ("mptcp-cubic", ""),
    "restp-multipath": ("restp-multipath", ""),
    "restp-multipath-sparse": ("restp-multipath", "ack_every = 8\npacing = false"),
    "restp-standby": ("restp-standby", ""),
}
"""What is played, and further keys of its flow. Spreading also with one acknowledgement for eight packets and
as many at once as the window lets, so that a call of the sender hands over several.
"""
RECORDED: Mapping[str, str] = {
    "nothing": '[record]\nmessages = false\nsockets = false\npackets = "none"',
    "everything": "",
}
FULL_S: Mapping[int, float] = {10_000_000: 30.0, 100_000_000: 5.0}
"""Seconds that a flow sends, by the rate of a path."""
SHORT_S: Mapping[int, float] = {10_000_000: 0.3}
FULL_ROUNDS = 3

EXPERIMENT = """
[experiment]
name = "bench"
repetitions = 1
limit = "10min"
[network]
map = "us-fibre"
from = "Oklahoma City"
to = "Washington DC"
count = 3
method = "iwpsp"
rate = "{rate_bps}bit/s"
[matrix]
protocols = ["{protocol}"]
[workload]
app = "cbr"
rate = "max"
duration = "{duration_s}s"
{options}
{record}
"""


def main() -> None:
    """Play every protocol at every rate in turns, print and write how fast."""
    parser = program.options("paths", "How fast runs over three long paths play.", "a third of a second")
    parser.add_argument("--rounds", type=int, default=FULL_ROUNDS, help=f"turns of each ({FULL_ROUNDS})")
    parser.add_argument("--only", choices=PROTOCOLS, help="one protocol alone")
    parser.add_argument("--rate", type=int, metavar="MBIT", help="one rate alone, Mbit/s")
    parser.add_argument("--beside", type=Path, metavar="PLAYER", help="another build of the guest program")
    chosen = parser.parse_args()
    if chosen.beside is not None and not chosen.beside.is_file():
        raise UserError(f"There is no guest program {chosen.beside}.")
    durations = SHORT_S if chosen.short else FULL_S
    if chosen.rate is not None:
        durations = {rate: of for rate, of in durations.items() if rate == chosen.rate * 1_000_000}
    if not durations:
        raise UserError(f"There is no rate of {chosen.rate} Mbit/s here; choose 10 or 100.")
    core = cores.usable_cores()[-1]
    protocols = PROTOCOLS if chosen.only is None else (chosen.only,)
    rounds = 1 if chosen.short else chosen.rounds
    measured: dict[str, Any] = {
        "host": host(),
        "guest_kernel": guest_kernel(),
        "guest_program_sha256": sha256_of_file(engine.player_binary()),
        "short": chosen.short,
        "rounds": rounds,
        "runs": [],
    }
    print(f"{sentence(measured['host'])}; core {core}, rounds: {rounds}", flush=True)
    print(f"  {'Mbit/s a path':>13}  {'':<24}{'recorded':<11}{'virtual s a CPU s':>18}", flush=True)
    for rate_bps, duration_s in durations.items():
        for protocol in protocols:
            for recorded in RECORDED:
                run = planned(protocol, rate_bps, duration_s, recorded)
                turns = take_turns(contenders(run, core, chosen.beside), rounds)
                found = {
                    "rate_bps": rate_bps, "protocol": protocol, "recorded": recorded,
                    "nodes": len(run["network"]["nodes"]), "duration_s": duration_s, **judged(turns),
                }  # fmt: skip
                measured["runs"].append(found)
                print(in_words(found), flush=True)
    program.write(measured, chosen)


def planned(protocol: str, rate_bps: int, duration_s: float, recorded: str) -> dict[str, Any]:
    """The run (docs/formats/plan.md) of a greedy flow."""
    name, options = PROTOCOLS[protocol]
    text = EXPERIMENT.format(
        protocol=name, options=options, rate_bps=rate_bps, duration_s=duration_s, record=RECORDED[recorded]
    )
    (spec,) = expand(parse_experiment(text, "bench", Path()))
    return plan_run(replace(spec, id=line.RUN_ID))


def contenders(run: Mapping[str, Any], core: int, beside: Path | None) -> dict[str, Contender]:
    """Who takes turns: the installed guest program, and the one beside it."""
    found = {"own": line.contender(run, core)}
    if beside is not None:
        found["beside"] = line.contender(run, core, guest_program=beside.resolve())
    return found


def judged(turns: Mapping[str, list[Turn]]) -> dict[str, Any]:
    """How fast the installed program was in its best turn, and how many times as fast as the other one."""
    found: dict[str, Any] = figures({"own": turns["own"]})["stacks"]["own"]
    if "beside" in turns:
        found["beside"] = figures({"beside": turns["beside"]})["stacks"]["beside"]
        found |= {f"times_{kind}": value for kind, value in times(turns["own"], turns["beside"]).items()}
    return found


def in_words(found: Mapping[str, Any]) -> str:
    """A run's line of the table."""
    beside = (
        f"  {found['beside']['virtual_s_per_cpu_s']:.1f} beside, {found['times_cpu']:.2f} times as fast"
        if "beside" in found
        else ""
    )
    return (
        f"  {found['rate_bps'] / 1e6:13g}  {found['protocol']:<24}{found['recorded']:<11}"
        f"{found['virtual_s_per_cpu_s']:>18.1f}{beside}"
    )


if __name__ == "__main__":
    program.end(main)
