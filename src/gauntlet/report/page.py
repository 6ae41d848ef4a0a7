"""The page: everything the report says put into one HTML file that needs nothing but a browser."""

import re
import shlex
from collections.abc import Mapping
from typing import Any

from gauntlet import units
from gauntlet.advice.shown import shown as shown_advice
from gauntlet.advice.use import Advice
from gauntlet.figures.heat import MARKS, HeatCell, HeatTable
from gauntlet.figures.link import COLOURS
from gauntlet.figures.look import INK
from gauntlet.figures.look import PALETTE as OF_LOAD
from gauntlet.figures.map import COLOURS as OF_MAP
from gauntlet.figures.network import COLOURS as OF_NETWORK
from gauntlet.figures.style import on_dark
from gauntlet.metrics.compare import tellable, too_few
from gauntlet.metrics.numbers import counted, number
from gauntlet.report import own_network
from gauntlet.report.answer import RULES, further, opening
from gauntlet.report.contents import Figures
from gauntlet.report.document import render
from gauntlet.report.evaluation import Evaluation
from gauntlet.report.heat import heat_table
from gauntlet.report.in_path import COLUMNS, RECEIVED, doings, received
from gauntlet.report.kpi_order import KPI_ORDER
from gauntlet.report.nodes import COLUMNS as OF_NODE
from gauntlet.report.nodes import usage
from gauntlet.report.subjects import own_stacks
from gauntlet.report.tails import legend_of
from gauntlet.report.tails import tables as tail_tables
from gauntlet.report.threats import COLUMNS as OF_THREAT
from gauntlet.report.threats import WORDS as THREAT_WORDS
from gauntlet.report.threats import verdicts
from gauntlet.report.trust import trust
from gauntlet.results.manifest import Manifest

INSTANTS = {
    "wire": "from the packets that reached the receiver",
    "kernel": "from the receiving kernel's stamps",
    "application": "when the receiving application woke",
}
"""What `delivery_instants` of the record mean."""


def html(evaluation: Evaluation, figures: Figures, advice: Advice) -> str:
    """The whole report as one HTML page."""
    found, threats = trust(evaluation), verdicts(evaluation)
    manifest = evaluation.results.manifest
    shown = figures.series.shown if figures.series else []
    # What is in the background comes behind what is judged.
    parts = sorted(evaluation.parts, key=lambda part: part.background)
    tables = [(part, _heat(part)) for part in parts]
    heat = [table for _, of_part in tables for table in of_part]
    kept = tail_tables(part for part in evaluation.parts if part.asked is not None)
    slowest = tail_tables(part for part in evaluation.parts if part.asked is None)
    return render(
        "report.html.j2",
        more_css=("use.css",),
        title=evaluation.title,
        question=evaluation.about.question,
        subtitle=_subtitle(evaluation),
        protocol_css=_protocol_css(evaluation, figures),
        trust=found,
        use=shown_advice(advice),
        opening=opening(evaluation, threats),
        opening_title="What was asked" if any(it.asked for it in evaluation.parts) else "The answer",
        kept=kept,
        slowest=slowest,
        kept_words=legend_of(kept),
        slowest_words=legend_of(slowest),
        sentences=further(evaluation),
        rules=RULES,
        heat=heat,
        results=[
            (part.subject, part.background, of_part, _results(part, of_part))
            for part, of_part in tables
            if of_part
        ],
        marks=MARKS,
        ranked=any(part.ranked for part in evaluation.parts),
        legend=[it for name, it in MARKS.items() if name != "best" and any(it in of.marks for of in heat)],
        few_words=_few(evaluation),
        interval=evaluation.interval,
        starred=any(MARKS["best"] in of.marks for of in heat),
        place_of={style.key: place for place, style in enumerate(evaluation.styles)},
        apart=any(0 < len(part.ranked) < len(part.styles) for part in evaluation.parts),
        repetitions=_repetitions(heat),
        repetition_numbers=evaluation.repetitions,
        repetitions_over_time=figures.series.repetitions if figures.series else [],
        figures=figures,
        link_words=_link_words(evaluation, drawn=bool(figures.link)),
        conditions=[evaluation.label(condition) for condition in evaluation.conditions],
        styles=evaluation.styles,
        instants_words=INSTANTS,
        in_path=doings(evaluation),
        in_path_columns=[name.replace("_", " ") for name in COLUMNS],
        received=received(evaluation),
        received_columns=list(RECEIVED),
        threats=threats,
        threat_columns=OF_THREAT,
        threat_words=THREAT_WORDS,
        usage=usage(evaluation),
        usage_columns=OF_NODE,
        shown=shown[0] if shown else {},
        first_doubtful=[run["run"] for run in shown if not run["trusted"]],
        provenance=_provenance(manifest, evaluation.kernel),
        again=_again(manifest),
        in_real_time=manifest.in_real_time,
        experiment=evaluation.results.experiment,
        page_data=_page_data(figures),
    )


