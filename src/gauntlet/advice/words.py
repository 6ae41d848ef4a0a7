"""Advice in words: what stands in a cell, and the answer for a class in one sentence."""

import math
from collections.abc import Iterable, Sequence

from gauntlet.advice import lateness
from gauntlet.advice.classes import Need
from gauntlet.advice.grid import Candidate, Cell, Grid
from gauntlet.advice.standing import FAR, NEAR, Grade, Standing
from gauntlet.figures.style import styles
from gauntlet.metrics.intervals import Mean
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.numbers import counted, listed, number

MARKS = {
    Grade.SERVES: "✓",
    Grade.NARROWLY: "(✓)",
    Grade.IN_PART: "(◐)",
    Grade.NEAR_MISS: "◐",
    Grade.UNSURE: "(✗)",
    Grade.FAILS: "✗",
    Grade.TENFOLD: "✗✗",
    Grade.NOTHING: "∅",
    Grade.UNMEASURED: "–",
}
"""A sign for each grade; the words stand in `LEGEND`."""

NO_DIFFERENCE = 0.005
"""Nearer to the best than by this share is told as such and not as a factor: three digits show no difference.
"""


def within_best(share: float) -> str:
    """What those are called that are nearer to the best than by a share."""
    return f"within {100 * share:g} % of the best"


NEXT_TO_BEST = within_best(NO_DIFFERENCE)

BEST_RULE = (
    "Best first, by where each does worst: by grade, then by the distance to the need that it is furthest "
    "from keeping. Only the best mean under a condition is called the best there."
)
"""How transports are ordered and called, in sentences as in cells."""

SURE_RULE = "✓ by the whole 95 % interval, (✓) by the mean only."
"""What the signs of those that serve say."""

FLOWS_RULE = (
    "What is asked of a flow is served (✓) where every flow of every repetition kept it; a mean within the "
    "limit does not do. Best first, by the number of conditions under which it is served, then by the number "
    "of flows that kept it."
)
"""How transports are ordered and called where flows decide."""

NAMED = 2
"""Transports that a sentence names after the first; of more the cells tell."""

LEGEND = (
    (Grade.SERVES, "serves, the whole 95 % interval"),
    (Grade.NARROWLY, "serves by its mean, the interval reaches beyond the need or there is none"),
    (Grade.IN_PART, "kept by some flows, not by all"),
    (
        Grade.NEAR_MISS,
        f"near miss: at most {NEAR:g} × the limit, or {100 / NEAR:.0f} % of it where more is better",
    ),
    (Grade.UNSURE, "misses by its mean, the interval reaches the need"),
    (Grade.FAILS, "fails"),
    (Grade.TENFOLD, f"fails tenfold: {FAR:g} × the limit or more, or 1/{FAR:g} of it or less"),
    (Grade.NOTHING, "not everything arrives"),
    (Grade.UNMEASURED, "not measured"),
)
"""The grades in words."""

CONDITION_RULE = (
    "A condition is the channel's own delay, one way, and its loss; the queue is the one before the line."
)
"""What the numbers of a condition are."""

TAIL_RULE = (
    "p99 and p99.9 are delays of the messages that arrived, the channel's own included: means over "
    "repetitions."
)
"""What is told of the slowest messages."""

DUE_RULE = "p99 and p99.9 are delays of all messages that were due: means over repetitions."
"""What is told of them where flows decide."""

LATE_RULE = (
    "Late or lost are messages that were not there in time: where a need says 99 %, 1 % may be. The sign "
    "goes by that share where it is worse than the delay. It is read between two of the quantiles that "
    "results keep; where these leave open whether it keeps its limit, both its ends are told."
)
"""What else a need of messages asks (`gauntlet.advice.lateness`)."""

PAIRED_RULE = (
    "Paired margin: what is left to a limit against the best, below 0 beyond it, by the difference in each "
    "repetition, since both met the same stretch. The sign goes by its interval, not by the value's."
)
"""Why the interval of a value may reach beyond a limit that is kept."""


