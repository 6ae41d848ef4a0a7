"""What whoever sees the packets of encrypted page loads learns of the site: attacks on visits that are played
in virtual time.

A repetition has sites of its own: what varies between repetitions is what varies between sets of sites.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import pyarrow as pa

from gauntlet.benches.contract import REPETITION, SAMPLES, Bench, Measured, Plan, Tell
from gauntlet.benches.parts import Parts
from gauntlet.errors import RunError, UserError
from gauntlet.executor import engines
from gauntlet.experiment import seeds
from gauntlet.experiment.runspec import Factor
from gauntlet.metrics.kpi import Kpi
from gauntlet.space.machine import description
from gauntlet.traffic.attacks.registry import ATTACKS
from gauntlet.traffic.sequences import KINDS, Sequences, joined
from gauntlet.traffic.trials import NUMBERS, PRESENT, Seen, Trial, told
from gauntlet.traffic.visits import VERSIONS, Visits, played

_SITES_APART = 1000
"""From the first site of a repetition to that of the next."""
_OTHERS_FROM = 500
"""Where the sites that are not monitored begin in a repetition."""
_OTHERS_AT_A_TIME = 5
"""Of these that have a session together: no session tells them from monitored sites."""
_OTHER_SESSIONS_FROM = 1000
_UNPADDED = {"h2": "h3", "h3": "h2"}
"""The versions that are attacked as they are, and the other one of each."""


@dataclass(frozen=True)
class _Scale:
    """How much is visited in a repetition."""

    repetitions: int
    monitored: int
    sessions: int
    visits: int
    others: int
    """Sites that are not monitored, each visited once."""


_FULL = _Scale(repetitions=12, monitored=10, sessions=8, visits=2, others=40)
_QUICK = _Scale(repetitions=3, monitored=3, sessions=4, visits=2, others=5)
"""As few as four folds take; without padding, whose visits are a third of all."""


def _trials(quick: bool) -> Iterator[Trial]:
    """All trials of a repetition; the network takes its time, and learns in full alone."""
    simple = ("knn", "forest")
    for version, other in _UNPADDED.items():
        for attack in simple if quick else ATTACKS:
            yield Trial(attack, version, version)
        for attack in simple:
            whole = Trial(attack, version, version)
            yield replace(whole, tried=other)
            yield replace(whole, split="visit")
            yield from (replace(whole, packets=count) for count in (10, 50))
            yield replace(whole, world="open")
            if quick:
                continue
            if version == "h2":
                yield replace(whole, padding="simulated")
            else:
                yield replace(whole, learnt="h3-padded", tried="h3-padded", padding="stack")
        kinds = ("tcp-control", "tcp-data") if version == "h2" else ("quic-handshake", "quic-data")
        yield from (replace(Trial("forest", version, version), without=kind) for kind in kinds)
        for split in ("none", "visit", "session"):
            yield Trial("knn", version, version, split=split, unit="window")
        if not quick:
            # The study's own way, and the same without neighbours of what was learnt.
            for split in ("none", "session"):
                yield Trial("cnn", version, version, split=split, unit="window")


def conditions(quick: bool) -> list[dict[str, Factor]]:
    """What is tried: not every combination."""
    return [{it.name: getattr(trial, it.name) for it in fields(Trial)} for trial in _trials(quick)]


def _ready() -> None:
    try:
        engines.installed()
    except RunError as error:
        raise UserError(str(error)) from None
    for attack in ATTACKS.values():
        attack.check()


def _measure(quick: bool, seed: int, tell: Tell, parts: Parts) -> Measured:
    scale = _QUICK if quick else _FULL
    engine = engines.installed()
    same = {"engine": engine.identity()}
    trials = list(_trials(quick))
    played_of = {
        "monitored": (_monitored, tuple(_UNPADDED if quick else VERSIONS)),
        "others": (_others, tuple(_UNPADDED)),
    }
    repetitions = range(1, scale.repetitions + 1)
    own = {it: seeds.derive(seed, "traffic", it) for it in repetitions}
    raw: dict[str, pa.Table] = {}
    for repetition in repetitions:
        for what, (play, versions) in played_of.items():
            for version in versions:
                tell(f"Repetition {repetition} of {scale.repetitions}: visits over {version}, {what} sites.")
                name = f"{what}-{version}-{repetition}"
                visited = partial(play, scale, repetition, version, own[repetition])
                raw[name] = parts.take(name, same, visited)
    # Only now: the network brings threads, and a process that has them should not be forked for visits.
    rows = []
    for repetition in repetitions:
        seen = Seen(
            *(
                {it: Sequences.from_table(raw[f"{what}-{it}-{repetition}"]) for it in versions}
                for what, (_, versions) in played_of.items()
            )
        )
        for number, trial in enumerate(trials, start=1):
            tell(f"Repetition {repetition}: trial {number} of {len(trials)}, {trial.attack}.")
            tried = partial(_tried, trial, seen, repetition, own[repetition])
            rows.append(parts.take(f"trial-{repetition}-{number}", same, tried))
    return Measured(pa.concat_tables(rows), {**description(), **engine.describe()}, raw)


def _monitored(scale: _Scale, repetition: int, version: str, seed: int) -> pa.Table:
    first = repetition * _SITES_APART
    sites = tuple(range(first, first + scale.monitored))
    return played(Visits(sites, scale.sessions, scale.visits, version, seed)).to_table()


def _others(scale: _Scale, repetition: int, version: str, seed: int) -> pa.Table:
    first = repetition * _SITES_APART + _OTHERS_FROM
    found = []
    for group, begin in enumerate(range(first, first + scale.others, _OTHERS_AT_A_TIME)):
        sites = tuple(range(begin, min(begin + _OTHERS_AT_A_TIME, first + scale.others)))
        own = seeds.derive(seed, "others", group)
        some = played(Visits(sites, 1, 1, version, own))
        found.append(replace(some, session=some.session + _OTHER_SESSIONS_FROM + group))
    return joined(found).to_table()


def _tried(trial: Trial, seen: Seen, repetition: int, seed: int) -> pa.Table:
    return table([{REPETITION: repetition, **told(trial, seen, seed)}])


def table(rows: list[dict[str, Any]]) -> pa.Table:
    """The rows of trials as the bench's table."""
    factors = [it.name for it in fields(Trial)]
    return pa.table(
        {
            **{name: [row[name] for row in rows] for name in (*factors, REPETITION, SAMPLES)},
            **{name: pa.array([row[name] for row in rows], pa.float64()) for name in NUMBERS},
        }
    )


