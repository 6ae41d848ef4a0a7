"""The page: everything the report says put into one HTML file that needs nothing but a browser."""

import contextlib
import importlib.metadata
import json
import re
import shlex
from importlib.resources import files
from typing import Any

import jinja2
import vl_convert
from markupsafe import Markup

import gauntlet
from gauntlet.engine import cache_folder
from gauntlet.report.answer import RULES, sentences
from gauntlet.report.campaign import Campaign
from gauntlet.report.contents import Figures
from gauntlet.report.figures.link import DIRECTIONS
from gauntlet.report.heat import HeatCell, HeatTable, heat_table
from gauntlet.report.numbers import counted, number
from gauntlet.report.style import lightened
from gauntlet.report.trust import trust
from gauntlet.results.files import write_whole
from gauntlet.results.manifest import Manifest

_SNIPPET = "window.vegaEmbed = vegaEmbed;"
"""What the page needs of the bundled libraries."""


INSTANTS = {
    "wire": "from the packets that reached the receiver",
    "kernel": "from the receiving kernel's stamps",
    "application": "when the receiving application woke",
}
"""What `delivery_instants` of the record mean."""


def html(campaign: Campaign, figures: Figures) -> str:
    """The whole report as one HTML page."""
    main = campaign.main_kpi
    kpis = sorted(campaign.kpis, key=lambda kpi: kpi is not main)
    found = trust(campaign)
    manifest = campaign.results.manifest
    shown = figures.series.shown if figures.series else []
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, undefined=jinja2.StrictUndefined)
    heat = [heat_table(campaign, kpi) for kpi in kpis]
    page = environment.from_string(_text("report.html.j2")).render(
        title=campaign.title,
        question=campaign.question,
        subtitle=_subtitle(campaign),
        css=Markup(_text("report.css")),
        protocol_css=Markup(_protocol_css(campaign)),
        trust=found,
        sentences=sentences(campaign),
        rules=RULES,
        heat=heat,
        results=_results(campaign, heat),
        apart=len(campaign.ranked) < len(campaign.styles),
        repetitions=counted(len(campaign.repetitions), "repetition"),
        repetition_numbers=campaign.repetitions,
        figures=figures,
        link_words=_link_words(campaign),
        conditions=[campaign.label(condition) for condition in campaign.conditions],
        styles=campaign.styles,
        instants_words=INSTANTS,
        shown=shown[0] if shown else {},
        first_doubtful=[run["run"] for run in shown if not run["trusted"]],
        provenance=_provenance(manifest, campaign.kernel),
        again=_again(manifest),
        experiment=campaign.results.experiment,
        version=gauntlet.__version__,
        library=Markup(_library()),
        page_data=Markup(_embedded(_page_data(figures))),
        js=Markup(_text("report.js")),
    )
    return page.lstrip()


def _results(
    campaign: Campaign, heat: list[HeatTable]
) -> list[tuple[str, list[tuple[str, int, int, list[HeatCell]]]]]:
    """By condition: (protocol, its place in the styles, repetitions, cells of every KPI)."""
    found = []
    for place, condition in enumerate(campaign.conditions):
        rows = []
        for position, style in enumerate(campaign.styles):
            cells = [table.rows[position][3][place] for table in heat]
            rows.append((style.label, position, max((cell.repetitions for cell in cells), default=0), cells))
        found.append((campaign.label(condition), rows))
    return found


def _text(name: str) -> str:
    return files("gauntlet.report").joinpath("templates", name).read_text()


