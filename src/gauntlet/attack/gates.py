"""Why a run tells nothing: gates that it has to pass before it has numbers.

A run in which the attacker could not do what was asked of it looks like a server that withstands. So does one
in which the honest client was too slow itself, and one beside which the machine did something else. They are
`invalid`, with the reason, and have no number.
"""

import itertools
from collections.abc import Iterator

from gauntlet.attack import namespace
from gauntlet.attack.kinds import RATE
from gauntlet.attack.run import Outcome
from gauntlet.attack.seconds import lacking

SENT = 0.99
"""Of what was offered in each second at least so much has to have begun; the first second is its start."""
OFFERED = 0.02
"""By so much of what was asked for may differ what the attacker says that it was to begin a second, or by two
beginnings: one that falls to this side or that of either end of the window.
"""
LATE_S = 0.1
"""No start may come later than this after its time."""
OF_A_CORE = 0.9
"""What an attacker may take of its core: above it, it may be the slower one of the two."""
CLIENT_OF_A_CORE = 0.5
"""The same for the honest client, which shares its core with the server."""
OTHERS_OF_A_CORE = 0.25
"""What anything else may take of the machine."""
DISTURBED = "something else on this machine"
"""Begins the reason of a run beside which it took more; that run tells nothing of the server."""
_NS = 1e-9


def reasons(outcome: Outcome) -> list[str]:
    """Why the run is invalid, a few words each; nothing: it is valid."""
    return [
        *_of_the_attacker(outcome),
        *_of_the_client(outcome),
        *_of_the_machine(outcome),
        *_of_the_kernel(outcome),
    ]


def _of_the_attacker(outcome: Outcome) -> Iterator[str]:
    if outcome.run.attack is None:
        return
    totals = outcome.attacker
    if totals is None:
        yield from (it for it in outcome.complaints if it.startswith("attacker"))
        if not any(it.startswith("attacker") for it in outcome.complaints):
            yield "the attacker did not come to its end"
        return
    if totals.get("saturated"):
        yield f"the attacker was the slower one: {totals.get('why') or 'it says no more'}"
        return
    if totals.get("sent") == 0:
        yield "the attacker began nothing: the server took none of its connections"
        return
    yield from itertools.islice(itertools.chain(_of_its_seconds(outcome), _of_its_log(outcome)), 1)


def _of_its_seconds(outcome: Outcome) -> Iterator[str]:
    """What an attacker says of itself, held against what it told each second."""
    for second in outcome.seconds[1:]:
        offered = second.count("offered")
        # What the server left no room for is its answer.
        made = second.count("sent") + float(second.counts.get("by_outcome", {}).get("blocked", 0))
        if made < min(SENT * offered, offered - 1):
            yield f"the attacker began {made:.0f} of {offered:.0f} in one second"
        if (late_s := second.count("late_max_ns") * _NS) > LATE_S:
            yield f"the attacker began something {late_s:.2f} s late"
        # After the last start only what is under way is waited for.
        if offered and (share := second.count("cpu_ns") * _NS / second.lasted_s) > OF_A_CORE:
            yield f"the attacker took {share:.0%} of its core"


def _of_its_log(outcome: Outcome) -> Iterator[str]:
    """Whether all seconds are there, and what they say of the window is what was asked for."""
    attack = outcome.run.attack
    assert attack is not None
    if lacks := lacking(outcome.seconds, attack.seconds):
        yield lacks
    offered = outcome.told("offered")
    if attack.kind.dose != RATE or offered is None:
        return
    first, last = outcome.window_s
    if abs(offered - attack.dose) > max(OFFERED * attack.dose, 2 / (last - first)):
        yield f"the attacker was to begin {attack.dose:g} a second and says {offered:.1f}"


def _of_the_client(outcome: Outcome) -> Iterator[str]:
    asked, got = outcome.run.client.requests, len(outcome.requests)
    if got and not outcome.during_attack():
        yield "no honest request began while the attack went on"
    elif got != asked:
        told = [it for it in outcome.complaints if it.startswith("client")]
        yield f"the honest client told of {got} of {asked} requests" + (f" ({told[0]})" if told else "")
    elif outcome.client_cpu_s is not None:
        of_a_core = outcome.client_cpu_s / (outcome.run.client.sends_s or 1.0)
        if of_a_core > CLIENT_OF_A_CORE:
            yield f"the honest client took {of_a_core:.0%} of its core"
        if outcome.client_late_s > LATE_S:
            yield f"the honest client began a request {outcome.client_late_s:.2f} s late"


def _of_the_machine(outcome: Outcome) -> Iterator[str]:
    if outcome.others_of_a_core > OTHERS_OF_A_CORE:
        yield (
            f"{DISTURBED} took {outcome.others_of_a_core:.0%} of a core, and {OTHERS_OF_A_CORE:.0%} are "
            "allowed"
        )


def _of_the_kernel(outcome: Outcome) -> Iterator[str]:
    """Whether it did about SYN cookies what the run is of, where that is said."""
    sent, redeemed = (outcome.tcp.get(name, 0) for name in ("SyncookiesSent", "SyncookiesRecv"))
    served = sum(it.took_s is not None for it in outcome.requests)
    if outcome.run.cookies == namespace.OFF and sent:
        yield f"the kernel sent {sent} SYN cookies, and they were off"
    if outcome.run.cookies == namespace.ALWAYS and redeemed < served:
        yield f"{redeemed} of {served} connections came by a SYN cookie"
