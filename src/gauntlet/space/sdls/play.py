"""Plays a vector of the files in `crates/sdls/vectors`."""

from __future__ import annotations

from typing import Any

from gauntlet.space.sdls.association import End
from gauntlet.space.sdls.errors import Refused
from gauntlet.space.sdls.frames import Link
from gauntlet.space.sdls.procedures import execute, proofs_hold

Json = dict[str, Any]


def play(vector: Json) -> list[Json]:
    """What comes of each step: `{"gives": ...}` or `{"refused": code}`."""
    link = Link(vector["link"])
    ends = {name: _set_up(link, vector) for name in ("sender", "receiver")}
    outcomes: list[Json] = []
    for step in vector["steps"]:
        try:
            outcomes.append({"gives": _do(step, link, ends, vector)})
        except Refused as refusal:
            outcomes.append({"refused": refusal.code})
    return outcomes


def expected(vector: Json) -> list[Json]:
    """What the vector says of its steps."""
    return [{name: step[name] for name in ("gives", "refused") if name in step} for step in vector["steps"]]


def _do(step: Json, link: Link, ends: dict[str, End], vector: Json) -> str | Json:
    octets = bytes.fromhex(step.get("octets", ""))
    result: bytes | Json = b""
    match step["do"]:
        case "encode":
            result = link.encode(step["frame"])
        case "decode":
            result = link.read(octets)[0]
        case "apply":
            result = ends["sender"].apply(step["spi"], step["frame"])
        case "process":
            result = ends["receiver"].process(octets)
        case "command":
            result = execute(ends["receiver"], octets, step["unit"], step["carried_by"])
        case "proof":
            keys = {key["id"]: bytes.fromhex(key["octets"]) for key in vector["keys"]}
            proofs_hold(octets, keys, [bytes.fromhex(challenge) for challenge in step["challenges"]])
        case "report":
            result = ends["receiver"].report_octets()
        case "operate":
            ((what, arguments),) = step["what"].items()
            _operate(ends[step["end"]], what, arguments)
        case unknown:
            raise ValueError(f"no step is called {unknown}")
    return result.hex() if isinstance(result, bytes) else result


def _operate(end: End, what: str, a: Json) -> None:
    match what:
        case "rekey":
            end.rekey(a["spi"], a["key"], None if a["iv"] is None else bytes.fromhex(a["iv"]))
        case "start":
            end.start(a["spi"], [_channel(channel) for channel in a["channels"]])
        case "set-last":
            end.find(a["spi"]).guard.set_last(bytes.fromhex(a["value"]))
        case "stop" | "expire" | "delete":
            getattr(end, what)(a["spi"])
        case "activate" | "deactivate" | "destroy":
            states = {"activate": "active", "deactivate": "deactivated", "destroy": "destroyed"}
            end.key_step(a["key"], states[what])
        case _:
            raise ValueError(f"no operation is called {what}")


def _channel(channel: Json) -> tuple[int, int, int, int | None]:
    return channel["version"], channel["spacecraft"], channel["channel"], channel["map"]


def _set_up(link: Link, vector: Json) -> End:
    end = End(link)
    for key in vector["keys"]:
        end.load(key["id"], key["kind"], bytes.fromhex(key["octets"]))
        if key["state"] != "pre-active":
            end.key_step(key["id"], "active")
    for association in vector["associations"]:
        spi = association["spi"]
        end.create(spi, association)
        if association["key"] is not None:
            end.rekey(spi, association["key"], None)
        if association["state"] == "operational":
            end.start(spi, [_channel(channel) for channel in association["channels"]])
    for key in vector["keys"]:
        if key["state"] in ("deactivated", "destroyed"):
            end.key_step(key["id"], "deactivated")
        if key["state"] == "destroyed":
            end.key_step(key["id"], "destroyed")
    return end
