"""Writes what `make bench` measured into docs/speed.md, between its marks: no figure is copied by hand.

Run it with `python benchmarks/publish.py` after a whole `make bench` on an otherwise idle machine. A mark is
`<!-- measured: NAME -->`, and what was measured ends at `<!-- end of NAME -->`.
"""

import argparse
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gauntlet.errors import UserError
from speed import program
from speed.host import sentence
from speed.turns import PEER

DOCUMENT = program.ROOT / "docs" / "speed.md"

GOALS: Mapping[tuple[str, str], float] = {
    ("bulk", "TCP CUBIC"): 7.0,
    ("bulk", "SCTP"): 3.0,
    ("logged", "TCP CUBIC"): 4.0,
    ("logged", "SCTP"): 1.8,
    ("secure", "quic-quinn-cubic"): 2.5,
}
"""How many times as fast as ns-3 with TCP CUBIC a stack is to be, by part and stack."""


STACKS = ("bulk", "logged", "secure", "paced")
"""Parts of `benchmarks/run.py` that have a table of stacks."""


def main() -> None:
    """Replace what stands between the marks."""
    parser = argparse.ArgumentParser(prog="benchmarks/publish.py", description=__doc__)
    parser.add_argument("--from", type=Path, default=program.ROOT / "build", dest="folder", metavar="FOLDER")
    parser.add_argument("--document", type=Path, default=DOCUMENT)
    chosen = parser.parse_args()
    text = chosen.document.read_text()
    for name, measured in sections(chosen.folder).items():
        text = replaced(text, name, measured, chosen.document)
    chosen.document.write_text(text)


def sections(folder: Path) -> dict[str, str]:
    """What each mark is followed by, from the JSON of the benchmarks in a folder."""
    names = ("run", "certificate", "results", "campaign")
    found = {name: _read(folder, name) for name in names}
    run, certificate, results, campaign = found.values()
    _must_belong_together(found, folder)
    return {
        "host": _host(run),
        "stacks": "\n\n".join(_stacks(name, run["parts"][name]) for name in STACKS),
        "rest": _rest(run["parts"], certificate["parts"], results),
        "campaign": campaign_parts(campaign),
        **{
            name: of(folder)
            for name, of in BY_THEMSELVES.items()
            if (folder / f"bench-{name}.json").is_file()
        },
    }


def replaced(text: str, name: str, measured: str, document: Path) -> str:
    """The document with other content at one mark; UserError when it has no such mark."""
    begin, end = f"<!-- measured: {name} -->", f"<!-- end of {name} -->"
    pattern = re.compile(re.escape(begin) + r".*?" + re.escape(end), re.DOTALL)
    if len(pattern.findall(text)) != 1:
        raise UserError(f"{document} should have one part from `{begin}` to `{end}`.")
    return pattern.sub(lambda _: f"{begin}\n{measured}\n{end}", text)


def _read(folder: Path, name: str) -> dict[str, Any]:
    file = folder / f"bench-{name}.json"
    if not file.is_file():
        raise UserError(f"There is no {file}; `make bench` writes it.")
    figures: dict[str, Any] = json.loads(file.read_text())
    if figures["short"]:
        raise UserError(f"{file} is of a short form, which measures nothing; run `make bench`.")
    if "skipped" in figures.get("parts", {}).get("ns3", {}):
        raise UserError(f"{file} lacks the comparison with ns-3 ({figures['parts']['ns3']['skipped']}).")
    return figures


def _must_belong_together(found: Mapping[str, Mapping[str, Any]], folder: Path) -> None:
    """UserError unless all is there, of the demo, and measured on one machine by one version."""
    if missing := [part for part in (*STACKS, "start", "disk") if part not in found["run"]["parts"]]:
        raise UserError(f"{folder / 'bench-run.json'} lacks {', '.join(missing)}; run `make bench`.")
    if found["campaign"]["experiment"] != "demo":
        raise UserError(f"{folder / 'bench-campaign.json'} is not of the demo; run `make bench`.")
    for name, figures in found.items():
        for what in ("cpu", "cores", "distribution", "kernel", "gauntlet"):
            one, other = found["run"]["host"][what], figures["host"][what]
            if one != other:
                raise UserError(
                    f"{folder / f'bench-{name}.json'} was measured elsewhere ({what}: {other}, and {one} in "
                    "bench-run.json); run the whole of `make bench` on one machine."
                )


def _host(run: Mapping[str, Any]) -> str:
    kernel = run["guest_kernel"]
    return (
        f"{sentence(run['host'])}. Guest kernel {kernel['version']}, recipe `{kernel['recipe_hash']}`, "
        f"source `{kernel['source_hash']}`. One pinned core, {run['rounds']} rounds."
    )


