"""Whether visits of the laboratory's own client, in virtual time, are like those of a browser: the same sites
over the same line by headless Chromium from nginx, in real time (`gauntlet.traffic.browser`).

What an attack learns of a site is said of that client (`traffic_sites`); here it is said how far that is true
of Chromium: how many bytes and packets a visit has, how well an attack names it, and whether one that has
learnt from either knows the other's. A repetition has sites of its own.
"""

from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import count, islice
from typing import Any

import numpy as np
import pyarrow as pa

from gauntlet.attack.servers.nginx import NGINX
from gauntlet.benches.attack_common import Condition, planned
from gauntlet.benches.contract import REPETITION, SAMPLES, Bench, Measured, Plan, Tell
from gauntlet.benches.parts import Parts
from gauntlet.errors import RunError, UserError
from gauntlet.executor import engines
from gauntlet.experiment import seeds, sites
from gauntlet.metrics.kpi import Kpi
from gauntlet.space.machine import description
from gauntlet.traffic.attacks.registry import ATTACKS
from gauntlet.traffic.browser import chromium, files
from gauntlet.traffic.sequences import Sequences
from gauntlet.traffic.trials import Seen, Trial, told
from gauntlet.traffic.visits import Visits, played

CLIENT, BROWSER = "client", "browser"
_OVER = ("h2", "h3")
_ATTACKS = ("knn", "forest")
_SITES_FROM = 100_000
"""Beyond those of `traffic_sites`."""
_APART = 100
"""From the first site of a repetition to that of the next."""
_SHRINKS = 0.4
"""A file that changes is seldom shorter than this share of its median."""


@dataclass(frozen=True)
class _Scale:
    """How much is visited in a repetition, by either."""

    repetitions: int
    sites: int
    sessions: int
    visits: int


_FULL = _Scale(repetitions=4, sites=5, sessions=10, visits=2)
"""Twenty sites, each visited twenty times."""
_QUICK = _Scale(repetitions=3, sites=2, sessions=4, visits=1)


def conditions(quick: bool) -> list[Condition]:
    """What is tried."""
    return [
        {"over": over, "attack": attack, "learnt": learnt, "tried": tried}
        for over in _OVER
        for attack in _ATTACKS
        for learnt in (CLIENT, BROWSER)
        for tried in (CLIENT, BROWSER)
    ]


def sites_of(repetition: int, number: int) -> tuple[int, ...]:
    """The first sites of a repetition whose files are long enough to name each other, as browsers need it."""
    found = (site for site in count(_SITES_FROM + repetition * _APART) if _roomy(site))
    return tuple(islice(found, number))


def _roomy(site: int) -> bool:
    shrunk = (replace(it, size_bytes=round(_SHRINKS * it.size_bytes)) for it in sites.usual(site))
    return files.fits(tuple(shrunk))


def _ready() -> None:
    chromium.program()
    NGINX.ready()
    try:
        engines.installed()
        engines.installed("host")
    except RunError as error:
        raise UserError(str(error)) from None
    for name in _ATTACKS:
        ATTACKS[name].check()


def _measure(quick: bool, seed: int, tell: Tell, parts: Parts) -> Measured:
    scale = _QUICK if quick else _FULL
    laboratory, host = engines.installed(), engines.installed("host")
    programs = {"chromium": chromium.version(), "nginx": NGINX.version()}
    same = {"engine": laboratory.identity(), "host": host.identity(), **programs}
    rows: list[dict[str, Any]] = []
    raw: dict[str, pa.Table] = {}
    for repetition in range(1, scale.repetitions + 1):
        own = seeds.derive(seed, "browser", repetition)
        seen: dict[str, Sequences] = {}
        for over in _OVER:
            for who in (CLIENT, BROWSER):
                version = _version(over, who)
                tell(f"Repetition {repetition} of {scale.repetitions}: visits over {over} by the {who}.")
                asked = Visits(sites_of(repetition, scale.sites), scale.sessions, scale.visits, version, own)
                name = f"{version}-{repetition}"
                raw[name] = parts.take(name, same, partial(_table, asked))
                seen[version] = Sequences.from_table(raw[name])
        rows += (_row(it, repetition, Seen(seen, {}), own) for it in conditions(quick))
    return Measured(pa.Table.from_pylist(rows), {**description(), **laboratory.describe(), **programs}, raw)


def _version(over: str, who: str) -> str:
    return f"{over}-browser" if who == BROWSER else over


def _table(asked: Visits) -> pa.Table:
    return played(asked).to_table()


def _row(condition: Condition, repetition: int, seen: Seen, seed: int) -> dict[str, Any]:
    """A condition with how well the attack names visits, and what those that it is tried on are like."""
    over = str(condition["over"])
    learnt, tried = (_version(over, str(condition[it])) for it in ("learnt", "tried"))
    found = told(Trial(str(condition["attack"]), learnt, tried), seen, seed)
    visits = seen.monitored[tried]
    last = visits.starts[1:] - 1
    return {
        **condition,
        REPETITION: repetition,
        SAMPLES: found["samples"],
        "micro_f1": found["micro_f1"],
        "macro_f1": found["macro_f1"],
        "bytes_a_visit": float(np.abs(visits.signed_bytes).sum() / len(visits)),
        "packets_a_visit": float(visits.lengths.mean()),
        "time_a_visit_s": float(visits.time_ns[last].mean() / 1e9),
    }


def _plan(quick: bool) -> Plan:
    scale = _QUICK if quick else _FULL
    return planned(
        conditions(quick), scale.repetitions, visits=[getattr(scale, it.name) for it in fields(scale)]
    )


BENCH = Bench(
    name="traffic-browser",
    about="Visits by the laboratory's client and by headless Chromium: what they are like, and whether who "
    "has learnt from one knows the other's.",
    measures=(
        Kpi(
            "micro_f1", "Micro F1", "%", 100.0, False, "The share of visits that are named rightly.", most=1.0
        ),
        Kpi("macro_f1", "Macro F1", "%", 100.0, False, "The mean of F1 over sites.", most=1.0),
        Kpi("bytes_a_visit", "Bytes, a visit", "kB", 1e-3, False, "Both ways, from the IP header on."),
        Kpi("packets_a_visit", "Packets, a visit", "", 1.0, False, "Both ways."),
        Kpi("time_a_visit_s", "Time, a visit", "s", 1.0, False, "From the first packet to the last."),
    ),
    full=_plan(quick=False),
    quick=_plan(quick=True),
    measure=_measure,
    ready=_ready,
    labels={
        "over": {"h2": "HTTP/2", "h3": "HTTP/3"},
        "attack": {name: ATTACKS[name].about for name in _ATTACKS},
        "learnt": {CLIENT: "the laboratory's client", BROWSER: "Chromium"},
        "tried": {CLIENT: "the laboratory's client", BROWSER: "Chromium"},
    },
)
