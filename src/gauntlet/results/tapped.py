"""Captures as one end of a run saw them: the taps that are nearest to a node, and a file with their packets.

The capture of a run has every packet once for each tap that it passed, and so is full of seeming repetitions.
Of one end a file has what that end sent and what reached it, once each.
"""

import struct
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from gauntlet.errors import RunError, UserError
from gauntlet.experiment.networks import NETWORKS
from gauntlet.results import pcapng

SIDES = ("train", "trackside")


def links_of(place: str, record: Mapping[str, Any], plan: Mapping[str, Any]) -> list[str]:
    """The tapped links that tell what a place sent and got: a side (train, trackside), a node in which flows
    end, or a tapped link itself. Raises UserError for any other.
    """
    taps = [str(tap["link"]) for tap in record["taps"]]
    if place in taps:
        return [place]
    leaving, arriving = _ways(place, record, plan)
    if not leaving | arriving:
        known = ", ".join([*ends(plan), *taps])
        raise UserError(f"--tap: nothing was captured at '{place}'; choose {known}.")
    return [link for link in taps if link in leaving | arriving]


def arriving_at(place: str, record: Mapping[str, Any], plan: Mapping[str, Any]) -> set[str]:
    """Of the links that `links_of` names, those whose packets reach the place; none of a tapped link."""
    return set() if any(tap["link"] == place for tap in record["taps"]) else _ways(place, record, plan)[1]


def _ways(place: str, record: Mapping[str, Any], plan: Mapping[str, Any]) -> tuple[set[str], set[str]]:
    """The tapped links by which packets leave a place, and those by which they reach it."""
    nodes = _nodes(place, plan)
    leaving: set[str] = set()
    arriving: set[str] = set()
    for path in record["paths"]:
        # Of the links that a packet passes only those with taps are told.
        flow = next(it for it in plan["flows"] if it["id"] == path["flow"])
        onwards, back = path["forward"], path["return"]
        if flow["from"] in nodes:
            leaving.update(onwards[:1])
            arriving.update(back[-1:])
        if flow["to"] in nodes:
            leaving.update(back[:1])
            arriving.update(onwards[-1:])
    return leaving, arriving


def ends(plan: Mapping[str, Any]) -> list[str]:
    """The places of a run that have a name: the sides of a preset, else the nodes in which flows end."""
    if plan["network"].get("preset") in NETWORKS:
        return list(SIDES)
    return list(dict.fromkeys(end for flow in plan["flows"] for end in (flow["from"], flow["to"])))


def _nodes(place: str, plan: Mapping[str, Any]) -> Sequence[str]:
    network = NETWORKS.get(plan["network"].get("preset", ""))
    if network is None or place not in SIDES:
        return [place]
    return network.train_hosts if place == "train" else list(network.trackside_hosts.values())


def select(source: Path, target: Path, links: Sequence[str], arriving: Collection[str] = ()) -> int:
    """Write what a capture has of these links, and return how many packets that are. Raises RunError when it
    is damaged.

    Virtual time stands still while an end answers. So of packets of one instant those of `arriving` links
    are written first, as the end saw them: what came before what it sent upon that.
    """
    content = source.read_bytes()
    number_of: dict[int, int] = {}
    into: set[int] = set()
    instant: tuple[int, int] | None = None
    sent: list[bytes] = []
    interfaces = packets = place = 0
    with target.open("wb") as out:
        while place < len(content):
            kind, length = _head(source, content, place)
            block = content[place : place + length]
            place += length
            if kind == pcapng.INTERFACE:
                name = pcapng.interface_name(block)
                if name in links:
                    into |= {interfaces} if name in arriving else set()
                    number_of[interfaces] = len(number_of)
                    out.write(block)
                interfaces += 1
            elif kind != pcapng.PACKET:
                out.write(block)
            elif (number := struct.unpack_from("<I", block, 8)[0]) in number_of:
                written = block[:8] + struct.pack("<I", number_of[number]) + block[12:]
                if (now := struct.unpack_from("<II", block, 12)) != instant:
                    out.writelines(sent)
                    instant, sent = now, []
                if number in into:
                    out.write(written)
                else:
                    sent.append(written)
                packets += 1
        out.writelines(sent)
    return packets


def _head(source: Path, content: bytes, place: int) -> tuple[int, int]:
    """Kind and length of the block that begins there."""
    if place + 12 <= len(content):
        kind, length = struct.unpack_from("<II", content, place)
        if length >= 12 and length % 4 == 0 and place + length <= len(content):
            return kind, length
    raise RunError(f"the capture {source} is damaged at byte {place}; run the same command again")
