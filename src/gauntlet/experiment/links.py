"""From a scenario and conditions to the timeline of a network: which hop carries which impairment.

Where the hops are is a matter of networks.py. Rates, access delays and losses come from the scenario's trace,
what a condition adds to them from the experiment.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from gauntlet.errors import UserError
from gauntlet.experiment import queues
from gauntlet.experiment.networks import NETWORKS
from gauntlet.experiment.runspec import LinkConditions, RunSpec, ScenarioRef

if TYPE_CHECKING:
    from gauntlet.scenario import Scenario, Trace
    from gauntlet.scenario.radio import Latency

RATE_COLUMNS = {side: (f"rate_{side}_bps", "queue_limit_bytes") for side in ("up", "down")}
CHANNEL_COLUMNS = {side: (f"delay_{side}_s", f"loss_{side}") for side in ("up", "down")}
"""Columns of a trace that a direction's hops follow: those with its rate, and all others."""

_RIDDEN = [
    "t_s",
    *dict.fromkeys(
        name for columns in (RATE_COLUMNS, CHANNEL_COLUMNS) for own in columns.values() for name in own
    ),
]

State = dict[str, Any]
SMALLEST_BUCKET_BYTES, LARGEST_BUCKET_BYTES = 1500, 10**9
"""The MTU of every link that is shaped, and what no line has: the kernel counts up to 2^32 bytes."""
DELAY_DIGITS = 9
"""Delays and instants are rounded to the kernel's nanoseconds."""


def scenario(ref: ScenarioRef, seed: int) -> "Scenario":
    """The scenario a run rides, with the draws of `seed`. Loaded once per seed. Raises UserError."""
    return _load(ref.path or ref.name, json.dumps(dict(ref.params), sort_keys=True, default=str), seed)


@lru_cache(maxsize=64)
def _load(name: str, params: str, seed: int) -> "Scenario":
    from gauntlet.scenario import load_scenario

    return load_scenario(name, json.loads(params), seed)


def bearer(ref: ScenarioRef, found: "Scenario") -> "Trace":
    """The one bearer, or the one that the experiment names. Raises UserError."""
    if ref.bearer is None and len(found.bearers) == 1:
        return next(iter(found.bearers.values()))
    if ref.bearer is None or ref.bearer not in found.bearers:
        names = ", ".join(found.bearers)
        raise UserError(f"[scenario] bearer: '{ref.name}' has the bearers {names}; name one of them.")
    return found.bearers[ref.bearer]


def max_rate_bps(ref: ScenarioRef, found: "Scenario", direction: str) -> float:
    """What "max" means for a flow of this direction, in bit/s at the IP layer.

    On a railway what one train alone can get at best (D3.4 section 5.2), whether or not it ever does;
    elsewhere the trace's highest rate.
    """
    if found.line is not None:
        return found.max_rate_bps
    return float(bearer(ref, found).column(f"rate_{direction}_bps").max())


def check(ref: ScenarioRef, found: "Scenario", link: LinkConditions) -> None:
    """Refuse conditions that the scenario cannot have. Raises UserError."""
    trace = bearer(ref, found)
    for access_s in access_delay_s(found, trace):
        if link.channel_delay_s is not None and link.channel_delay_s < access_s:
            raise UserError(
                f"[link] channel_delay: {link.channel_delay_s * 1e3:g} ms is less than the "
                f"{access_s * 1e3:g} ms of the access network of '{ref.name}' (mean); give at least that."
            )
    own = (link.second_rate_bps, link.second_delay_s, link.second_loss)
    if any(value is not None for value in own) and not NETWORKS[link.network].second:
        lines = " or ".join(f"'{name}'" for name, network in NETWORKS.items() if network.second)
        raise UserError(
            f"[link]: second_rate, second_delay and second_loss are of a network with a second line, "
            f"{lines}; set network to it or leave them out."
        )
    if link.burst_loss is not None and link.second_loss is not None:
        raise UserError("[link] second_loss: there is burst_loss on both lines; keep one of them.")
    bucket_bytes = SMALLEST_BUCKET_BYTES if link.bucket_bytes is None else link.bucket_bytes
    if not SMALLEST_BUCKET_BYTES <= bucket_bytes <= LARGEST_BUCKET_BYTES:
        raise UserError(
            f"[link] bucket: {bucket_bytes:,} bytes are no bucket for packets of an Ethernet's MTU; "
            f"give from {SMALLEST_BUCKET_BYTES} B to {LARGEST_BUCKET_BYTES // 10**9} GB."
        )
    for side in ("up", "down"):
        _queued(ref, found, link, side)
    independent = link.loss > 0 or trace.column("loss_up").max() > 0 or trace.column("loss_down").max() > 0
    if link.burst_loss is not None and independent:
        raise UserError("[link] burst_loss: there is independent loss too; a link has one or the other.")