def rules(grids: Iterable[Grid]) -> list[str]:
    """What one must know to read the numbers of these classes, a sentence or two each."""
    those = [it for grid in grids for cell in grid.cells for each in cell.candidates for it in each.standings]
    asked = (
        (TAIL_RULE, any(it.tail is not None and it.tail.quantiles_s and it.kept is None for it in those)),
        (DUE_RULE, any(it.tail is not None and it.tail.quantiles_s and it.kept is not None for it in those)),
        (LATE_RULE, any(it.missed is not None and it.kept is None for it in those)),
        (PAIRED_RULE, any(it.paired is not None for it in those)),
    )
    return [rule for rule, applies in asked if applies]


def order(grids: Iterable[Grid]) -> list[str]:
    """How the transports of these classes are ordered and called, and what their signs say, by classes whose
    flows decide and by others.
    """
    decide = {grid.by_flows for grid in grids}
    return [f"{BEST_RULE} {SURE_RULE}"] * (False in decide) + [FLOWS_RULE] * (True in decide)


def legend(grids: Iterable[Grid]) -> list[tuple[Grade, str]]:
    """The grades that these classes have, in words."""
    there = {it.grade for grid in grids for cell in grid.cells for it in cell.candidates}
    return [(grade, said) for grade, said in LEGEND if grade in there]


def label(protocol: str) -> str:
    """A transport for people."""
    return styles([protocol])[0].label


def names(protocols: Sequence[str]) -> str:
    """Transports as a sentence lists them."""
    return listed([label(it) for it in protocols])


def condition(cell: Cell, *, queue: bool = False) -> str:
    """The delay and loss of a cell, with `queue` that too, and what else was varied: 25 ms, 1 % loss."""
    said = [
        "" if cell.delay_s is None else f"{delay_ms(cell.delay_s):g} ms",
        "" if cell.loss is None else f"{100 * cell.loss:g} % loss",
        f"queue {cell.queue}" if queue and cell.queue else "",
        cell.variant.besides,
    ]
    return ", ".join(filter(None, said))


def distance(standing: Standing) -> str:
    """How far a transport is from the need: 21 % to spare; 1.04 × the limit; 97 % of the best; the best,
    which is said of the best mean only. Beyond a limit that is against the best both are told, since the
    grade goes by the limit.
    """
    if standing.grade == Grade.NOTHING:
        return "not everything arrives"
    if standing.grade == Grade.UNMEASURED:
        return "not measured"
    if standing.grade == Grade.IN_PART and standing.kept is not None:
        did, judged = standing.kept
        return f"kept by {did} of {counted(judged, 'flow')}"
    best, level = standing.need.of_best, standing.level
    more = standing.kpi.higher_is_better
    beyond = _off(standing.times, "the limit", more=more) if standing.times > 1 else ""
    if best is None:
        return beyond or f"{number(100 * standing.margin, 0)} % to spare"
    off = standing.times * best
    if level is not None:
        of_best = within_best(level)
    elif _leads(off):
        of_best = "the best"
    else:
        of_best = NEXT_TO_BEST if off < 1 + NO_DIFFERENCE else _off(off, "the best", more=more)
    return f"{beyond} and {of_best}" if beyond else of_best


def _leads(off: float) -> bool:
    """Whether a value so many times from the best is the best itself; dividing and multiplying may leave a
    trace.
    """
    return off <= 1 or math.isclose(off, 1, rel_tol=1e-9)


def _off(times: float, what: str, *, more: bool) -> str:
    """How far from something: 1.2 × the limit; where more is better, 83 % of the limit, or 1/12 of it."""
    if not more:
        return f"{number(times)} × {what}"
    return f"{number(100 / times, 0)} % of {what}" if times < FAR else f"1/{number(times, 0)} of {what}"


def value(standing: Standing) -> str:
    """What was measured: "83.1 ms [79.0 to 88.2]", without the interval when there is none."""
    if standing.mean is None:
        return "not measured" if standing.grade == Grade.UNMEASURED else "not everything arrived"
    return _in_unit(standing.mean, standing.kpi)


def _in_unit(mean: Mean, kpi: Kpi) -> str:
    return _with_interval(mean, kpi.shown_factor, kpi.shown_unit)


