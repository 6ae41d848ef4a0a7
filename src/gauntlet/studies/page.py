"""The page of a study: its claims first, then every figure, what differs and why, trust, provenance."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gauntlet.advice.shown import shown as shown_advice
from gauntlet.advice.use import Advice
from gauntlet.errors import NotMeasured
from gauntlet.figures.kind import Chart, Table
from gauntlet.figures.look import GRID, HALF_WIDTH, INK, MUTED, PAGE_WIDTH, finished
from gauntlet.figures.style import on_dark
from gauntlet.metrics.numbers import counted, grouped, listed, number
from gauntlet.report.document import render
from gauntlet.report.page import host_words
from gauntlet.results.files import failures_named, write_whole
from gauntlet.studies import use
from gauntlet.studies.calibrated import behind
from gauntlet.studies.decide import FEWEST_REPETITIONS, Decision, Verdict
from gauntlet.studies.explained import explained
from gauntlet.studies.judging import MEASURED, Judged, beside, counts, measured, not_played
from gauntlet.studies.model import Figure, Study
from gauntlet.studies.registration import Registration
from gauntlet.studies.summary import Summary

PAGE = "report.html"
"""Name of the page in the study's results folder."""

RULES = (
    "A claim is decided by a rule and a bound that stand in the study's ledger, with the reason for the "
    "bound, before the result is known.",
    "The rule gives a mean over repetitions with its 95 % confidence interval (bootstrap by repetition "
    "from eight repetitions on, Student's t below). n counts repetitions, never packets. Comparisons "
    "are paired: in one repetition every protocol met the same stretch of the link with the same draws. "
    "Ratios are averaged by their logarithms (geometric mean); where a side is zero in some repetition, the "
    "ratio of the means is taken, with Fieller's interval, and the verdict says so.",
    "Flows that failed stay in the numbers: what did not end counts with its run's limit, what was never "
    "established has a throughput of 0. Where nothing arrived in some repetition, there is no mean over the "
    "others, and the claim is undecided.",
    "Deterministic: nothing was drawn, so all repetitions are the same one. That is one observation, n = 1, "
    "without an interval; it decides by itself, for just these settings.",
    "Reproduced: the whole interval lies on the claim's side of the bound. Not reproduced: the whole "
    "interval lies on the other side. Undecided: the bound lies inside the interval, or there are fewer "
    f"than {FEWEST_REPETITIONS} repetitions, or what is needed was not run.",
    "A claim of several parts is reproduced when every part is, and not reproduced when one part is not "
    "at a confidence that allows for the number of parts (Bonferroni). The number shown is that of the "
    "part that decides: the first that fails, else the first that is undecided, else the first. Of one that "
    "fails the interval is at that confidence, so it is wider than the part's own in the list of parts.",
    "Only measured claims are counted. Calibrated: a parameter was chosen so that the value is met. By "
    "formula: nothing was played. Unavoidable: it cannot come out otherwise. Each says why.",
    "Where a study has a registration, rules, experiments and a seed of which nothing had been seen were "
    "fixed in it before the runs; a claim that departs from it is shown and not counted.",
    "A sentence that can be read in several ways is judged in each; where they differ, it is undecided.",
    "Each verdict is made at 95 % for itself: of a hundred claims that sit exactly on their bounds, "
    "chance would decide up to five.",
    "Runs that failed or whose certificate did not hold are left out, and said.",
)

_MARKS = {
    Verdict.REPRODUCED: {"mark": "✓", "css": "good", "css_class": "reproduced"},
    Verdict.NOT_REPRODUCED: {"mark": "✗", "css": "bad", "css_class": "not-reproduced"},
    Verdict.UNDECIDED: {"mark": "?", "css": "undecided", "css_class": "undecided"},
}
_COLOUR = re.compile(r'"(#[0-9A-Fa-f]{6})"')
_NUMBER = re.compile(r"^[−-]?[\d.,]+( ?\S{1,7})?( \[.*\])?$|^–?$")
_COUNT = re.compile(r"^\d+ of \d+ [a-z ]+(, median [\d.,]+)?$")
"""How many came to their end, and the median of all, as tables have it where not all did."""
_PART = re.compile(r" (?=\[|median )")
"""Where a cell of numbers may break: before an interval or a median."""