def _heat(part: Evaluation) -> list[HeatTable]:
    """The tables of flows with the same work, the one that they are judged by first. Those of the slowest
    messages that nobody is judged by stand side by side elsewhere.
    """
    main = part.main_kpi
    shown = [kpi for kpi in part.kpis if kpi is main or kpi.name in KPI_ORDER or not kpi.of_tail]
    return [heat_table(part, kpi) for kpi in sorted(shown, key=lambda kpi: kpi is not main)]


def _repetitions(heat: list[HeatTable]) -> str:
    """The n of the cells in words; it stands in each cell's tooltip, too. Empty cells have none."""
    found = {cell.repetitions for table in heat for *_, cells in table.rows for cell in cells}
    counts = sorted(found - {0})
    if not counts:
        return ""
    if len(counts) == 1:
        return f"n = {counts[0]} in every cell{' that has a number' if 0 in found else ''}."
    return f"n = {counts[0]} to {counts[-1]}: point at a cell, or see All results."


def _few(evaluation: Evaluation) -> str:
    """Why nothing is marked but the best, where that is for want of repetitions."""
    count = len(evaluation.repetitions)
    return "" if tellable(count) else too_few(count)


def _results(
    evaluation: Evaluation, heat: list[HeatTable]
) -> list[tuple[str, list[tuple[str, int, int, str, list[HeatCell]]]]]:
    """By condition: (protocol, its place in the styles, n, completed flows, cells of every KPI)."""
    found = []
    places = {style.key: place for place, style in enumerate(evaluation.whole)}
    for place, condition in enumerate(evaluation.conditions):
        rows = []
        for position, style in enumerate(evaluation.styles):
            cells = [table.rows[position][3][place] for table in heat]
            done, of = evaluation.done(style.key, condition)
            n = max((cell.repetitions for cell in cells), default=0)
            rows.append((style.label, places[style.key], n, f"{done} of {of}" if of else "", cells))
        found.append((evaluation.label(condition), rows))
    return found


def _page_data(figures: Figures) -> dict[str, Any]:
    return {
        "figures": {figure.name: {"spec": figure.spec, "csv": figure.csv} for figure in figures.all()},
        "series": figures.series.runs if figures.series else [],
    }


def _protocol_css(evaluation: Evaluation, figures: Figures) -> str:
    """Colours of the protocols in tables, and for a dark page lighter ones everywhere, figures too."""
    rules = []
    for place, style in enumerate(evaluation.styles):
        line = "solid" if not style.dash else "dotted" if sum(style.dash) < 6 else "dashed"
        rules.append(f".p-{place} {{ border-top-color: {style.colour}; border-top-style: {line}; }}")
    rules.append("@media screen and (prefers-color-scheme: dark) {")
    for place, style in enumerate(evaluation.styles):
        rules.append(f".p-{place} {{ border-top-color: {style.dark_colour}; }}")
    drawn = {style.colour for style in evaluation.styles} | COLOURS
    drawn |= OF_NETWORK | OF_MAP | set(OF_LOAD)
    drawn |= figures.series.colours if figures.series else set()
    return "\n".join([*rules, *on_dark(drawn), f'.chart svg [stroke="{INK}"] {{ stroke: var(--ink); }}', "}"])


def _subtitle(evaluation: Evaluation) -> str:
    scenario = evaluation.results.scenario or {}
    parts = [str(scenario["title"])] if scenario.get("title") else []
    # Those of the matrix: what a flow names for itself is the same in all runs.
    entries = {str(run.spec.get("factors", {}).get("protocol", "")) for run in evaluation.results.runs()}
    protocols = {protocol for entry in entries for protocol in entry.split("+")}
    parts.append(counted(len(protocols), "stack" if own_stacks(protocols) else "protocol"))
    parts += [
        f"{factor.words} {' / '.join(factor.label(value) for value in factor.values)}"
        for factor in evaluation.factors
    ]
    parts += [f"{words} {label}" for words, label in evaluation.constants.items()]
    parts.append(counted(len(evaluation.repetitions), "repetition"))
    if evaluation.kernel:
        time = "real" if evaluation.results.manifest.in_real_time else "virtual"
        parts.append(f"Linux {evaluation.kernel}, in {time} time")
    return " · ".join(parts)


