"""What queues in front of the bottleneck: kinds, their settings in an experiment, and what the plan gets.

Defaults are those of the manual pages (tc-codel(8), tc-fq_codel(8), ...), of RED those that its authors give.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError, WithJsonSchema, field_validator, model_validator

from gauntlet import units
from gauntlet.errors import UserError
from gauntlet.experiment.quantities import Duration, Share, Size
from gauntlet.experiment.strict import Location, Strict, sentence

PACKET_BYTES = 1500
"""By which packets become bytes and bytes packets: the MTU of every link that is shaped."""

_AMOUNT = re.compile(r"\s*((?:\d+(?:\.\d*)?|\.\d+))\s*(packets?|BDP)\s*")
LIMIT_PATTERN = rf"(^\s*[0-9.]+\s*(packets?|BDP)\s*$)|({units.PATTERNS['size']})|({units.PATTERNS['time']})"
"""How a limit is written, for editors."""

Unit = Literal["bytes", "packets", "s", "BDP"]


@dataclass(frozen=True)
class Kind:
    """A queueing discipline of the kernel."""

    label: str
    counts: Literal["bytes", "packets"]
    """What its limit counts."""
    keys: Mapping[str, str]
    """Keys beside `limit`, each with its name in the plan."""
    defaults: Mapping[str, Any]
    """In the plan's words; what is not here is left out of the plan, or worked out."""


_CODEL = {"target": "target_s", "interval": "interval_s", "ecn": "ecn", "ce_threshold": "ce_threshold_s"}
_PIE = {"target": "target_s", "tupdate": "tupdate_s", "ecn": "ecn"}
_FLOWS = {"flows": "flows", "quantum": "quantum_bytes"}
_OF_PIE = {"target_s": 0.015, "tupdate_s": 0.015}
_OF_FLOWS = {"flows": 1024, "quantum_bytes": 1514}
_OF_CODEL = {"target_s": 0.005, "interval_s": 0.1}

KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "bfifo": Kind("FIFO", "bytes", {}, {"limit_bytes": 512_000}),
        "pfifo": Kind("FIFO", "packets", {}, {"limit_packets": 1000}),
        "codel": Kind("CoDel", "packets", _CODEL, {"limit_packets": 1000, **_OF_CODEL, "ecn": False}),
        "fq_codel": Kind(
            "FQ-CoDel",
            "packets",
            {**_CODEL, **_FLOWS},
            {"limit_packets": 10_240, **_OF_CODEL, "ecn": True, **_OF_FLOWS},
        ),
        "pie": Kind("PIE", "packets", _PIE, {"limit_packets": 1000, **_OF_PIE, "ecn": False}),
        "fq_pie": Kind(
            "FQ-PIE",
            "packets",
            {**_PIE, **_FLOWS},
            {"limit_packets": 10_240, **_OF_PIE, "ecn": False, **_OF_FLOWS},
        ),
        "red": Kind(
            "RED",
            "bytes",
            {
                "min": "min_bytes",
                "max": "max_bytes",
                "probability": "probability",
                "burst": "burst_packets",
                "ecn": "ecn",
            },
            {"limit_bytes": 512_000, "probability": 0.02, "ecn": False},
        ),
        "sfq": Kind(
            "SFQ", "packets", {"quantum": "quantum_bytes"}, {"limit_packets": 127, "quantum_bytes": 1514}
        ),
        "cake": Kind(
            "CAKE",
            "bytes",
            {"rtt": "rtt_s", "target": "target_s", "diffserv": "diffserv"},
            {"rtt_s": 0.1, "diffserv": "diffserv3"},
        ),
    }
)
"""By their names in the kernel. `bfifo` is the queue of the token bucket itself."""