@dataclass(frozen=True)
class About:
    """What the page says of how it came about."""

    command: Sequence[str]
    words: str
    """Of what results it speaks."""
    quick: bool = False
    advice: Advice | None = None
    """What to use; made from the results unless it is given."""


@dataclass(frozen=True)
class _Shown:
    """A figure with its panels as the template has them."""

    figure: Figure
    panels: list[dict[str, Any]]
    specs: dict[str, dict[str, Any]] = field(default_factory=dict)
    missing: str = ""
    claims: Sequence[Judged] = ()


def write(study: Study, summary: Summary, judged: Sequence[Judged], folder: Path, about: About) -> Path:
    """Write the page into a folder and return its place. Raises RunError when it cannot be written."""
    text = html(study, summary, judged, about)
    place = folder / PAGE
    with failures_named(f"write the page {place}"):
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(place, text.encode())
    return place


def html(study: Study, summary: Summary, judged: Sequence[Judged], about: About) -> str:
    """The whole page."""
    shown = [_drawn(figure, summary, judged) for figure in study.figures]
    specs = {name: spec for it in shown for name, spec in it.specs.items()}
    manifest = summary.manifest()
    trusted = sum(int(part["trusted"]) for part in manifest.values())
    told = about.advice or use.advice(study, summary)
    return render(
        "study.html.j2",
        more_css=("use.css", "study.css"),
        protocol_css=_dark(specs),
        page_data={"figures": {name: {"spec": spec} for name, spec in specs.items()}, "series": []},
        title=study.title,
        citation=study.citation,
        subtitle=_subtitle(study, summary, about),
        warning=_warning(study, summary, about),
        marks=_MARKS,
        counts=list(counts(measured(judged)).items()),
        tabs=list(counts(judged).items()),
        answer=_answer(judged),
        compared=_compared,
        not_counted=beside(judged),
        measured=len(measured(judged)),
        headlines=_headlines(study, judged),
        use=shown_advice(told) if told.classes or told.settings else None,
        explained=explained(judged, study.causes),
        claims=[_claim(it, study) for it in judged],
        figure_names={figure.key: figure.name or figure.title for figure in study.figures},
        rules=RULES,
        figures=[_figure(it, study) for it in shown],
        notes=study.notes,
        runs=summary.runs,
        trusted=trusted,
        trust_words=grouped(f"{trusted} of {counted(summary.runs, 'run')} are trusted."),
        trust=[{**part, "name": name, "done": _done(summary, name)} for name, part in manifest.items()],
        silent=any(summary.flows_done(name)[0] is None for name in manifest),
        benches=[_bench(name, part, study) for name, part in summary.bench_manifest().items()],
        provenance=_provenance(manifest, about, Registration.of(study)),
        times=_times(manifest),
    )


def _bench(name: str, part: Mapping[str, Any], study: Study) -> dict[str, Any]:
    """What the page says of a bench: what it measures, how often, on which machine, by which command."""
    own = study.bench(name)
    machine = {key: value for key, value in part["machine"].items() if value not in (None, "", [])}
    return {
        "name": name,
        "about": own.bench.about if own else "",
        "quick": part["quick"],
        "repetitions": part["repetitions"],
        "rows": part["rows"],
        "samples": f"{part['samples']:,}",
        "wall": _time(part["wall_s"]),
        "command": shlex.join(part["command"]),
        "machine": "; ".join(f"{key.replace('_', ' ')}: {_plain(value)}" for key, value in machine.items()),
    }