def round_trip_s(ref: ScenarioRef, found: "Scenario", link: LinkConditions) -> float:
    """The longest round trip that light and the rest of the channel take, without queues."""
    trace = bearer(ref, found)
    own_s = float(trace.column("delay_up_s").max() + trace.column("delay_down_s").max())
    if link.channel_delay_s is None:
        return own_s
    return own_s + sum(max(0.0, link.channel_delay_s - mean_s) for mean_s in access_delay_s(found, trace))


def _queued(ref: ScenarioRef, found: "Scenario", link: LinkConditions, side: str) -> State | None:
    """What queues at the bottleneck of a direction, as keys of the timeline; None: as the scenario says."""
    if link.queue is None:
        return None
    return queues.planned(link.queue, max_rate_bps(ref, found, side), round_trip_s(ref, found, link))


def access_delay_s(found: "Scenario", trace: "Trace") -> tuple[float, float]:
    """Mean one-way delay of the access network, up and down, in seconds.

    On a railway the middle of the interval from which latencies are drawn (15 ms for LTE: D3.4 section 4.4),
    so that it is the same in every repetition; elsewhere the time average of the trace.
    """
    from gauntlet.scenario import radio

    if found.kind == "rail-lte":
        return _middle(radio.lte_data().latency["nr" if found.params["radio"] == "nr" else "lte"])
    if found.kind == "metro-wifi":
        return _middle(radio.wifi_data().latency)
    until_s = found.duration_s if found.ends else float(trace.column("t_s")[-1]) or 1.0
    return trace.mean("delay_up_s", 0.0, until_s), trace.mean("delay_down_s", 0.0, until_s)


def _middle(latency: "Latency") -> tuple[float, float]:
    middle_s = (latency.min_s + latency.max_s) / 2
    return middle_s, middle_s


def ridden(spec: RunSpec) -> dict[str, pa.Table]:
    """The link of a run over its time, per bearer, as a trace table (docs/formats/trace.md).

    Conditions are included: delays of the whole channel, losses of scenario and condition together, queue.
    """
    found = scenario(spec.scenario, spec.link_seed)
    trace = bearer(spec.scenario, found)
    name = next(key for key, value in found.bearers.items() if value is trace)
    table = _window(spec, found, trace).table
    extra = _internet_s(spec, found, trace)
    for side, internet_s in zip(("up", "down"), extra, strict=True):
        delays = [
            round(delay_s + internet_s, DELAY_DIGITS)
            for delay_s in table.column(f"delay_{side}_s").to_pylist()
        ]
        losses = [_loss(spec.link, side, own) for own in table.column(f"loss_{side}").to_pylist()]
        table = with_column(with_column(table, f"delay_{side}_s", delays), f"loss_{side}", losses)
    if spec.link.queue_limit_bytes is not None:
        table = with_column(table, "queue_limit_bytes", [spec.link.queue_limit_bytes] * table.num_rows)
    limit = (_queued(spec.scenario, found, spec.link, "up") or {}).get("queue_limit_bytes")
    if limit is not None:
        table = with_column(table, "queue_limit_bytes", [limit] * table.num_rows)
    return {name: table}