def _stacks(part: str, figures: Mapping[str, Any]) -> str:
    title: str = figures["title"]
    lines = [
        f"{title[0].upper()}{title[1:]}:",
        "",
        "| stack | virtual s per wall s | times ns-3 | in processor time | goal | resident MiB |",
        "|---|---|---|---|---|---|",
    ]
    for name, stack in figures["stacks"].items():
        goal = GOALS.get((part, name))
        reached = goal is not None and stack["times_ns3_wall"] >= goal
        ratio = "1" if name == PEER else f"{stack['times_ns3_wall']:.1f}"
        lines.append(
            f"| {name} | {stack['virtual_s_per_wall_s']:.0f} | {f'**{ratio}**' if reached else ratio} "
            f"| {'1' if name == PEER else format(stack['times_ns3_cpu'], '.1f')} "
            f"| {'' if goal is None else format(goal, 'g')} | {stack['peak_bytes'] / 2**20:.0f} |"
        )
    return "\n".join(lines)


def _kernels(folder: Path) -> str:
    figures = _read(folder, "kernels")
    rows = [
        f"| {name} | {stack['times_wall']:.2f} | {stack['times_cpu']:.2f} |"
        for name, stack in figures["stacks"].items()
    ]
    kernel = figures["guest_kernel"]
    return "\n".join(
        [
            f"{sentence(figures['host'])}. Guest kernel {kernel['version']}, recipe "
            f"`{kernel['recipe_hash']}`, beside {figures['other_kernel']['name']}; "
            f"{figures['rounds']} rounds of {figures['bytes'] / 1e6:g} MB:",
            "",
            "| stack | times as fast | in processor time |",
            "|---|---|---|",
            *rows,
        ]
    )


def _paths(folder: Path) -> str:
    figures = _read(folder, "paths")
    rows = [
        f"| {run['rate_bps'] / 1e6:g} | {run['protocol']} | {run['recorded']} "
        f"| {run['virtual_s_per_cpu_s']:.1f} | {run['peak_bytes'] / 2**20:.0f} |"
        for run in figures["runs"]
    ]
    return "\n".join(
        [
            f"{sentence(figures['host'])}. Guest kernel {figures['guest_kernel']['version']}. "
            f"One pinned core, {figures['runs'][0]['nodes']} nodes; "
            f"the best turn of each, of {figures['rounds']}:",
            "",
            "| Mbit/s a path | protocol | recorded | virtual s per processor s | resident MiB |",
            "|---|---|---|---|---|",
            *rows,
        ]
    )


BY_THEMSELVES: Mapping[str, Callable[[Path], str]] = {"kernels": _kernels, "paths": _paths}
"""What is published where it was measured, by mark: `make bench` does without."""


def _rest(parts: Mapping[str, Any], certificate: Mapping[str, Any], results: Mapping[str, Any]) -> str:
    steps = results["parts"]
    rows = {
        "start of `gauntlet run` to the first guest's capture": f"{parts['start']['wall_s']:.2f} s",
        f"certificate of {certificate['packets']:,} captured packets": f"{certificate['whole_s']:.2f} s",
        "a million messages on disk, made-up delays": f"{steps['stored_bytes'] / results['count']:.1f} MB",
        "a million messages on disk, a real TCP flow": f"{parts['disk']['mebibytes_per_million']:.2f} MiB",
        f"{results['count']:,} messages stored": f"{steps['store_messages_s']:.2f} s",
        f"{results['count']:,} messages read": f"{steps['read_messages_s']:.2f} s",
        "windows of a second and all KPIs of that flow": (
            f"{steps['windows_of_1_s_s'] + steps['all_kpis_of_the_flow_s']:.2f} s"
        ),
        f"{results['count']:,} packets as pcapng": f"{steps['pcapng_of_packets_s']:.2f} s",
    }
    return "\n".join(
        ["| what | measured |", "|---|---|", *(f"| {what} | {value} |" for what, value in rows.items())]
    )


def campaign_parts(figures: Mapping[str, Any]) -> str:
    """The table of benchmarks/campaign.py: where it was measured, and what each part takes."""
    parts = figures["cpu_s_of_parts"]
    rows = [
        f"| {name} | {spent_s:.1f} | {spent_s / figures['cpu_s']:.1%} |" for name, spent_s in parts.items()
    ]
    return "\n".join(
        [
            f"{sentence(figures['host'])}. {figures['runs']} runs of {figures['virtual_s']:,.0f} virtual "
            f"seconds took {figures['cpu_s']:.0f} s of one core, "
            f"{figures['cpu_s'] - parts['guest']:.0f} s not in a guest:",
            "",
            "| part | seconds of a core | share |",
            "|---|---|---|",
            *rows,
        ]
    )


if __name__ == "__main__":
    program.end(main)
