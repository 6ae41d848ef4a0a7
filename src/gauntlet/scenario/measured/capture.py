"""A capture of a flow that always has something to send: what arrived is a lower bound of the link's rate.

All packets from and to one address are taken together, at the IP layer. Which packets were lost, one side of
a link cannot tell.
"""

import ipaddress
from collections import Counter
from pathlib import Path
from typing import Literal

import numpy as np

from gauntlet import units
from gauntlet.errors import UserError
from gauntlet.scenario.measured import packets
from gauntlet.scenario.measured.link import (
    Assumed,
    Floats,
    Measured,
    of_windows,
    queue_note,
    spells,
    told,
    windows,
)

ONE_SIDE = (
    "one side of a link cannot tell which packets were lost; leave --loss out and add losses in the "
    "experiment ([link] loss)."
)
Loaded = Literal["up", "down", "both"]
_SHOWN_ADDRESSES = 6


def read(
    path: Path,
    *,
    terminal: str | None,
    interface: str | None = None,
    loaded: Loaded | None = None,
    every_s: float,
    assumed: Assumed,
) -> Measured:
    """Import a capture as mean rates of windows.

    `terminal` is the address of the end that moves: what it sends goes up, what it is sent comes down.
    `loaded` says which direction had always something to send; None: that with more bytes. The other one
    gets the same rate. Raises `UserError`.
    """
    found = packets.read(path)
    terminal = _canonical(terminal)
    own = _of_terminal(path, found, terminal)
    own = _on_interface(path, found, own, interface)
    # Interfaces of one capture may be told one after the other.
    own.sort(key=lambda packet: packet.t_ns)
    sides = {
        "up": [packet for packet in own if packet.source == terminal],
        "down": [packet for packet in own if packet.destination == terminal],
    }
    volumes = {side: sum(packet.size_bytes for packet in of) for side, of in sides.items()}
    chosen: str = loaded or max(volumes, key=volumes.__getitem__)
    measured = ["up", "down"] if chosen == "both" else [chosen]
    for side in measured:
        if len(sides[side]) < 2:
            raise UserError(f"{path} has no packets of {terminal} that go {side}; choose another --loaded.")
    begin_ns = min(sides[side][0].t_ns for side in measured)
    end_ns = max(sides[side][-1].t_ns for side in measured)
    edges_s = windows((end_ns - begin_ns) / 1e9, every_s, str(path))
    rates = {side: _rates_bps(sides[side], begin_ns, edges_s) for side in measured}
    up, down = (rates.get(side, rates[measured[0]]) for side in ("up", "down"))
    out_up, out_down = up == 0, down == 0
    trace = of_windows(edges_s, (up, down), (out_up, out_down), assumed, path.name)
    whole_s = float(edges_s[-1])
    share = volumes[measured[0]] / max(1, sum(volumes.values()))
    notes = [
        f"{len(own):,} packets of {terminal} over {units.spaced(units.format_time(round(whole_s, 3)))}, "
        f"{share:.0%} of their bytes {measured[0]}.",
        "The rate is what passed here: a lower bound of the link's, and near to it where the sender never "
        "paused and the capture was taken where packets arrive.",
        told(
            "Outages",
            spells(out_up | out_down, edges_s[:-1], whole_s),
            whole_s,
            "no packet in a window; a sender that waits looks the same",
        ),
    ]
    if len(measured) == 1:
        notes.append(f"Only the direction {measured[0]} was loaded: its rate is taken for both.")
    notes.append("Loss was not measured: outside of outages there is none.")
    return Measured(trace, (*notes, queue_note(assumed)))


def _canonical(terminal: str | None) -> str | None:
    """An address in the form in which captures' addresses are written."""
    try:
        return terminal and str(ipaddress.ip_address(terminal))
    except ValueError:
        raise UserError(f"--terminal: '{terminal}' is no IP address; write one such as 10.0.0.2.") from None


def _of_terminal(path: Path, found: packets.Capture, terminal: str | None) -> list[packets.Packet]:
    seen = Counter[str]()
    for packet in found.packets:
        seen[packet.source] += packet.size_bytes
        seen[packet.destination] += packet.size_bytes
    if terminal is not None and terminal in seen:
        return [packet for packet in found.packets if terminal in (packet.source, packet.destination)]
    known = ", ".join(address for address, _ in seen.most_common(_SHOWN_ADDRESSES))
    missing = "say which one is the moving end's" if terminal is None else f"none is of {terminal}"
    raise UserError(f"{path} has packets of {known}; {missing} (--terminal ADDRESS).")


def _on_interface(
    path: Path, found: packets.Capture, own: list[packets.Packet], interface: str | None
) -> list[packets.Packet]:
    """The packets of one interface: elsewhere the same ones would be counted again."""
    names = list(dict.fromkeys(found.interfaces[packet.interface] for packet in own))
    if interface is None and len(names) > 1:
        raise UserError(
            f"{path} has the same address on the interfaces {', '.join(names)}; choose one with --interface."
        )
    if interface is not None and interface not in names:
        raise UserError(
            f"{path} has no such packets on '{interface}' (--interface); they are on {', '.join(names)}."
        )
    return [packet for packet in own if interface in (None, found.interfaces[packet.interface])]


def _rates_bps(own: list[packets.Packet], begin_ns: int, edges_s: Floats) -> Floats:
    t_s = np.array([packet.t_ns - begin_ns for packet in own]) / 1e9
    passed = np.append(0, np.cumsum([packet.size_bytes for packet in own]))
    # A packet belongs to the time before its instant, so the very first one to none.
    at_edges = passed[np.searchsorted(t_s, edges_s, side="right")]
    rates: Floats = np.diff(at_edges) * 8 / np.diff(edges_s)
    return rates
