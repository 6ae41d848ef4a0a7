"""Which default breaks first: the delay or the loss above which a transport no longer completes a transfer,
found by bisection, the parameter that is at fault, and the least value of it that mends the transfer.

Each trial is one run on the virtual ground: the real stack, in virtual time. That a transport that fails at
some delay fails at every longer one is taken for granted, as bisection does.
"""

import json
import math
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gauntlet.engine.contract import Engine, Place
from gauntlet.errors import RunError, UserError
from gauntlet.experiment import expand
from gauntlet.experiment.load import parse_experiment
from gauntlet.experiment.plans import plan_run
from gauntlet.experiment.protocols import protocol
from gauntlet.units import format_time

_FINE = 1.02
"""Bisection of a delay, or of a parameter, ends when its ends differ by a fiftieth."""

_LOSS_DIGITS = 2
"""Bisection of a loss goes by whole per cents: a few runs with random losses tell nothing finer."""

_PATIENCE_ROUND_TRIPS = 400
"""Round trips after which a transfer that is still going on counts as not completed."""


@dataclass(frozen=True)
class Transfer:
    """What is sent over which link: one file up."""

    protocol: str
    size_bytes: int = 100_000
    rate_bps: int = 1_000_000
    packet_bytes: int = 900
    """So that a message and a frame around it fit one datagram of any of the transports."""
    seed: int = 1
    repetitions: int = 1
    """Runs of one trial, each with losses of its own; it completes when all of them do."""


@dataclass(frozen=True)
class Trial:
    """One trial and how it ended."""

    delay_s: float
    loss: float
    options: Mapping[str, str | int]
    completed: bool
    reason: str = ""
    took_s: float | None = None


@dataclass(frozen=True)
class Mend:
    """A flow key that mends a transfer alone, with the least value found to do so."""

    key: str
    value: str | int
    meaning: str


@dataclass
class Breaking:
    """Where a transport breaks. `holds` and `breaks` are seconds or a share; None: it never did so."""

    protocol: str
    varied: str
    holds: float | None
    breaks: float | None
    reason: str = ""
    runs: int = 1
    """Runs of each trial."""
    by_chance: bool = False
    """Whether packets were lost, so that other runs may end otherwise."""
    tried: tuple[str, ...] = ()
    """The flow keys that were tried where it breaks."""
    mends: list[Mend] = field(default_factory=list)
    together: dict[str, str | int] = field(default_factory=dict)
    """What mends it only together, where nothing does alone."""
    trials: list[Trial] = field(default_factory=list)


@dataclass(frozen=True)
class _Remedy:
    """A key that may be at fault: its value by a measure that grows, and where the measure is sure to do."""

    key: str
    meaning: str
    written: Callable[[float], str | int]
    enough: Callable[[float], float]
    """The measure for a round trip in seconds."""
    least: float


_UNITS = (("d", 86_400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0))


def _time(value_s: float) -> str:
    """As a flow key takes it: to the millisecond below ten seconds, else to four digits, never less."""
    if value_s < 10:
        return f"{math.ceil(value_s * 1000)}ms"
    unit, scale = next((unit, scale) for unit, scale in _UNITS if value_s >= 2 * scale)
    step = 10.0 ** (math.floor(math.log10(value_s / scale)) - 3)
    return f"{math.ceil(value_s / scale / step - 1e-9) * step:.6g}{unit}"


_IDLE = _Remedy(
    "idle_timeout", "silence after which the session counts as dead", _time, lambda rtt: 100 * rtt, 1
)
_INITIAL_RTT = _Remedy(
    "initial_rtt", "round trip assumed before one was measured", _time, lambda rtt: 2 * rtt, 0.1
)
_TIMER = _Remedy("fop_timer", "T1, after which frames are sent again", _time, lambda rtt: 2 * rtt + 10, 0.1)
_LIMIT = _Remedy(
    "transmission_limit", "how often a frame is sent at most", math.ceil, lambda rtt: 10_000.0, 1
)

REMEDIES: Mapping[str, tuple[_Remedy, ...]] = {
    "quic-quinn": (_INITIAL_RTT, _IDLE),
    "quic-s2n": (_IDLE,),
    "sdls-cop1": (_TIMER, _LIMIT),
}
"""Of each stack what may be at fault when the round trip is long, in the order in which it is tried."""


class Trials:
    """Plays trials of one transfer, in guests of its own, and remembers them."""

    def __init__(self, engine: Engine, transfer: Transfer, tell: Callable[[Trial], None]) -> None:
        self._engine, self._transfer, self._tell = engine, transfer, tell
        self.made: list[Trial] = []

    def __call__(self, delay_s: float, loss: float, options: Mapping[str, str | int] | None = None) -> Trial:
        """Whether the transfer completes over this link with these flow keys."""
        given = dict(options or {})
        reason, took_s = "", 0.0
        text = _experiment(self._transfer, delay_s, loss, given)
        for spec in expand(parse_experiment(text, "the trial", Path())):
            with tempfile.TemporaryDirectory(prefix="gauntlet-trial-") as folder:
                out = self._engine.play(plan_run(spec), Path(folder), place=Place())
                record = json.loads((out / "record.json").read_text())
            if record["outcome"] != "ok":
                raise RunError(f"The trial at {format_time(delay_s)} could not be played: {record['reason']}")
            flow = record["flows"][0]
            if flow["outcome"] != "ok":
                reason = str(flow["reason"])
                break
            took_s = max(took_s, flow["finished_s"] - flow["start_s"])
        trial = Trial(delay_s, loss, given, not reason, reason, None if reason else round(took_s, 6))
        self.made.append(trial)
        self._tell(trial)
        return trial


