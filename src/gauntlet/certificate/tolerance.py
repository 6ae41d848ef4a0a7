"""How exact the certificate is: every allowance it makes, with its reason. Nothing else is tolerated."""

from __future__ import annotations

TIME_NS = 5_000
"""Allowed error of one instant.

The guest's clock stands still while the kernel computes, but reading it from a process moves it on by a
fraction of a microsecond (256 ns a reading in the kernel's `arch/um/kernel/time.c`), so that a packet's stamp
at one tap, the instant at which the next queue saw it and the instant of a change can lie some readings
apart. Measured over 24 runs of UDP, TCP, MPTCP and SCTP on kernel 6.12, one of them with 1,500 changes: no
packet was early at all, and none more than 3.5 us late.
"""

WAKING_NS = 1_000_000
"""How much later than the packet that ends a handshake a program may say that it was over: it is woken by it,
after the threads of all other flows that are woken by the same instant, and each reads the clock a few times.
Measured with 2 flows at once: 7 us (docs/formats/certificate.md)."""

SHAPER_ROUNDING_NS = 1.0
"""tbf turns the length of each packet into whole nanoseconds and rounds down (`psched_l2t_ns`), so that a
busy link may gain this much per packet on the asked rate: 0.00004 % for packets of 1500 bytes at 5
Mbit/s."""

TIMELINE_NS = 1_000_000
"""How much later than planned a change may be made; the checks themselves use the instants at which
changes really were made. The timer slack of an ordinary Linux thread is 50 microseconds."""

ALPHA = 1e-6
"""Chance that one statistical check (loss or duplication of one link in one run) fails although the link
does what was asked."""

ETHERNET_HEADER_BYTES = 14
"""Linux counts it in a queue's byte counter unless a size table takes it off."""

ARP_BYTES = (28, 100)
"""Bytes of a housekeeping packet that no tap shows: 28 for an ARP message, at most this many for neighbour
discovery before the capture."""