def _plain(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _done(summary: Summary, experiment: str) -> str:
    """How many flows did what they were to do; of summaries that do not say it, how many failed."""
    done, failed, flows = summary.flows_done(experiment)
    return f"{failed} of {flows} failed" if done is None else f"{done} of {flows} completed"


def _answer(judged: Sequence[Judged]) -> str:
    """How many of the study's measured claims hold, in one sentence."""
    those = measured(judged)
    if not those:
        return "Nothing that decides a claim was played."
    held = counts(those)
    what = "claim" if len(those) == len(judged) else "measured claim"
    return (
        f"{held[Verdict.REPRODUCED]} of {counted(len(those), what)} reproduced, "
        f"{held[Verdict.NOT_REPRODUCED]} not, {held[Verdict.UNDECIDED]} undecided."
    )


def _compared(decision: Decision) -> str:
    """`Decision.compared` with commas between thousands, but not in names: RSA 2048 stays what it is."""
    if not decision.against:
        return grouped(decision.shown)
    before, against, after = decision.compared.partition(decision.against)
    return grouped(before) + against + after


def _headlines(study: Study, judged: Sequence[Judged]) -> list[Judged]:
    """The claims that are shown first, in the order that the study names them."""
    by_id = {it.claim.id: it for it in judged}
    return [by_id[name] for name in study.headlines]


def _drawn(figure: Figure, summary: Summary, judged: Sequence[Judged]) -> _Shown:
    """The figure drawn from what there is; where something is missing, without panels and with the reason."""
    claims = [it for it in judged if figure.key in it.claim.figures]
    try:
        panels = figure.draw(summary)
    except NotMeasured as missing:
        return _Shown(figure, [], missing=f"Not drawn: {missing}", claims=claims)
    shown, specs = [], {}
    for place, panel in enumerate(panels):
        name = f"{figure.key}-{place + 1}"
        if isinstance(panel, Chart):
            specs[name] = finished(panel.chart)
            narrow = _width(specs[name]) <= HALF_WIDTH
            shown.append({"id": name, "caption": panel.caption, "rows": None, "narrow": narrow})
        else:
            shown.append(_table(panel))
    return _Shown(figure, shown, specs, claims=claims)


def _width(spec: Mapping[str, Any]) -> float:
    """How wide the views of a chart are, side by side."""
    if "facet" in spec:
        columns = min(int(spec.get("columns", 1)), len(spec["facet"].get("sort") or [0]))
        return columns * _width(spec["spec"])
    width = spec.get("width", PAGE_WIDTH)
    return float(width) if isinstance(width, int | float) else PAGE_WIDTH


def _table(panel: Table) -> dict[str, Any]:
    """Columns of numbers stand at their right end, with how many arrived among them."""
    columns = zip(*panel.rows, strict=True)
    numeric = [all(_NUMBER.match(cell) or _COUNT.match(cell) for cell in column) for column in columns]
    numeric += [False] * (len(panel.header) - len(numeric))
    rows = [[_cell(*it) for it in zip(row, numeric, strict=True)] for row in panel.rows]
    return {"caption": panel.caption, "header": panel.header, "rows": rows, "numeric": numeric}


def _cell(text: str, numeric: bool) -> dict[str, Any]:
    """A cell with its classes and the parts that stay whole."""
    if not numeric:
        return {"css": "", "parts": [text]}
    css = "num counted" if _COUNT.match(text) else "num"
    return {"css": css, "parts": _PART.split(grouped(text))}


def _figure(shown: _Shown, study: Study) -> dict[str, Any]:
    figure = shown.figure
    return {
        "key": figure.key,
        "name": figure.name,
        "title": figure.title,
        "caption": figure.caption,
        "printed": figure.printed,
        "panels": shown.panels,
        "missing": shown.missing,
        "calibrated": behind(study, figure.experiments),
        "claims": shown.claims,
    }


def _claim(judged: Judged, study: Study) -> dict[str, Any]:
    figures = {figure.key for figure in study.figures}
    return {
        "claim": judged.claim,
        "cause": study.causes.get(judged.claim.cause)
        if judged.decision.verdict == Verdict.NOT_REPRODUCED
        else None,
        "decision": judged.decision,
        "kind": "" if judged.group == MEASURED else judged.group,
        "departure": judged.departure,
        "readings": judged.readings,
        "experiments": listed(list(judged.claim.experiments(study)) or [""]),
        "figures": [key for key in judged.claim.figures if key in figures],
    }


def _dark(specs: Mapping[str, Any]) -> str:
    """Lighter colours for a dark page, of whatever colours the figures use."""
    used = set(_COLOUR.findall(json.dumps(specs))) - {INK, MUTED, GRID}
    return "\n".join(["@media screen and (prefers-color-scheme: dark) {", *on_dark(used), "}"])


def _subtitle(study: Study, summary: Summary, about: About) -> str:
    parts = summary.manifest().values()
    kernels = sorted({str(part["kernel"]) for part in parts} - {""})
    words = [
        about.words,
        f"{len(summary.experiments)} of {counted(len(study.experiments), 'experiment')}",
        *(
            [f"{len(summary.benches)} of {counted(len(study.benches), 'bench', 'benches')}"]
            if study.benches
            else []
        ),
    ]
    if summary.runs:
        words += [
            grouped(counted(summary.runs, "run")),
            f"{_time(sum(part['virtual_s'] for part in parts))} of virtual time",
        ]
    return " · ".join(words + ([f"Linux {', '.join(kernels)}"] if kernels else []))


def _warning(study: Study, summary: Summary, about: About) -> str:
    if about.quick:
        return (
            "This is a first look at some of the runs: few repetitions and conditions leave many claims "
            f"undecided. `gauntlet reproduce {study.key} --full` plays all."
        )
    return not_played(study, summary)


def _provenance(
    manifest: Mapping[str, Mapping[str, Any]], about: About, registered: Registration | None
) -> list[tuple[str, str]]:
    parts = list(manifest.values())
    wall_s, virtual_s = (sum(part[key] for part in parts) for key in ("wall_s", "virtual_s"))
    rows = [
        ("Command", shlex.join(about.command)),
        ("Registration hash (SHA-256)", registered.sha256 if registered else ""),
        ("Kernel", _each(parts, lambda part: part["kernel"])),
        ("Kernel image hash (SHA-256)", _each(parts, lambda part: part["engine"].get("kernel_sha256", ""))),
        ("Guest program hash (SHA-256)", _each(parts, lambda part: part["engine"].get("guest_sha256", ""))),
        ("Versions", _each(parts, lambda part: ", ".join(f"{k} {v}" for k, v in part["versions"].items()))),
        ("Host", _each(parts, lambda part: host_words(part["host"]))),
        ("Workers", _each(parts, lambda part: str(part["workers"] or ""))),
        ("Virtual time", _time(virtual_s)),
        (
            "Wall time",
            f"{_time(wall_s)}, {number(virtual_s / wall_s)} times as fast as real time" if wall_s else "",
        ),
    ]
    return [(what, value) for what, value in rows if value]


def _each(parts: Sequence[Mapping[str, Any]], of: Any) -> str:
    """What the experiments have in common, or all that they have."""
    return "; ".join(dict.fromkeys(value for part in parts if (value := of(part))))


def _times(manifest: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    ordered = sorted(manifest.items(), key=lambda item: -item[1]["wall_s"])
    return [
        {
            "name": name,
            "runs": part["runs"],
            "seed": part["seed"],
            "virtual": _time(part["virtual_s"]),
            "wall": _time(part["wall_s"]),
            "speed": number(part["virtual_s"] / part["wall_s"]) if part["wall_s"] else "–",
            "hash": part["experiment_sha256"][:12],
        }
        for name, part in ordered
    ]


def _time(seconds: float) -> str:
    """A duration for people: 42.1 s, 12.3 min, 4.56 h."""
    for limit, unit, size in ((120, "s", 1), (7200, "min", 60)):
        if seconds < limit:
            return f"{number(seconds / size)} {unit}"
    return f"{number(seconds / 3600)} h"