class QueueSection(Strict):
    """`queue = { kind = "...", ... }`."""

    kind: Literal["bfifo", "pfifo", "codel", "fq_codel", "pie", "fq_pie", "red", "sfq", "cake"]
    limit: str | None = Field(default=None, json_schema_extra={"pattern": LIMIT_PATTERN})
    """The most that waits: bytes, packets, a time at the line's best rate, or bandwidth-delay products."""
    target: Duration | None = None
    """Delay that may last (CoDel, CAKE), or that is aimed at (PIE)."""
    interval: Duration | None = None
    """For how long CoDel puts up with more."""
    ecn: bool | None = None
    """Whether packets that can be marked are, instead of being dropped."""
    ce_threshold: Duration | None = None
    """Delay above which CoDel marks every packet that can be."""
    flows: int | None = Field(default=None, ge=1, le=65_536)
    """Queues among which flows are spread."""
    quantum: Size | None = None
    """What a flow may send in a turn."""
    tupdate: Duration | None = None
    """How often PIE works its probability out anew."""
    min: Size | None = None
    """Average length up to which RED leaves packets alone."""
    max: Size | None = None
    """Average length from which on RED drops or marks every packet."""
    probability: Share | None = None
    """Of RED, just below that."""
    burst: int | None = Field(default=None, ge=1)
    """Packets by which RED's average may be outrun."""
    rtt: Duration | None = None
    """Round trip for which CAKE is set."""
    diffserv: Literal["besteffort", "diffserv3", "diffserv4", "diffserv8"] | None = None
    """Classes into which CAKE puts packets by their DSCP."""

    @field_validator("kind", mode="before")
    @classmethod
    def _spelt_as_here(cls, written: object) -> object:
        kind = _kind_of(written)
        if isinstance(written, str) and kind not in (None, written):
            raise ValueError(f'{written!r} is called "{kind}" here; write kind = "{kind}".')
        return written

    @model_validator(mode="after")
    def _of_its_kind(self) -> "QueueSection":
        kind = KINDS[self.kind]
        for key in sorted(self.model_fields_set - {"kind", "limit", *kind.keys}):
            known = ", ".join(("limit", *kind.keys))
            raise ValueError(f"the queue '{self.kind}' has no key '{key}'; it has {known}.")
        if self.limit is not None:
            amount(self.limit)
        return self

    def settled(self) -> dict[str, Any]:
        """What was said, in base units and in the plan's words; the limit as number and unit."""
        said = {
            name: value
            for key, name in KINDS[self.kind].keys.items()
            if (value := getattr(self, key)) is not None
        }
        limit = {} if self.limit is None else {"limit": [*amount(self.limit)]}
        return {"kind": self.kind, **limit, **said}


def amount(written: str) -> tuple[float, Unit]:
    """A limit as number and unit: "512kB", "1000 packets", "100ms", "1.5 BDP". Raises ValueError."""
    found = _AMOUNT.fullmatch(written)
    try:
        if found:
            number = float(found[1])
            unit: Unit = "BDP" if found[2] == "BDP" else "packets"
            if unit == "packets" and number != int(number):
                raise ValueError(f"{written!r} is no whole number of packets.")
        elif re.search(r"B\s*$", written):
            number, unit = float(units.size_bytes(written)), "bytes"
        else:
            number, unit = units.time_s(written), "s"
    except UserError:
        if (kind := _kind_of(written)) is not None:
            raise ValueError(f'{written!r} is a kind of queue; write {{ kind = "{kind}" }}.') from None
        raise ValueError(
            f"{written!r} is no limit of a queue; write '512kB', '1000 packets', '100ms' or '1 BDP'."
        ) from None
    if number <= 0:
        raise ValueError(f"the limit {written!r} lets nothing through; give one above 0.")
    return number, unit


def _kind_of(written: object) -> str | None:
    """The kind that a word means, in whatever spelling; a drop-tail queue is the FIFO of bytes."""
    plain = re.sub(r"[^a-z]", "", str(written).lower())
    if plain in ("droptail", "taildrop", "fifo"):
        return "bfifo"
    return next((kind for kind in KINDS if kind.replace("_", "") == plain), None)


def read(written: object) -> int | QueueSection:
    """What stands behind `queue`: bytes as text, another amount as text, or a table. Raises ValueError."""
    if isinstance(written, dict):
        try:
            return QueueSection.model_validate(written)
        except ValidationError as error:
            raise ValueError(sentence(error, _key)) from None
    if not isinstance(written, str):
        raise ValueError(f"{written!r} is no queue; write a size such as '512kB', or a table with a kind.")
    number, unit = amount(written)
    if unit == "bytes":
        return int(number)
    return QueueSection(kind="pfifo" if unit == "packets" else "bfifo", limit=written)


def _key(location: Location) -> str:
    return ", ".join(map(str, location))