def _library() -> str:
    """Vega, Vega-Lite and vega-embed in one script, kept in the user's cache: bundling takes seconds."""
    kept = cache_folder() / "report" / f"vega-{importlib.metadata.version('vl-convert-python')}.js"
    try:
        return kept.read_text()
    except OSError:
        bundle = str(vl_convert.javascript_bundle(snippet=_SNIPPET))
    # A script element ends at its closing tag wherever that stands.
    bundle = bundle.replace("</script", "<\\/script")
    with contextlib.suppress(OSError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_whole(kept, bundle.encode())
    return bundle


def _embedded(value: Any) -> str:
    """JSON inside a script element."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).replace("</", "<\\/")


def _page_data(figures: Figures) -> dict[str, Any]:
    return {
        "figures": {figure.name: {"spec": figure.spec, "csv": figure.csv} for figure in figures.all()},
        "series": figures.series.runs if figures.series else [],
    }


def _protocol_css(campaign: Campaign) -> str:
    """Colours of the protocols in tables, and for a dark page lighter ones everywhere, figures too."""
    rules = []
    for place, style in enumerate(campaign.styles):
        line = "solid" if not style.dash else "dotted" if sum(style.dash) < 6 else "dashed"
        rules.append(f".p-{place} {{ border-top-color: {style.colour}; border-top-style: {line}; }}")
    rules.append("@media screen and (prefers-color-scheme: dark) {")
    for place, style in enumerate(campaign.styles):
        rules.append(f".p-{place} {{ border-top-color: {style.dark_colour}; }}")
    drawn = {style.colour for style in campaign.styles} | {colour for colour, _ in DIRECTIONS.values()}
    for colour in sorted(drawn):
        for part in ("stroke", "fill"):
            rules.append(f'.chart svg [{part}="{colour}"] {{ {part}: {lightened(colour)}; }}')
    return "\n".join([*rules, "}"])


def _subtitle(campaign: Campaign) -> str:
    scenario = campaign.results.scenario or {}
    parts = [str(scenario["title"])] if scenario.get("title") else []
    parts.append(counted(len(campaign.styles), "protocol"))
    parts += [
        f"{axis.words} {' / '.join(axis.label(value) for value in axis.values)}" for axis in campaign.axes
    ]
    parts += [f"{words} {label}" for words, label in campaign.constants.items()]
    parts.append(counted(len(campaign.repetitions), "repetition"))
    if campaign.kernel:
        parts.append(f"Linux {campaign.kernel}, in virtual time")
    return " · ".join(parts)


def _link_words(campaign: Campaign) -> str:
    """What is said of a link that has no strip."""
    scenario = campaign.results.scenario
    if scenario is None:
        return (
            "The runs rode different scenarios, so there is no single strip; the capacity that each run "
            "met stands behind its time series below and in tables/links.parquet."
        )
    words = []
    for bearer, columns in sorted(scenario.get("bearers", {}).items()):
        words.append(
            f"Bearer {bearer} does not change: {number(columns['rate_up_bps'][0] * 1e-6)} Mbit/s up and "
            f"{number(columns['rate_down_bps'][0] * 1e-6)} Mbit/s down, one-way delay "
            f"{number(columns['delay_up_s'][0] * 1e3)} ms up and {number(columns['delay_down_s'][0] * 1e3)} "
            f"ms down, packet loss {number(columns['loss_up'][0] * 100)} % up and "
            f"{number(columns['loss_down'][0] * 100)} % down, a queue of "
            f"{number(columns['queue_limit_bytes'][0] * 1e-3)} kB before the bottleneck; conditions of the "
            "matrix come on top."
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
        ("Versions", ", ".join(f"{name} {version}" for name, version in manifest.versions.items())),
        ("Host", _host(manifest)),
        ("Started", manifest.sessions[0].started if manifest.sessions else ""),
        (
            "Wall time",
            f"{number(wall_s)} s in {counted(len(manifest.sessions), 'session')}" if wall_s else "",
        ),
        ("Workers", str(last.workers) if last and last.workers else ""),
    ]
    return [(what, value) for what, value in rows if value]


def _host(manifest: Manifest) -> str:
    host = manifest.host
    processor = re.sub(r"\s+", " ", str(host.get("processor", "")))
    cores = f"{counted(int(host['cores']), 'core')}" if "cores" in host else ""
    system = f"{host.get('system', '')} {host.get('release', '')} on {host.get('machine', '')}".strip()
    return ", ".join(part for part in (processor, cores, system) if part)


def _again(manifest: Manifest) -> str:
    return (
        "Run the command above with this experiment file, the same seed, and a kernel image and guest "
        "program of the hashes above: every table in tables/ then has the same bytes, on any machine and "
        "with any number of workers. Tables are written with pyarrow "
        f"{manifest.versions.get('pyarrow', '')}; another version may encode the same values in other "
        "bytes. manifest.json is the only file that differs."
    )
