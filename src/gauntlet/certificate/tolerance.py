"""How exact the certificate is: every allowance it makes, with its reason. Nothing else is tolerated.

How exact instants are belongs to the ground on which a run was played: a clock that stands still while the
kernel computes knows them to the microsecond, real time does not.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Tolerance:
    """What is allowed on one ground."""

    time_ns: int
    """Allowed error of one instant."""
    late_ns: int
    """How much later than its delay or its rate asks a packet may leave a link."""
    waking_ns: int
    """How much later than the packet that ends a handshake a program may say that it was over: it is woken by
    it, after the threads of all other flows that are woken by the same instant, and each reads the clock."""
    leaving_ns: int
    """How much later than an in-path node says a packet may leave it: between the note and the packet stand
    the readings of the clock by all other programs that are woken at that instant."""
    timeline_ns: int
    """How much later than planned a change may be made; the checks themselves use the instants at which
    changes really were made."""
    why_late: str = ""
    """What is said of a packet that is too late all the same, a sentence behind the others."""

    @property
    def expected(self) -> dict[str, float]:
        """What is allowed of packets, for a check's `expected`; lateness by itself where more of it is."""
        late = {"late_tolerance_s": self.late_ns / 1e9} if self.late_ns != self.time_ns else {}
        return {"tolerance_s": self.time_ns / 1e9, **late}


VIRTUAL = Tolerance(
    # The guest's clock stands still while the kernel computes, but reading it from a process moves it on by a
    # fraction of a microsecond (256 ns a reading in the kernel's `arch/um/kernel/time.c`), so that a packet's
    # stamp at one tap, the instant at which the next queue saw it and the instant of a change can lie some
    # readings apart. Measured over 24 runs of UDP, TCP, MPTCP and SCTP on kernel 6.12, one of them with 1,500
    # changes: no packet was early at all, and none more than 3.5 us late.
    time_ns=5_000,
    late_ns=5_000,
    # Measured with 2 flows at once: 7 us (docs/formats/certificate.md).
    waking_ns=1_000_000,
    # Measured with 25 sessions of RaSTA over TLS at once, 20 runs: 5 to 7 us in 12 of them, some 25 readings.
    leaving_ns=20_000,
    # The timer slack of an ordinary Linux thread is 50 microseconds.
    timeline_ns=1_000_000,
)

HOST = Tolerance(
    # A packet is late when the thread or the timer that is to pass it on is: by tens of microseconds on an
    # idle machine, by whole time slices of the scheduler (3 ms, `base_slice_ns` of Linux 6.6 and newer on 8
    # cores) when all cores are busy. What is later than a slice and a tick (4 ms at HZ=250) was not a link as
    # asked.
    time_ns=8_000_000,
    late_ns=8_000_000,
    waking_ns=50_000_000,
    leaving_ns=8_000_000,
    timeline_ns=50_000_000,
)

PROGRAMS = replace(
    VIRTUAL,
    # So many readings of the clock (195) may a program make before it sleeps and the link's timer gets its
    # turn. A library that stamps each line of a debug log makes some 80: packets of such runs were up to
    # 20 us late (docs/guide/lsquic.md). None may be early for it.
    late_ns=50_000,
    why_late=" Programs of your own ran meanwhile: the clock moves on by 256 ns each time that one reads it, "
    "and 50 us are allowed for that; a program that logs less, or sleeps in between, reads it less often.",
)
"""In virtual time, beside programs of the user's own."""

_BY_GROUND = {"virtual": VIRTUAL, "host": HOST}

_current: ContextVar[Tolerance] = ContextVar("tolerance", default=VIRTUAL)


def current() -> Tolerance:
    """The tolerance of the run that is being checked."""
    return _current.get()


@contextlib.contextmanager
def of_ground(ground: str, *, programs: bool = False) -> Iterator[Tolerance]:
    """Check a run that was played on this ground, with or without programs of the user's own. A ground that
    is not known is held to the strictest one.
    """
    found = _BY_GROUND.get(ground, VIRTUAL)
    token = _current.set(PROGRAMS if programs and found is VIRTUAL else found)
    try:
        yield _current.get()
    finally:
        _current.reset(token)


SHAPER_ROUNDING_NS = 1.0
"""tbf turns the length of each packet into whole nanoseconds and rounds down (`psched_l2t_ns`), so that a
busy link may gain this much per packet on the asked rate: 0.00004 % for packets of 1500 bytes at 5
Mbit/s."""

ALPHA = 1e-6
"""Chance that one statistical check (loss or duplication of one link in one run) fails although the link
does what was asked."""

ETHERNET_HEADER_BYTES = 14
"""Linux counts it in a queue's byte counter unless a size table takes it off."""

ARP_BYTES = (28, 100)
"""Bytes of a housekeeping packet that no tap shows: 28 for an ARP message, at most this many for neighbour
discovery before the capture."""