Queue = Annotated[
    int | QueueSection,
    BeforeValidator(read),
    WithJsonSchema(
        {
            "anyOf": [{"type": "string", "pattern": LIMIT_PATTERN}, QueueSection.model_json_schema()],
            "examples": ["512kB", "1 BDP", {"kind": "fq_codel"}],
        }
    ),
]
"""Bytes that may wait, or a queue of another kind."""


def label(written: object) -> str:
    """What people read: FQ-CoDel (limit 1 BDP, no ECN). Raises ValueError."""
    queue = read(written)
    if isinstance(queue, int):
        return units.spaced(units.format_size(queue))
    said = {key: getattr(queue, key) for key in ("limit", *KINDS[queue.kind].keys)}
    words = [_words(key, value) for key, value in said.items() if value is not None]
    name = KINDS[queue.kind].label
    if queue.kind in ("bfifo", "pfifo") and len(words) == 1:
        return f"{name} of {words[0].removeprefix('limit ')}"
    return f"{name} ({', '.join(words)})" if words else name


def _words(key: str, value: Any) -> str:
    shown = key.replace("ce_threshold", "CE threshold").replace("ecn", "ECN")
    if isinstance(value, bool):
        return shown if value else f"no {shown}"
    if key == "diffserv":
        return str(value)
    if key == "limit":
        return f"{shown} {_amount_in_words(value)}"
    if key in ("target", "interval", "ce_threshold", "tupdate", "rtt"):
        value = units.spaced(units.format_time(value))
    elif key in ("min", "max", "quantum"):
        value = units.spaced(units.format_size(value))
    elif key == "probability":
        value = units.format_fraction(value)
    return f"{shown} {value}"


def _amount_in_words(value: Any) -> str:
    number, unit = amount(value)
    if unit == "bytes":
        return units.spaced(units.format_size(int(number)))
    return units.spaced(units.format_time(number)) if unit == "s" else f"{number:g} {unit}"


def planned(settled: Mapping[str, Any], rate_bps: float, round_trip_s: float) -> dict[str, Any]:
    """The keys of a timeline entry for a queue at a bottleneck of this best rate and longest round trip.

    Raises UserError where less than a packet fits.
    """
    kind = KINDS[settled["kind"]]
    said = {**kind.defaults, **{k: value for k, value in settled.items() if k not in ("kind", "limit")}}
    if "limit" in settled:
        said[f"limit_{kind.counts}"] = _limit(kind, settled["limit"], rate_bps, round_trip_s)
    if settled["kind"] == "bfifo":
        return {"queue_limit_bytes": said["limit_bytes"]}
    if settled["kind"] == "red":
        said = {**_thresholds(said["limit_bytes"], said), **said}
    if settled["kind"] == "cake":
        # As tc-cake(8) takes it: a twentieth of the round trip.
        said.setdefault("target_s", round(said["rtt_s"] / 20, 6))
        if "limit_bytes" in said:
            said["memory_bytes"] = said.pop("limit_bytes")
    return {"queue": {"kind": settled["kind"], **said}}


def _limit(kind: Kind, limit: Any, rate_bps: float, round_trip_s: float) -> int:
    number, unit = limit
    if unit == kind.counts:
        whole = int(number)
    else:
        size_bytes = {
            "bytes": number,
            "packets": number * PACKET_BYTES,
            "s": number * rate_bps / 8,
            "BDP": number * round_trip_s * rate_bps / 8,
        }[unit]
        whole = round(size_bytes / PACKET_BYTES) if kind.counts == "packets" else round(size_bytes)
    least = 1 if kind.counts == "packets" else PACKET_BYTES
    if whole < least:
        raise UserError(
            f"[link] queue: a limit of {number:g} {unit} is less than a packet of {PACKET_BYTES} bytes on a "
            f"line of {rate_bps / 1e6:g} Mbit/s and {round_trip_s * 1e3:g} ms; give more."
        )
    return whole


def _thresholds(limit_bytes: int, said: Mapping[str, Any]) -> dict[str, Any]:
    """A third of what the queue holds and a twelfth, and the burst that goes with it (tc-red(8): four times
    as much at most as at least, and (2 min + max) / (3 packets))."""
    highest = said.get("max_bytes", limit_bytes // 3)
    lowest = said.get("min_bytes", highest // 4)
    return {
        "min_bytes": lowest,
        "max_bytes": highest,
        "burst_packets": max(1, -(-(2 * lowest + highest) // 3000)),
    }