def _planned(quick: bool) -> Plan:
    asked = conditions(quick)
    scale = _QUICK if quick else _FULL
    factors: dict[str, list[Factor]] = {
        it.name: list(dict.fromkeys(one[it.name] for one in asked)) for it in fields(Trial)
    }
    details = {"visits": [getattr(scale, it.name) for it in fields(scale)], "trials": len(asked)}
    return Plan(factors, scale.repetitions, details)


def _share(name: str, label: str, definition: str) -> Kpi:
    return Kpi(name, label, "%", 100.0, False, definition, most=1.0)


_LOW = "The lower end of its 95 % interval"
_HIGH = "The upper end of its 95 % interval"

BENCH = Bench(
    name="traffic-sites",
    about="Sites named from the packets of visits over HTTP/2 and HTTP/3: attacks, worlds and defences.",
    measures=(
        _share("micro_f1", "Micro F1", "F1 of all decisions together, which is the accuracy."),
        _share("micro_f1_low", "Micro F1, low", f"{_LOW}, sessions drawn again."),
        _share("micro_f1_high", "Micro F1, high", f"{_HIGH}, sessions drawn again."),
        _share(
            "learnt_micro_f1",
            "Micro F1 of what was learnt",
            "Named rightly, of what it learnt from; of the network, which may know that and little else.",
        ),
        _share("macro_f1", "Macro F1", "The mean of F1 over sites."),
        _share("macro_f1_low", "Macro F1, low", f"{_LOW}, sessions drawn again."),
        _share("macro_f1_high", "Macro F1, high", f"{_HIGH}, sessions drawn again."),
        _share("macro_f1_site_low", "Macro F1, low by sites", f"{_LOW}, sites drawn again."),
        _share("macro_f1_site_high", "Macro F1, high by sites", f"{_HIGH}, sites drawn again."),
        *(
            _share(name, f"P(correct | {kind})", f"Named rightly, of what has packets of the kind {kind}.")
            for name, kind in zip(PRESENT, KINDS, strict=False)
        ),
        _share("found", "Monitored sites found", "Visits to monitored sites that are named rightly."),
        _share("mistaken", "Monitored sites mistaken", "Visits to these taken for another one of them."),
        _share("alarms", "False alarms", "Visits to other sites that are taken for a monitored one."),
        _share(
            "precision_20",
            "Precision at 1 in 20",
            "Right alarms of all, with 20 visits to other sites for each one to a monitored site.",
        ),
        _share("redundant_share", "Redundant visits", "With a near-identical one in another fold."),
        _share("novel_micro_f1", "Micro F1 of the others", "Of visits that have no near-identical one."),
        Kpi("byte_overhead", "Bytes that padding adds", "%", 100.0, False, "To the same visits."),
        Kpi(
            "time_overhead",
            "Time that padding adds",
            "%",
            100.0,
            False,
            "To the same visits, from the first packet to the last; of a simulated defence nobody knows.",
            least=-1.0,
        ),
    ),
    full=_planned(quick=False),
    quick=_planned(quick=True),
    measure=_measure,
    ready=_ready,
    labels={
        "attack": {it.name: it.about for it in ATTACKS.values()},
        "learnt": {"h2": "HTTP/2", "h3": "HTTP/3", "h3-padded": "HTTP/3, padded"},
        "tried": {"h2": "HTTP/2", "h3": "HTTP/3", "h3-padded": "HTTP/3, padded"},
        "packets": {0: "all", 10: "the first 10", 50: "the first 50"},
        "padding": {"none": "none", "stack": "by the stack", "simulated": "simulated"},
        "split": {"session": "by session", "visit": "by visit", "none": "at random"},
    },
)
