"""The page of `gauntlet attack run`: which attacks a server held, and how long its clients waited."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt

from gauntlet.attack.kinds import PROTOCOLS
from gauntlet.attack.laboratory import Found
from gauntlet.attack.requests import delays, served_share
from gauntlet.attack.run import Outcome
from gauntlet.attack.survival import Curve
from gauntlet.attack.verdict import BROKEN, GROWTH_BYTES, HELD, INVALID, SERVED, SLOWER, SLOWER_S
from gauntlet.figures.look import Look, finished, multiple_width, small_multiples
from gauntlet.figures.style import on_dark
from gauntlet.figures.tidy import add, data, in_order
from gauntlet.metrics.numbers import MISSING, counted, number
from gauntlet.report.document import render
from gauntlet.results.files import failures_named, write_whole

PAGE = "report.html"
"""Its name in the folder that is asked for."""

ATTACKED, ALONE = "attacked", "left alone"
_CURVES = "curves"
_SHORTEST_S = 1e-4
"""Where curves begin that have no earlier step: a log axis has no zero."""
_HEADS = (
    "Served",
    "Half by",
    "Half by, left alone",
    "Server, of a core",
    "Process grew by",
    "Sockets grew by",
    "Begun by the attacker",
)
"""Of the columns of numbers, in the order that a row has them."""
_BADGES = {HELD: "good", BROKEN: "bad", INVALID: "none"}

RULES = (
    f"Held: at least {SERVED:.0%} of the honest requests were served, and half of them within {SLOWER:g} "
    f"times what the same server takes while nobody attacks, or within {SLOWER_S * 1e3:g} ms; process and "
    f"sockets grew by at most {GROWTH_BYTES / 1e6:g} MB, or by what is allowed for each connection that was "
    "held; what was slow was closed in time, where the server's time-outs are known.",
    "Broken: one of these was not so. Invalid: the run tells nothing, since attacker, client or machine was "
    "at its limit.",
    "A request that was not served counts: in the curves it is one that takes longer than the limit.",
    "All of it is on loopback: no loss, hardly any delay. It is about computing, memory and limits.",
)


@dataclass(frozen=True)
class About:
    """What the page says of how it came about."""

    command: Sequence[str]
    server: str
    version: str
    libraries: Mapping[str, str]
    """What the server says that it is built of, by version."""
    of_a_core: float | None
    """What the server had of a core; None: all of it."""
    machine: Mapping[str, Any]
    whole: bool = True
    """Whether all was played that was asked for."""


def write(found: Sequence[Found], folder: Path, about: About) -> Path:
    """Write the page into a folder and return its place. Raises RunError when it cannot be written."""
    text = html(found, about)
    place = folder / PAGE
    with failures_named(f"write the page {place}"):
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(place, text.encode())
    return place


def html(found: Sequence[Found], about: About) -> str:
    """The whole page."""
    told = [it for it in found if it.verdict.verdict != INVALID]
    specs = {_CURVES: finished(_curves(told))} if told else {}
    rows = [_row(it) for it in found]
    shown = [place for place in range(len(_HEADS)) if any(row["numbers"][place] != MISSING for row in rows)]
    return render(
        "attack.html.j2",
        more_css=("evidence.css", "attack.css"),
        protocol_css=_dark(),
        page_data={"figures": {name: {"spec": spec} for name, spec in specs.items()}, "series": []},
        title="A server under attack",
        subtitle=f"{about.server} · {counted(len(found), 'attack')}",
        answer=_answer(found, whole=about.whole),
        heads=[_HEADS[place] for place in shown],
        rows=[{**row, "numbers": [row["numbers"][place] for place in shown]} for row in rows],
        figures=list(specs),
        rules=RULES,
        provenance=_provenance(about),
    )


def _answer(found: Sequence[Found], *, whole: bool) -> str:
    counts = {name: sum(it.verdict.verdict == name for it in found) for name in (HELD, BROKEN, INVALID)}
    played = counted(len(found), "attack")
    words = f"{counts[HELD]} of {played} held, {counts[BROKEN]} broken, {counts[INVALID]} invalid."
    return words if whole else f"{words} The run was broken off: not all was played that was asked for."


def _row(found: Found) -> dict[str, Any]:
    """An attack as the table has it; of an invalid run there is no number."""
    verdict, attack = found.verdict.verdict, found.attacked.run.attack
    assert attack is not None
    totals = found.attacked.attacker or {}
    told = verdict != INVALID
    return {
        "attack": found.kind.key,
        "about": found.kind.about,
        "over": PROTOCOLS[found.protocol],
        "dose": f"{attack.dose:g} {'held' if found.kind.dose == 'held' else 'a second'}",
        "verdict": verdict,
        "css": _BADGES[verdict],
        "why": list(found.verdict.why),
        "numbers": [
            _served(found.attacked),
            _median(found.attacked),
            _median(found.alone),
            _percent(found.attacked.server_cpu_share),
            f"{number(found.attacked.process_growth_bytes / 1e6)} MB",
            f"{number(found.attacked.kernel_growth_bytes / 1e6)} MB",
            f"{totals.get('sent', 0)} of {totals.get('offered', 0)}",
        ]
        if told
        else [MISSING] * len(_HEADS),
    }


def _served(outcome: Outcome) -> str:
    asked = outcome.during_attack()
    return f"{served_share(asked):.1%} of {len(asked)}" if asked else MISSING


def _median(outcome: Outcome) -> str:
    curve = _curve(outcome)
    if curve is None:
        return MISSING
    time_s = curve.quantile_s(0.5)
    return f"more than {curve.limit_s:g} s" if time_s is None else f"{number(time_s * 1e3)} ms"


def _percent(share: float | None) -> str:
    return MISSING if share is None else f"{number(share * 100)} %"


def _curve(outcome: Outcome) -> Curve | None:
    """The survival curve of a run; None where nobody asked for anything meanwhile."""
    asked = outcome.during_attack()
    return delays(asked, outcome.run.client.limit_s) if asked else None


def _curves(found: Sequence[Found]) -> alt.FacetChart:
    """Survival curves, one small multiple an attack and protocol, with their 95 % intervals."""
    columns: dict[str, list[Any]] = {
        name: [] for name in ("condition", "protocol", "value", "unserved", "low", "high")
    }
    for it in found:
        for series, outcome in ((ATTACKED, it.attacked), (ALONE, it.alone)):
            for time_s, *shares in _steps(_curve(outcome)):
                add(columns, f"{it.kind.key} over {it.protocol}", series, time_s * 1e3, *shares)
    order = in_order(columns["condition"])
    colour = _look().colour(lines=True)
    axis = alt.Axis(format="%", title="requests not served yet", tickCount=5)
    scale = alt.Scale(type="log", nice=False)
    title = "time since the request was due (ms, log axis)"
    base = alt.Chart().encode(x=alt.X("value:Q", title=title, scale=scale))
    band = base.mark_area(opacity=1, fillOpacity=0.12, interpolate="step-after").encode(
        color=colour, y=alt.Y("low:Q", axis=axis, scale=alt.Scale(domain=[0, 1])), y2="high:Q"
    )
    line = base.mark_line(interpolate="step-after").encode(
        color=colour,
        y=alt.Y("unserved:Q", axis=axis),
        tooltip=[
            alt.Tooltip("protocol:N", title="server"),
            alt.Tooltip("value:Q", title="ms", format=".3~s"),
            alt.Tooltip("unserved:Q", title="not served yet", format=".1%"),
        ],
    )
    width = multiple_width(len(order))
    layered = alt.layer(band, line, data=data(columns))
    return small_multiples(layered.properties(width=width, height=min(width * 0.62, 210)), order)


def _steps(curve: Curve | None) -> Iterator[tuple[float, float, float, float]]:
    """Time, share and its interval where a curve changes, from its beginning to the limit."""
    if curve is None:
        return
    first_s = min((step.time_s for step in curve.steps), default=2 * _SHORTEST_S)
    shares = (1.0, 1.0, 1.0)
    yield (max(first_s / 2, _SHORTEST_S / 2), *shares)
    for step in curve.steps:
        shares = (step.unserved, step.low, step.high)
        yield (step.time_s, *shares)
    yield (curve.limit_s, *shares)


def _look() -> Look:
    return Look.of_values((ATTACKED, ALONE), (ATTACKED, ALONE), protocols=False)


def _dark() -> str:
    """Lighter colours for a dark page."""
    return "\n".join(["@media screen and (prefers-color-scheme: dark) {", *on_dark(_look().colours), "}"])


def _provenance(about: About) -> list[tuple[str, str]]:
    share = "all of it" if about.of_a_core is None else f"{about.of_a_core:.0%}"
    machine = [(name.replace("_", " ").capitalize(), _plain(it)) for name, it in about.machine.items()]
    rows = [
        ("Command", shlex.join(about.command)),
        ("Server", about.server),
        ("Version of the server", about.version),
        ("Libraries of the server", ", ".join(map(" ".join, about.libraries.items()))),
        ("What the server had of a core", share),
        *machine,
    ]
    return [(what, words) for what, words in rows if words]


def _plain(value: Any) -> str:
    if value is None:
        return ""
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
