"""Trials: one attack under one condition, and all that is told of it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from gauntlet.errors import UserError
from gauntlet.traffic import intervals, padding, redundancy, scores, splits
from gauntlet.traffic.attacks.contract import Attack
from gauntlet.traffic.attacks.registry import ATTACKS
from gauntlet.traffic.sequences import KINDS, OTHER, Flags, Floats, Ints, Sequences, joined, paired

FOLDS = 4
WINDOW = 10
"""Packets of a window: those of Simpson and others (2024), section 5.3."""

PRESENT = tuple(f"correct_if_{name.replace('-', '_')}" for name in KINDS[:OTHER])
"""P(correct | packets of the kind are present), by kind."""

NUMBERS = (
    "micro_f1", "micro_f1_low", "micro_f1_high", "learnt_micro_f1",
    "macro_f1", "macro_f1_low", "macro_f1_high", "macro_f1_site_low", "macro_f1_site_high",
    *PRESENT,
    "found", "mistaken", "alarms", "precision_20",
    "redundant_share", "novel_micro_f1",
    "byte_overhead", "time_overhead",
)  # fmt: skip


@dataclass(frozen=True)
class Trial:
    """What an attack learns from and what it is tried on."""

    attack: str
    """One of `ATTACKS`."""
    learnt: str
    """How the sites were loaded that it learns from: a version of `visits.VERSIONS`."""
    tried: str
    """And those that it is tried on."""
    split: str = "session"
    """What is kept whole: `session`, `visit`, or `none` (of windows: their order alone)."""
    unit: str = "visit"
    """What is named: a `visit`, or a `window` of `WINDOW` packets."""
    packets: int = 0
    """So many of the first packets; 0: all."""
    world: str = "closed"
    """`open`: most sites that are visited are not monitored."""
    without: str = "none"
    """A kind of packets that is taken out, of both."""
    padding: str = "none"
    """`stack`: by the stack, as of h3; `simulated`: as of h2."""


@dataclass(frozen=True)
class Seen:
    """The visits that trials are of, by version: to monitored sites, and to others."""

    monitored: Mapping[str, Sequences]
    others: Mapping[str, Sequences]


def told(trial: Trial, seen: Seen, seed: int) -> dict[str, Any]:
    """A row: the trial, `samples`, and `NUMBERS`, None where they do not apply.

    Raises UserError when what the attack needs is not installed.
    """
    attack = ATTACKS[trial.attack]
    attack.check()
    learnt, tried = _visits(trial, seen)
    monitored = np.unique(seen.monitored[trial.learnt].site)
    classes = _classes(tried.site, monitored, trial.world)
    count = len(monitored) + (trial.world == "open")
    learnt, tried, classes, folds, redundant = _units(trial, learnt, tried, classes, seed)
    said, known = named(attack, learnt, tried, classes, count=count, folds=folds, seed=seed)
    matrix = scores.confusion(classes, said, count)
    correct: Flags = said == classes
    found: dict[str, Any] = dict.fromkeys(NUMBERS)
    found["micro_f1"], found["macro_f1"] = float(scores.micro_f1(matrix)), float(scores.macro_f1(matrix))
    found["learnt_micro_f1"] = known
    for name, score in (("micro_f1", scores.micro_f1), ("macro_f1", scores.macro_f1)):
        ends = intervals.by_cluster(score, classes, said, tried.session, classes=count, seed=seed)
        found[f"{name}_low"], found[f"{name}_high"] = ends
    each: Floats = scores.by_class(matrix)
    found["macro_f1_site_low"], found["macro_f1_site_high"] = intervals.by_site(each, seed)
    for kind, name in enumerate(PRESENT):
        found[name] = scores.correct_if(correct, tried.present(kind))
    if trial.world == "open":
        world = scores.open_world(matrix)
        found |= {**asdict(world), "precision_20": world.precision()}
    if redundant is not None:
        found["redundant_share"] = float(redundant.mean())
        found["novel_micro_f1"] = scores.correct_if(correct, ~redundant)
    if trial.padding != "none":
        found |= _overheads(trial, seen)
    return {**asdict(trial), "samples": len(tried), **found}


def named(
    attack: Attack,
    learnt: Sequences,
    tried: Sequences,
    classes: Ints,
    *,
    count: int,
    folds: Ints,
    seed: int,
) -> tuple[Ints, float | None]:
    """The class that the attack says of each tried unit, never having learnt from its fold; and of an attack
    that is asked again the share that it names rightly of what it learnt from, the mean over folds.

    `learnt` and `tried` are the same units, loaded in two ways or in one.
    """
    said = np.empty(len(tried), np.int64)
    known: list[float] = []
    for fold in np.unique(folds):
        own = folds == fold
        lesson, answers = learnt.take(~own), classes[~own]
        classifier = attack.learn(lesson, answers, count, seed + int(fold))
        said[own] = classifier(tried.take(own)).argmax(axis=1)
        if attack.asked_again:
            known.append(float((classifier(lesson).argmax(axis=1) == answers).mean()))
    return said, float(np.mean(known)) if known else None


def _visits(trial: Trial, seen: Seen) -> tuple[Sequences, Sequences]:
    """The same visits as the attack learns them and as it meets them."""
    parts = [seen.monitored] if trial.world == "closed" else [seen.monitored, seen.others]
    learnt, tried = paired(*(joined([part[it] for part in parts]) for it in (trial.learnt, trial.tried)))
    return _changed(trial, learnt), _changed(trial, tried)


def _changed(trial: Trial, visits: Sequences) -> Sequences:
    changed = padding.simulated(visits) if trial.padding == "simulated" else visits
    if trial.without != "none":
        changed = changed.without(KINDS.index(trial.without))
    return changed.first(trial.packets) if trial.packets else changed


def _classes(site: Ints, monitored: Ints, world: str) -> Ints:
    """The place of each site among the monitored ones; of another site one more."""
    place = np.minimum(np.searchsorted(monitored, site), len(monitored) - 1)
    known = monitored[place] == site
    if world == "closed" and not known.all():
        raise UserError(
            "in a closed world every visit is to a monitored site; visit the same sites both ways."
        )
    return np.where(known, place, len(monitored))


def _units(
    trial: Trial, learnt: Sequences, tried: Sequences, classes: Ints, seed: int
) -> tuple[Sequences, Sequences, Ints, Ints, Flags | None]:
    """What is named, with its classes and folds, and which of it is redundant (None: not looked at)."""
    folds = splits.by_visit(tried, FOLDS, seed)
    if trial.split == "session":
        folds = splits.by_session(tried, FOLDS, seed)
    if trial.unit == "visit":
        same = trial.learnt == trial.tried
        return learnt, tried, classes, folds, redundancy.redundant(tried, folds) if same else None
    if trial.learnt != trial.tried:
        raise UserError("windows of two loads of one site do not match; learn and try on the same version.")
    cut, owners = tried.windows(WINDOW)
    folds = splits.at_random(len(cut), FOLDS, seed) if trial.split == "none" else folds[owners]
    return cut, cut, classes[owners], folds, None


def _overheads(trial: Trial, seen: Seen) -> dict[str, float | None]:
    """What the defence costs; a simulated one tells no time."""
    if trial.padding == "simulated":
        plain = seen.monitored[trial.tried]
        return {
            "byte_overhead": padding.byte_overhead(plain, padding.simulated(plain)),
            "time_overhead": None,
        }
    plain, padded = seen.monitored["h3"], seen.monitored[trial.tried]
    return {
        "byte_overhead": padding.byte_overhead(plain, padded),
        "time_overhead": padding.time_overhead(plain, padded),
    }