def _delay_words(delay_s: float) -> str:
    """A delay of a link: milliseconds on Earth, and up to hours and days for links through space."""
    for unit, scale in (("days", 86_400), ("hours", 3600), ("s", 1)):
        if delay_s >= 2 * scale:
            return f"{number(delay_s / scale)} {unit}"
    return f"{number(delay_s * 1e3)} ms"


def _link_words(evaluation: Evaluation, *, drawn: bool) -> str:
    """What is said of a link that has no strip, and of a network of one's own."""
    scenario = evaluation.results.scenario
    if scenario is None and evaluation.results.map is not None:
        return own_network.map_words(evaluation.results.map)
    if scenario is None:
        return (
            "The runs had different scenarios, so there is no single strip; the capacity that each run "
            "met stands behind its time series below and in tables/links.parquet."
        )
    if "network" in scenario:
        return own_network.words(scenario["network"])
    if drawn:
        return ""
    words = []
    varied = any(factor.name in ("queue", "queue_bytes") for factor in evaluation.factors)
    for bearer, columns in sorted(scenario.get("bearers", {}).items()):
        size = units.spaced(units.format_size(columns["queue_limit_bytes"][0]))
        queue = "" if varied else f", a queue of {size} before the bottleneck"
        words.append(
            f"Bearer {bearer} does not change: {number(columns['rate_up_bps'][0] * 1e-6)} Mbit/s up and "
            f"{number(columns['rate_down_bps'][0] * 1e-6)} Mbit/s down, one-way delay "
            f"{_delay_words(columns['delay_up_s'][0])} up and "
            f"{_delay_words(columns['delay_down_s'][0])} down, "
            f"packet loss {number(columns['loss_up'][0] * 100)} % up and "
            f"{number(columns['loss_down'][0] * 100)} % down{queue}; conditions of the matrix come on top."
        )
    return " ".join(words)


def _provenance(manifest: Manifest, kernel: str) -> list[tuple[str, str]]:
    wall_s = sum(session.wall_s or 0.0 for session in manifest.sessions)
    last = manifest.sessions[-1] if manifest.sessions else None
    rows = [
        ("Command", shlex.join(manifest.command)),
        ("Experiment", manifest.name),
        ("Experiment file hash (SHA-256)", manifest.experiment_sha256),
        ("Seed", str(manifest.seed)),
        ("Options", ", ".join(f"{key} {value}" for key, value in sorted(manifest.options.items()))),
        ("Kernel", kernel or manifest.engine.get("kernel", "")),
        ("Kernel image hash (SHA-256)", manifest.engine.get("kernel_sha256", "")),
        ("Guest program hash (SHA-256)", manifest.engine.get("guest_sha256", "")),
        ("Player hash (SHA-256)", manifest.engine.get("player_sha256", "")),
        ("Versions", ", ".join(f"{name} {version}" for name, version in manifest.versions.items())),
        ("Host", host_words(manifest.host)),
        ("Started", manifest.sessions[0].started if manifest.sessions else ""),
        (
            "Wall time",
            f"{number(wall_s)} s in {counted(len(manifest.sessions), 'session')}" if wall_s else "",
        ),
        ("Workers", str(last.workers) if last and last.workers else ""),
    ]
    return [(what, value) for what, value in rows if value]


def host_words(host: Mapping[str, str | int]) -> str:
    """A host as a manifest has it, for people."""
    processor = re.sub(r"\s+", " ", str(host.get("processor", "")))
    cores = f"{counted(int(host['cores']), 'core')}" if "cores" in host else ""
    system = f"{host.get('system', '')} {host.get('release', '')} on {host.get('machine', '')}".strip()
    return ", ".join(part for part in (processor, cores, system) if part)


def _again(manifest: Manifest) -> str:
    if manifest.in_real_time:
        return (
            "These runs were played in real time by the kernel of the host above. The command above with "
            "this experiment file and the same seed plays the same plans again; how they end depends on the "
            "machine and on what else it does, so that results are similar and not the same."
        )
    return (
        "Run the command above with this experiment file, the same seed, and a kernel image and guest "
        "program of the hashes above: every table in tables/ then has the same bytes, on any machine and "
        "with any number of workers. Tables are written with pyarrow "
        f"{manifest.versions.get('pyarrow', '')}; another version may encode the same values in other "
        "bytes. manifest.json is the only file that differs."
    )