def timeline(spec: RunSpec) -> list[State]:
    """The timeline of a run over a preset: everything at 0, later only what changes."""
    found = scenario(spec.scenario, spec.link_seed)
    trace = bearer(spec.scenario, found)
    stretch = _stretch(trace, spec.start_s, _window_s(spec, found))
    network, link = NETWORKS[spec.link.network], spec.link

    def of_hop(hop: str, state: State) -> State:
        return _second(link, state) if hop in network.second else state

    seconds = (link.second_rate_bps, link.second_delay_s, link.second_loss)
    placed: list[tuple[_Place, State]] = []
    for number, (side, internet_s) in enumerate(
        zip(("up", "down"), _internet_s(spec, found, trace), strict=True)
    ):
        hops = (network.up, network.down)[number]
        own_s = 0.0 if hops.internet else internet_s
        queued = _queued(spec.scenario, found, link, side)
        states: tuple[tuple[Sequence[str], Sequence[str], tuple[Any, ...], Callable[[State], State]], ...] = (
            (
                hops.rate,
                RATE_COLUMNS[side],
                (link.queue_limit_bytes, link.bucket_bytes, json.dumps(queued)),
                partial(rate_state, link, side, queued),
            ),
            (
                hops.access,
                CHANNEL_COLUMNS[side],
                (own_s, *_of_access(link)),
                partial(channel_state, link, side, own_s),
            ),
            (
                hops.internet if internet_s > 0 else (),
                (),
                (internet_s,),
                partial(_internet, internet_s),
            ),
        )
        for order, (names, followed, conditions, state) in enumerate(states):
            asked = (link.network, number, order, *conditions, *seconds)
            if asked not in stretch.made:
                stretch.made[asked] = [
                    ((row, number, order, hop), entry)
                    for row, hop, entry in entries(stretch.rows, names, followed, state, of_hop)
                ]
            placed += stretch.made[asked]
    return [dict(entry) for _, entry in sorted(placed, key=itemgetter(0))]


_Place = tuple[int, int, int, int]
"""Where an entry of a timeline stands: row of the trace, direction, what it is of, hop."""


@dataclass(frozen=True)
class _Stretch:
    """What hops follow of a stretch, row by row, and what was made of it: many conditions ride one stretch,
    and each part of a timeline depends on few of them.
    """

    trace: "Trace"
    rows: list[State]
    made: dict[tuple[Any, ...], list[tuple[_Place, State]]] = field(default_factory=dict)


def entries(
    rows: Sequence[State],
    hops: Sequence[str],
    followed: Sequence[str],
    state: Callable[[State], State],
    of_hop: Callable[[str, State], State] = lambda _hop, state: state,
) -> Iterator[tuple[int, int, State]]:
    """Row, place of the hop and entry wherever the state of a hop changes, which is one of what is
    `followed` of the rows; `of_hop` says what that is for a hop of its own.
    """
    held: dict[str, State] = {}
    before: State | None = None
    for number, row in enumerate(rows):
        if before is None or any(before[name] != row[name] for name in followed):
            common = state(row)
            for place, hop in enumerate(hops):
                own = of_hop(hop, common)
                known = held.get(hop, {})
                changed = {
                    key: value for key, value in own.items() if key not in known or known[key] != value
                }
                if changed:
                    held[hop] = {**known, **changed}
                    yield number, place, {"at_s": round(row["t_s"], DELAY_DIGITS), "link": hop, **changed}
        before = row


def _window(spec: RunSpec, found: "Scenario", trace: "Trace") -> "Trace":
    return trace.window(spec.start_s, _window_s(spec, found))


def _window_s(spec: RunSpec, found: "Scenario") -> float:
    return min(spec.limit_s, found.duration_s - spec.start_s)