def _with_interval(mean: Mean, factor: float, unit: str) -> str:
    shown = f"{number(mean.value * factor)} {unit}".strip()
    if mean.low is None or mean.high is None or mean.low == mean.high:
        return shown
    return f"{shown} [{number(mean.low * factor)} to {number(mean.high * factor)}]"


def limit(standing: Standing) -> str:
    """What the need allows: "at most 30 ms"."""
    if math.isnan(standing.limit):
        return ""
    word = "at least" if standing.kpi.higher_is_better else "at most"
    return f"{word} {number(standing.limit * standing.kpi.shown_factor)} {standing.kpi.shown_unit}".strip()


def decided(standing: Standing) -> str:
    """The number that the grade goes by, with its interval and limit: 83.1 ms [79.0 to 88.2], at most 90 ms;
    of a limit against the best with the paired margin; 0.25 % [0.15 to 0.35] late or lost, at most 0.1 %.
    """
    missed, paired = standing.missed, standing.paired
    if standing.by_missed and missed is not None:
        share = f"{_with_interval(missed, 100, '%')} late or lost"
        return ", ".join(filter(None, [share, _ends(standing), _may_miss(standing.need)]))
    margin = "" if paired is None else f"paired margin {_in_unit(paired, standing.kpi)}"
    return ", ".join(filter(None, [value(standing), limit(standing), margin]))


def _may_miss(need: Need) -> str:
    """How many messages may be late or lost: at most 0.1 %; empty where a need does not say so."""
    allowed = lateness.may_miss(need)
    return "" if allowed is None else f"at most {100 * allowed:g} %"


def _ends(standing: Standing) -> str:
    """What the share of late or lost messages is at least and at most, where its limit lies between: 0.0500
    to 0.150 % by the quantiles kept; else empty.
    """
    allowed, ends = lateness.may_miss(standing.need), standing.missed_between
    if allowed is None or ends is None or not ends[0] <= allowed < ends[1]:
        return ""
    least, most = (number(100 * it) for it in ends)
    return f"{least} to {most} % by the quantiles kept"


def slowest(candidate: Candidate, *, missed: bool = True) -> str:
    """The slowest messages of a transport in a cell, of the need of messages that decides first."""
    return next((said for it in candidate.standings if (said := tail(it, missed=missed))), "")


def tail(standing: Standing, *, missed: bool = True) -> str:
    """The slowest messages: p99 82 ms, p99.9 140 ms, 0.04 % late or lost (at most 0.1 %); empty without any.
    In seconds where the limit is some, as the limit is shown. Without the share where `decided` tells it.
    """
    if standing.tail is None:
        return ""
    limit_s = standing.need.most
    factor, unit = (1.0, "s") if limit_s is not None and limit_s >= 1 else (1e3, "ms")
    said = [
        f"p{100 * level:g} {number(factor * mean.value)} {unit}"
        for level, mean in sorted(standing.tail.quantiles_s.items())
    ]
    if missed and standing.missed is not None:
        besides = "; ".join(filter(None, [_may_miss(standing.need), _ends(standing)]))
        share = f"{number(100 * standing.missed.value)} % late or lost"
        said.append(f"{share} ({besides})" if besides else share)
    return ", ".join(said)


def unfinished(candidate: Candidate) -> str:
    """How many of a transport's flows were completed, where not all were; else empty."""
    done, of = candidate.completed
    return f"{done} of {of} completed" if done < of else ""


def whole(candidate: Candidate) -> str:
    """All that is known of a transport in a cell, a line a need."""
    lines = []
    for it in candidate.standings:
        said = [f"{it.need.words}: {decided(it)}", tail(it, missed=not it.by_missed)]
        lines.append("; ".join(filter(None, said)))
    return "\n".join(filter(None, [*lines, unfinished(candidate)]))