def _experiment(transfer: Transfer, delay_s: float, loss: float, options: Mapping[str, str | int]) -> str:
    rtt_s = 2 * delay_s
    sending_s = transfer.size_bytes * 8 / transfer.rate_bps
    limit_s = math.ceil(_PATIENCE_ROUND_TRIPS * rtt_s + 100 * sending_s + 60)
    keys = "\n".join(f"{key} = {json.dumps(value)}" for key, value in options.items())
    queue = max(512_000, 2 * transfer.size_bytes)
    return f"""
[experiment]
name = "trial"
seed = {transfer.seed}
repetitions = {transfer.repetitions}
limit = "{limit_s}s"
[scenario]
name = "constant"
rate = "{transfer.rate_bps}bit/s"
delay = "{delay_s * 1e3:.6f}ms"
queue_limit = "{queue}B"
[link]
loss = {loss}
[matrix]
protocols = ["{transfer.protocol}"]
[record]
messages = false
sockets = false
packets = "none"
[workload]
app = "bulk"
direction = "up"
size = "{transfer.size_bytes}B"
packet = "{transfer.packet_bytes}B"
{keys}
"""


def by_delay(
    trials: Trials, transfer: Transfer, *, least_s: float, most_s: float, loss: float = 0.0
) -> Breaking:
    """The one-way delay at which the transfer no longer completes. Raises UserError for a wrong range."""
    if not 0 < least_s < most_s:
        raise UserError(
            f"The delays from {least_s:g} s to {most_s:g} s are no range; give the shorter first."
        )
    found = Breaking(
        transfer.protocol,
        "delay",
        None,
        None,
        runs=transfer.repetitions,
        by_chance=loss > 0,
        trials=trials.made,
    )
    first = trials(least_s, loss)
    if not first.completed:
        found.breaks, found.reason = least_s, first.reason
        return found
    last = trials(most_s, loss)
    if last.completed:
        found.holds = most_s
        return found
    holds, failing = least_s, last
    while failing.delay_s > holds * _FINE:
        trial = trials(math.sqrt(holds * failing.delay_s), loss)
        if trial.completed:
            holds = trial.delay_s
        else:
            failing = trial
    found.holds, found.breaks, found.reason = holds, failing.delay_s, failing.reason
    _mend(found, trials, failing)
    return found


def by_loss(trials: Trials, transfer: Transfer, *, delay_s: float, most: float = 0.95) -> Breaking:
    """The share of lost packets at which the transfer no longer completes."""
    if not trials(delay_s, 0.0).completed:
        raise UserError(
            f"{transfer.protocol} does not complete at {format_time(delay_s)} without losses; vary the delay "
            "first."
        )
    found = Breaking(
        transfer.protocol, "loss", None, None, runs=transfer.repetitions, by_chance=True, trials=trials.made
    )
    last = trials(delay_s, most)
    if last.completed:
        found.holds = most
        return found
    holds, failing = 0.0, last
    while (middle := round((holds + failing.loss) / 2, _LOSS_DIGITS)) not in (holds, failing.loss):
        trial = trials(delay_s, middle)
        if trial.completed:
            holds = trial.loss
        else:
            failing = trial
    found.holds, found.breaks, found.reason = holds, failing.loss, failing.reason
    _mend(found, trials, failing)
    return found


def _mend(found: Breaking, trials: Trials, failing: Trial) -> None:
    """Try each parameter alone where the transfer just fails; bisect the least value of one that mends it."""
    rtt_s = 2 * failing.delay_s
    remedies = REMEDIES.get(protocol(found.protocol).stack, ())
    found.tried = tuple(remedy.key for remedy in remedies)
    for remedy in remedies:
        enough = max(remedy.enough(rtt_s), 2 * remedy.least)
        if not trials(failing.delay_s, failing.loss, {remedy.key: remedy.written(enough)}).completed:
            continue
        low, high = remedy.least, enough
        while high > low * _FINE and remedy.written(high) != remedy.written(low):
            middle = math.sqrt(low * high)
            if remedy.written(middle) in (remedy.written(low), remedy.written(high)):
                break
            if trials(failing.delay_s, failing.loss, {remedy.key: remedy.written(middle)}).completed:
                high = middle
            else:
                low = middle
        found.mends.append(Mend(remedy.key, remedy.written(high), remedy.meaning))
    if not found.mends and len(remedies) > 1:
        together = {remedy.key: remedy.written(remedy.enough(rtt_s)) for remedy in remedies}
        if trials(failing.delay_s, failing.loss, together).completed:
            found.together = together