def _stretch(trace: "Trace", start_s: float, duration_s: float) -> _Stretch:
    key = (id(trace), start_s, duration_s)
    if key not in _STRETCHES:
        if len(_STRETCHES) >= _MOST_STRETCHES:
            _STRETCHES.pop(next(iter(_STRETCHES)))
        # The trace is kept too, so that no other one gets its id.
        rows = trace.window(start_s, duration_s).table.select(_RIDDEN).to_pylist()
        _STRETCHES[key] = _Stretch(trace, rows)
    return _STRETCHES[key]


def rows_of(trace: "Trace", start_s: float, duration_s: float) -> Sequence[State]:
    """What links follow of a stretch, row by row, from 0 s on; kept while few others are asked for."""
    return _stretch(trace, start_s, duration_s).rows


_MOST_STRETCHES = 8
_STRETCHES: dict[tuple[int, float, float], _Stretch] = {}


def _internet_s(spec: RunSpec, found: "Scenario", trace: "Trace") -> tuple[float, float]:
    """What the rest of the channel adds to the access delay, up and down, in seconds."""
    if spec.link.channel_delay_s is None:
        return 0.0, 0.0
    up_s, down_s = access_delay_s(found, trace)
    whole_s = spec.link.channel_delay_s
    return round(whole_s - up_s, DELAY_DIGITS), round(whole_s - down_s, DELAY_DIGITS)


def rate_state(link: LinkConditions, side: str, queued: State | None, row: State) -> State:
    if queued is None:
        queued = {"queue_limit_bytes": link.queue_limit_bytes or row["queue_limit_bytes"]}
    state = {"rate_bps": round(row[f"rate_{side}_bps"]), **queued}
    return state if link.bucket_bytes is None else {**state, "burst_bytes": link.bucket_bytes}


def channel_state(link: LinkConditions, side: str, own_s: float, row: State) -> State:
    delay_s = row[f"delay_{side}_s"] + own_s
    return {"delay_s": round(delay_s, DELAY_DIGITS), **_access(link, side, row[f"loss_{side}"])}


def _internet(internet_s: float, _row: State) -> State:
    return {"delay_s": internet_s}


def _of_access(link: LinkConditions) -> tuple[Any, ...]:
    """The conditions that `_access` looks at."""
    burst_loss = tuple(sorted(link.burst_loss.items())) if link.burst_loss is not None else None
    return (
        link.loss, link.loss_direction, burst_loss, link.jitter_s, link.reorder, link.duplicate, link.corrupt,
    )  # fmt: skip


def _second(link: LinkConditions, state: State) -> State:
    """The state of a hop of the second line, where it differs from that of the first line's hop."""
    own = {"rate_bps": link.second_rate_bps, "delay_s": link.second_delay_s, "loss": link.second_loss}
    return {key: value if own.get(key) is None else own[key] for key, value in state.items()}


def _access(link: LinkConditions, side: str, own_loss: float) -> State:
    state: State = {"loss": _loss(link, side, own_loss)}
    if link.burst_loss is not None and link.loss_direction in ("both", side):
        state = {"gilbert_elliott": dict(link.burst_loss)}
    optional = {
        "jitter_s": link.jitter_s,
        "reorder": link.reorder,
        "duplicate": link.duplicate,
        "corrupt": link.corrupt,
    }
    return {**state, **{key: value for key, value in optional.items() if value}}


def _loss(link: LinkConditions, side: str, own: float) -> float:
    """Losses of the scenario and of the condition are independent of each other."""
    if link.loss == 0 or link.loss_direction not in ("both", side):
        return own
    return round(1 - (1 - own) * (1 - link.loss), 12)


def with_column(table: pa.Table, name: str, values: list[Any]) -> pa.Table:
    index = table.schema.get_field_index(name)
    field = table.schema.field(index)
    return table.set_column(index, field, pa.array(values, type=field.type))
