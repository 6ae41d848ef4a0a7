"""Axes of the matrix: which key of the experiment each varies, and how its values read in ids and labels."""

import json
import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from gauntlet import units
from gauntlet.errors import UserError
from gauntlet.experiment import protocols, queues
from gauntlet.experiment.network_section import AXES as NETWORK_AXES
from gauntlet.experiment.network_section import LINK_AXES
from gauntlet.experiment.runspec import Factor
from gauntlet.experiment.schema import FLOW_KEYS, LINK_KEYS, SERVER_KEYS
from gauntlet.experiment.strict import unknown_key

_TIMES = (
    "delay", "second_delay", "skew", "jitter",
    "duration", "mean_on", "mean_off", "interval", "start", "bound",
    "initial_rtt", "idle_timeout", "migrate_after", "path_timeout", "max_ack_delay", "playout",
    "fop_timer", "report_interval",
    "t_max", "t_h", "t_seq", "warm_up", "reopen_after",
)  # fmt: skip
_SIZES = ("queue", "bucket", "size", "packet", "frame", "initial_cwnd", "send_buffer", "receive_buffer")
_LENGTHS = ("apart",)
_SHARES = ("loss", "second_loss", "duplicate", "corrupt")
_UNSAFE = str.maketrans({"%": "pct", "µ": "u", "/": "", " ": "-"})


@dataclass(frozen=True)
class AxisValue:
    """One value of an axis: as written, as a factor of a run (base units), in ids and for people."""

    written: Any
    factor: Factor
    slug: str
    label: str


@dataclass(frozen=True)
class Axis:
    """One dimension of the matrix."""

    written: str
    """The key as the file has it, for error sentences."""
    section: str
    """scenario, network, link, server, workload or sysctl."""
    key: str
    factor: str
    """Name of the factor in results, with its unit: channel_delay_s."""
    values: tuple[AxisValue, ...]


def axes(matrix: Mapping[str, Any], known: Mapping[str, protocols.Protocol]) -> tuple[list[str], list[Axis]]:
    """Split [matrix] into the list of protocols (of those `known`) and the other axes, in the file's order.

    Raises UserError for an unknown key, a value that is no list, an empty list or a value that stands twice.
    """
    flat = _flatten(matrix)
    chosen = [
        _protocols(str(text), n, known)
        for n, text in enumerate(_values("protocols", flat.pop("protocols", [])))
    ]
    found = [_axis(key, _values(key, values)) for key, values in flat.items()]
    if len(set(chosen)) != len(chosen):
        raise UserError("[matrix] protocols: a protocol stands twice; name each once.")
    targets = [(axis.section, axis.key) for axis in found]
    for axis in found:
        if targets.count((axis.section, axis.key)) > 1:
            raise UserError(f"[matrix] {axis.written}: this key is varied by two axes; keep one of them.")
    return chosen, found


def overlay(sections: Mapping[str, Any], axis: Axis, value: AxisValue) -> dict[str, Any]:
    """Put an axis value in its place in raw sections (scenario, network, link, server, flow, sysctl); a
    copy.
    """
    changed = deepcopy(dict(sections))
    if axis.section == "workload":
        for flow in changed["flow"]:
            flow[axis.key] = value.written
    elif axis.section == "network" and "." in axis.key:
        link, _, key = axis.key.rpartition(".")
        changed["network"].setdefault("set", {}).setdefault(link, {})[key] = value.written
    else:
        changed[axis.section][axis.key] = value.written
    return changed


def _protocols(text: str, index: int, known: Mapping[str, protocols.Protocol]) -> str:
    for part in text.split("+"):
        protocols.protocol(part, f"[matrix] protocols, value {index + 1}", known)
    return text


def _flatten(matrix: Mapping[str, Any]) -> dict[str, Any]:
    """Make nested tables of [matrix] dotted keys: scenario.bandwidth = [...] is one key of a flat table."""
    flat: dict[str, Any] = {}
    for key, value in matrix.items():
        if isinstance(value, dict):
            flat.update({f"{key}.{below}": held for below, held in _flatten(value).items()})
        else:
            flat[key] = value
    return flat


def _values(key: str, values: Any) -> Sequence[Any]:
    if not isinstance(values, list):
        raise UserError(
            f"[matrix] {key}: {values!r} is not a list; write {key} = [{json.dumps(values, default=str)}]."
        )
    if not values and key != "protocols":
        raise UserError(f"[matrix] {key}: the list is empty; give at least one value or leave the key out.")
    return values


def _axis(written: str, values: Sequence[Any]) -> Axis:
    section, key = _target(written)
    read = tuple(
        _value(section, key, value, f"[matrix] {written}, value {n + 1}") for n, value in enumerate(values)
    )
    slugs = [value.slug for value in read]
    for value in read:
        if slugs.count(value.slug) > 1:
            raise UserError(f"[matrix] {written}: the value {value.label} stands twice; keep one of them.")
    if len({isinstance(value.factor, str) for value in read}) > 1:
        # Numbers beside words ("max"): a column of results has one type, so all of them are words.
        worded = tuple(replace(value, factor=value.label) for value in read)
        return Axis(written, section, key, _plain_name(section, key), worded)
    if key.rpartition(".")[2] == "queue" and isinstance(read[0].factor, str):
        return Axis(written, section, key, _plain_name(section, key), read)
    return Axis(written, section, key, _factor_name(section, key), read)