def answer(grid: Grid) -> str:
    """What to use for a class, with what comes nearest where nothing serves under every condition."""
    overall = grid.overall()
    serving = [it for it in overall if it.grade.serving]
    if not overall or overall[0].grade == Grade.UNMEASURED:
        measured = sum(cell.judged > 0 for cell in grid.own)
        if not measured:
            return "Not measured."
        return f"Measured under {measured} of {counted(len(grid.own), 'condition')} so far.{_partly(grid)}"
    if serving:
        verb = "serves" if len(serving) == 1 else "serve"
        told = f"{listed([label(it.protocol) for it in serving])} {verb} it {_under(grid)}"
        narrow = [label(it.protocol) for it in serving if it.grade == Grade.NARROWLY]
        if len(narrow) == len(serving):
            told += ", by the mean only"
        elif narrow:
            told += f", {listed(narrow)} by the mean only"
        return f"{told[0].upper()}{told[1:]}. {_best(grid, serving)}"
    nearest = overall[0]
    if all(it.grade in (Grade.NOTHING, Grade.UNMEASURED) for cell in grid.own for it in cell.candidates):
        where = "under any condition" if len(grid.own) > 1 else _under(grid)
        return f"None serves it {where}: with none does everything arrive."
    if told := _at_some(grid, overall):
        return told
    told = f"None serves it {_under(grid)}; nearest is {label(nearest.protocol)} ({_worst(grid, nearest)})."
    return told + _partly(grid)


def _at_some(grid: Grid, overall: Sequence[Candidate]) -> str:
    """Where all transports serve and where none does: UDP serves it at queue CAKE, not at queue FIFO (4.95 ×
    the limit: one-way delay); of several with the one that comes nearest. Empty where they differ in that, or
    nothing serves.
    """
    judged = [it for it in grid.own if it.judged]
    differ = any(0 < len(it.serving) < len(it.candidates) for it in judged)
    if differ or not any(it.serving for it in judged):
        return ""
    several = len({cell.queue for cell in grid.own}) > 1
    serving = [condition(it, queue=several) for it in judged if it.serving]
    failing = [condition(it, queue=several) for it in judged if not it.serving]
    alone = len(overall) == 1
    if max(len(serving), len(failing)) > NAMED or not failing:
        if not alone:
            return ""
        return f"{_partly(grid).strip()[:-1]}; where it does worst: {_worst(grid, overall[0])}."
    nearest, deciding = overall[0], overall[0].deciding
    if not alone:
        far = f"; nearest there is {label(nearest.protocol)} ({_worst(grid, nearest)})"
    else:
        far = f" ({distance(deciding)}: {_measured(deciding)})" if len(failing) == 1 else ""
    names, verb = listed([label(it.protocol) for it in overall]), "serves" if alone else "serve"
    return f"{names} {verb} it at {listed(serving)}, not at {listed(failing)}{far}."


def _under(grid: Grid) -> str:
    """Under all so many conditions; where there is but one, under which."""
    if len(grid.own) > 1:
        return _all(grid)
    return f"at {where}" if (where := condition(grid.own[0])) else "here"


def _all(grid: Grid) -> str:
    return "under both conditions" if len(grid.own) == 2 else f"under all {len(grid.own)} conditions"


def conditions(grid: Grid) -> str:
    """What an answer rests on: 2 conditions: 50 ms one way; 0 and 1 % loss; 512 kB queue."""
    own = grid.own
    queues = list(dict.fromkeys(it.queue for it in own if it.queue))
    said = [
        _several([delay_ms(it.delay_s) for it in own if it.delay_s is not None], "ms one way"),
        _several([100 * it.loss for it in own if it.loss is not None], "% loss"),
        f"queue {listed(queues)}" if queues else "",
        listed(besides) if (besides := list(dict.fromkeys(it.variant.besides for it in own))) != [""] else "",
    ]
    return f"{counted(len(own), 'condition')}: {'; '.join(filter(None, said)) or 'all runs'}"


def delay_ms(delay_s: float) -> float:
    """To a microsecond: delays of cables on a map have many digits, which tell nothing."""
    return round(1e3 * delay_s, 3)


def _several(values: Sequence[float], unit: str) -> str:
    """Different numbers with their unit: 0, 0.1 and 1 % loss."""
    return f"{listed([f'{it:g}' for it in sorted(set(values))])} {unit}" if values else ""


