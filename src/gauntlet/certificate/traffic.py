"""One stage's packets, in and out, matched: what the checks of a link direction look at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gauntlet.certificate import tolerance
from gauntlet.certificate.asked import BEGINNING_NS, AskedLink
from gauntlet.certificate.capture import TapPackets
from gauntlet.certificate.chance import Trials, allowed_range
from gauntlet.certificate.match import NO_INPUT, Match, match, without_lookalikes
from gauntlet.certificate.stages import Inputs, Routes, stage_inputs

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Traffic:
    """Inputs and outputs of the stage of `asked.link`, and which output is which input.

    `feeds` are the taps that saw the inputs, by the inputs' numbers.
    `queued` marks inputs that the link's own counters say were still waiting at the end of the run (`end_ns`,
    the last instant that the capture shows), `may_wait` all that may have been: where some of them were lost,
    too, nothing tells which. `scripted` marks those that were to vanish and did. `foreign` marks outputs that
    no flow's addresses explain. `damage` is the chance that corruption, asked of this or another link, has
    changed a packet.
    """

    asked: AskedLink
    feeds: tuple[str, ...]
    inputs: Inputs
    outputs: TapPackets
    matched: Match
    queued: Flags
    may_wait: Flags
    scripted: Flags
    foreign: Flags
    end_ns: int
    damage: float

    @property
    def link(self) -> str:
        """The link direction."""
        return self.asked.link

    @cached_property
    def damaged_at_most(self) -> int:
        """How many packets may be missing or unrecognisable because corruption was asked somewhere: a
        flipped bit makes another packet of one, or makes the next router drop it for its checksum."""
        if self.damage == 0:
            return 0
        return allowed_range([Trials(len(self.inputs), 0.0, self.damage)], tolerance.ALPHA)[1]

    @cached_property
    def known(self) -> Ints:
        """Outputs whose input is known beyond doubt, in order of departure."""
        return np.flatnonzero((self.matched.source != NO_INPUT) & ~self.matched.unclear_out)

    @cached_property
    def known_source(self) -> Ints:
        """The inputs of the outputs `known`."""
        return self.matched.source[self.known]

    @cached_property
    def previous_departure_ns(self) -> Ints:
        """When the packet before each output left; long ago for the first."""
        return np.concatenate(([BEGINNING_NS], self.outputs.time_ns))[:-1]

    @cached_property
    def lost(self) -> Flags:
        """Inputs that had to come out and neither did, nor were to vanish, nor are still queued."""
        lost: Flags = self.inputs.expected & (self.matched.copies == 0) & ~self.queued & ~self.scripted
        return lost

    @cached_property
    def lost_or_queued(self) -> Flags:
        """Inputs of which some were lost and some still queued, and nothing tells which."""
        either: Flags = self.may_wait & (self.lost | self.queued)
        if (either & self.lost).any() and (either & self.queued).any():
            return either
        return np.zeros(len(self.inputs), np.bool_)

    @cached_property
    def length_at_link(self) -> Ints:
        """Length of each input as the link carries it: with the tunnel's header where the link is part of
        a tunnel."""
        lengths = self.inputs.length.copy()
        growth = self.outputs.length[self.known] - lengths[self.known_source]
        pairs = self.inputs.pair[self.known_source]
        for pair in np.unique(pairs):
            lengths[self.inputs.pair == pair] += int(np.median(growth[pairs == pair]))
        return lengths

    @cached_property
    def uninvited(self) -> Ints:
        """Outputs that never entered, apart from what a link or a router says of its own accord."""
        return np.flatnonzero((self.matched.source == NO_INPUT) & ~self.own_words)

    @cached_property
    def own_words(self) -> Flags:
        """Outputs that never entered and need not have: link-local packets, and ICMP messages of routers."""
        own: Flags = self.outputs.local | (self.outputs.icmp & self.foreign)
        own &= self.matched.source == NO_INPUT
        return own


def delay_windows(asked: AskedLink, time_ns: Ints) -> tuple[Ints, Ints]:
    """The least and the largest delay, in nanoseconds, that a packet entering at each instant may be
    given."""
    before, after = asked.around(time_ns)
    delay, jitter = asked.column("delay_s"), asked.column("jitter_s")
    low = np.maximum(delay - jitter, 0.0) * 1e9
    high = (delay + jitter) * 1e9
    least = np.minimum(low[before], low[after])
    most = np.maximum(high[before], high[after])
    return np.rint(least).astype(np.int64), np.rint(most).astype(np.int64)


def follow(
    asked: AskedLink,
    *,
    feeds: dict[str, set[int]],
    taps: dict[str, TapPackets],
    routes: Routes,
    end_ns: int,
    damage: float,
    returned: str | None = None,
) -> Traffic:
    """Match what entered a stage with what left it; `queued`, `may_wait` and `scripted` are still empty (see
    `backlog` and `scripted`). `returned` as for `stage_inputs`."""
    if returned is not None:
        feeds = {**feeds, returned: set()}
    during = routes.during.get(asked.link)
    inputs, outputs = stage_inputs(feeds, taps, routes, returned, during), taps[asked.link]
    least, most = delay_windows(asked, inputs.time_ns)
    earliest_ns = inputs.time_ns + least - tolerance.current().time_ns
    if asked.kind == "tbf":
        latest_ns = np.full(len(inputs), np.iinfo(np.int64).max)
    else:
        latest_ns = inputs.time_ns + most + tolerance.current().late_ns
    matched = match(inputs.key, outputs.key, outputs.time_ns, earliest_ns, latest_ns)
    if damage:
        matched = without_lookalikes(matched, outputs.time_ns, earliest_ns, latest_ns)
    none = np.zeros(len(inputs), np.bool_)
    foreign = np.ones(len(outputs), np.bool_)
    for pair in routes.flow_pairs:
        foreign &= outputs.pair != np.uint64(pair)
    return Traffic(asked, tuple(feeds), inputs, outputs, matched, none, none, none, foreign, end_ns, damage)