def _target(written: str) -> tuple[str, str]:
    if written == "scenario":
        return "scenario", "name"
    section, dot, key = written.partition(".")
    if dot and section in ("scenario", "sysctl") and key:
        return section, key
    if dot and section == "network":
        return section, _of_network(key)
    if dot and key in {"link": LINK_KEYS, "server": SERVER_KEYS, "workload": FLOW_KEYS}.get(section, ()):
        return section, key
    if not dot and written in LINK_KEYS:
        return "link", written
    if not dot and written in FLOW_KEYS and written != "protocol":
        return "workload", written
    known = ["protocols", "scenario", *LINK_KEYS, *(key for key in FLOW_KEYS if key != "protocol")]
    raise UserError(f"[matrix]: {unknown_key(written, known)}")


def _of_network(key: str) -> str:
    """A key of [network], or one of a link: LINK.KEY."""
    link, dot, own = key.rpartition(".")
    known = LINK_AXES if dot else NETWORK_AXES
    if own not in known or (dot and not link):
        raise UserError(f"[matrix] network.{key}: {unknown_key(own, known)}")
    return key


def _plain_name(section: str, key: str) -> str:
    """The name of a factor whose values are words, so that it has no unit."""
    return f"network.{key}" if section == "network" else key


def _factor_name(section: str, key: str) -> str:
    if section == "scenario" and key == "name":
        return "scenario"
    if section in ("link", "workload", "network"):
        suffix = {
            **dict.fromkeys(("channel_delay", *_TIMES), "_s"),
            **dict.fromkeys(_SIZES, "_bytes"),
            **dict.fromkeys(_LENGTHS, "_km"),
            "rate": "_bps",
            "second_rate": "_bps",
            "initial_window": "_segments",
            "fop_window": "_frames",
        }
        own = suffix.get(key.rpartition(".")[2], "")
        return f"network.{key}{own}" if section == "network" else key + own
    return f"{section}.{key}"


def _value(section: str, key: str, written: Any, where: str) -> AxisValue:
    if section in ("link", "network") and key.rpartition(".")[2] == "queue":
        return _queue(written, where)
    if section in ("link", "workload", "network") and not isinstance(written, dict):
        quantity = _quantity(key.rpartition(".")[2], written, where)
        if quantity is not None:
            factor, text = quantity
            return AxisValue(written, factor, _slug(text), units.spaced(text))
    if isinstance(written, bool):
        return AxisValue(written, int(written), "on" if written else "off", "on" if written else "off")
    if isinstance(written, int | float):
        return AxisValue(written, written, _slug(str(written)), str(written))
    if isinstance(written, str):
        return AxisValue(written, written, _slug(written), written)
    if isinstance(written, dict):
        return _table(section, written)
    raise UserError(f"{where}: {written} cannot be a value of an axis; give text, a number or true or false.")


def _queue(written: Any, where: str) -> AxisValue:
    """A queue: bytes as a number, every other one by its words."""
    try:
        read, label = queues.read(written), queues.label(written)
    except ValueError as error:
        raise UserError(f"{where}: {error}") from None
    if isinstance(read, int):
        return AxisValue(written, read, _slug(units.format_size(read)), label)
    words = label.removeprefix(queues.KINDS[read.kind].label).rstrip(")")
    slug = _slug(re.sub(r", | of | \(", "-", f"{read.kind}{words}"))
    return AxisValue(written, label, slug, label)


def _table(section: str, written: Mapping[str, Any]) -> AxisValue:
    """A table by its keys; what a link follows by its name, then by what is said of it."""
    words = [f"{key.replace('_', ' ')} {_words(value)}" for key, value in written.items()]
    if section == "network" and isinstance(written.get("name"), str):
        named = [word for word in words if not word.startswith("name ")]
        label = ", ".join([written["name"], *named])
        return AxisValue(written, label, _slug(label.replace(", ", "-")), label)
    text = json.dumps(written, sort_keys=True, default=str)
    slug = _slug("-".join(f"{key}-{value}" for key, value in sorted(written.items())))
    return AxisValue(written, text, slug, ", ".join(words))


def _quantity(key: str, written: Any, where: str) -> tuple[Factor, str] | None:
    if key == "channel_delay":
        middle_s, half_width_s = units.spread_time_s(written, where)
        return middle_s, units.format_spread_time(middle_s, half_width_s)
    if key in _TIMES:
        seconds = units.time_s(written, where)
        return seconds, units.format_time(seconds)
    if key in _SIZES:
        size = units.size_bytes(written, where)
        return size, units.format_size(size)
    for keys, read, shown in (
        (_SHARES, units.fraction, units.format_fraction),
        (_LENGTHS, units.length_km, units.format_length),
    ):
        if key in keys:
            value = read(written, where)
            return value, shown(value)
    if key in ("rate", "second_rate") and written != "max":
        rate = units.rate_bps(written, where)
        return rate, units.format_rate(rate)
    return None


def _words(value: Any) -> str:
    """A value within a table for people: 18.4 ms."""
    return units.spaced(value) if isinstance(value, str) else str(value)


def _slug(text: str) -> str:
    """Text in the letters that a run's id may have."""
    safe = text.translate(_UNSAFE)
    return "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in "._-") else "-" for letter in safe
    )