def worst(grid: Grid, candidate: Candidate) -> str:
    """How far a transport of `overall` is from its need where it does worst, with the condition where there
    are several and it matters.
    """
    how = distance(candidate.deciding)
    if len(grid.own) == 1 or how == "the best":
        return how
    return f"{how}, at {where}" if (where := _at(grid, candidate)) else how


def _at(grid: Grid, candidate: Candidate) -> str:
    """The condition of a candidate of `overall`."""
    return condition(grid.where(candidate), queue=len({cell.queue for cell in grid.own}) > 1)


def how_well(grid: Grid) -> str:
    """What `answer` says beside the names of those that serve under every condition."""
    serving = [it for it in grid.overall() if it.grade.serving]
    return _best(grid, serving) if serving else answer(grid)


def asked(need: Need) -> str:
    """A need with its limit: 10 MB about as soon as with the best (at most 1.1 × it)."""
    if need.of_best is None:
        return need.words
    return f"{need.words} (within a factor of {need.of_best:g})"


def bounds(grid: Grid) -> str:
    """What a class asks for and who says so: 99 % of messages within 0.5 s (by Gauntlet)."""
    needs = "; ".join(asked(need) for need in grid.service.needs)
    return f"{needs} (by {grid.service.whose})" if grid.service.whose else needs


def _best(grid: Grid, serving: list[Candidate]) -> str:
    """How the first of those that serve does where it does worst."""
    first = serving[0]
    how = distance(first.deciding)
    level = [it.protocol for it in serving if it.deciding.level is not None]
    if len(grid.own) == 1 and first.deciding.level is not None and len(level) > 1:
        those = "They" if len(level) == len(serving) else f"Of these {names(level)}"
        return f"{those} are {how} ({_measured(first.deciding)})."
    named = "It" if len(serving) == 1 else f"Of these {label(first.protocol)}"
    what = _measured(first.deciding)
    alike = first.deciding.level is not None or how in ("the best", NEXT_TO_BEST)
    verb = "is" if alike else "takes" if "×" in how else "has"
    if len(grid.own) == 1:
        return f"{named} {verb} {how} ({what})."
    if how == "the best":
        return f"{named} is the best {_all(grid)} ({what})."
    return f"{named} {verb} {how} at the worst of {len(grid.own)} conditions ({_at(grid, first)}: {what})."


def _worst(grid: Grid, candidate: Candidate) -> str:
    """How a transport fails where it does worst: a near miss, 1.04 × the limit at 150 ms, 1 % loss."""
    word = {Grade.NEAR_MISS: "a near miss, ", Grade.TENFOLD: "a tenfold failure, "}.get(candidate.grade, "")
    at = f" at {_at(grid, candidate)}" if len(grid.own) > 1 else ""
    how = f"{word}{distance(candidate.deciding)}{at}"
    return how if candidate.grade == Grade.NOTHING else f"{how}: {_measured(candidate.deciding)}"


def _measured(standing: Standing) -> str:
    """What a distance is one of: download time."""
    if standing.by_missed:
        return "messages late or lost"
    name = standing.kpi.label
    return f"{name[0].lower()}{name[1:]}"


def _partly(grid: Grid) -> str:
    """Under how many conditions each transport serves that does so somewhere."""
    places: dict[str, int] = {}
    for cell in grid.own:
        for it in cell.serving:
            places[it.protocol] = places.get(it.protocol, 0) + 1
    if not places:
        return " No transport serves it under any condition." if len(grid.own) > 1 else ""
    ordered = sorted(places.items(), key=lambda item: -item[1])
    (first, most), rest = ordered[0], ordered[1:]
    said = [f"{label(first)} serves it under {most} of {counted(len(grid.own), 'condition')}"]
    said += [f"{label(protocol)} under {count}" for protocol, count in rest[:NAMED]]
    more = len(rest) - NAMED
    if more > 0:
        said.append(
            counted(more, "other transport under as many or fewer", "other transports under as many or fewer")
        )
    return f" {listed(said)}."
