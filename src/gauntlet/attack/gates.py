"""Why a run tells nothing: gates that it has to pass before it has numbers.

A run in which the attacker could not do what was asked of it looks like a server that withstands. So does one
in which the honest client was too slow itself, and one beside which the machine did something else. They are
`invalid`, with the reason, and have no number.
"""

from collections.abc import Iterator

from gauntlet.attack import namespace
from gauntlet.attack.run import Outcome

SENT = 0.99
"""Of what was offered in each second at least so much has to have begun; the first second is its start."""
LATE_S = 0.1
"""No start may come later than this after its time."""
OF_A_CORE = 0.9
"""What an attacker may take of its core: above it, it may be the slower one of the two."""
CLIENT_OF_A_CORE = 0.5
"""The same for the honest client, which shares its core with the server."""
OTHERS_OF_A_CORE = 0.25
"""What anything else may take of the machine."""
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
    yield from _of_its_seconds(outcome)


def _of_its_seconds(outcome: Outcome) -> Iterator[str]:
    """What an attacker says of itself, held against what it told each second; the first reason alone."""
    for said in outcome.seconds[1:]:
        offered = float(said.content.get("offered", 0))
        # What the server left no room for is its answer.
        blocked = said.content.get("by_outcome", {}).get("blocked", 0)
        made = float(said.content.get("sent", 0)) + float(blocked)
        if made < min(SENT * offered, offered - 1):
            yield f"the attacker began {made:.0f} of {offered:.0f} in one second"
            return
        if (late_s := float(said.content.get("late_max_ns", 0)) * _NS) > LATE_S:
            yield f"the attacker began something {late_s:.2f} s late"
            return
        if (spent := float(said.content.get("cpu_ns", 0)) * _NS) > OF_A_CORE:
            yield f"the attacker took {spent:.0%} of its core"
            return


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
        yield f"something else on this machine took {outcome.others_of_a_core:.0%} of a core"


def _of_the_kernel(outcome: Outcome) -> Iterator[str]:
    """Whether it did about SYN cookies what the run is of, where that is said."""
    sent, redeemed = (outcome.tcp.get(name, 0) for name in ("SyncookiesSent", "SyncookiesRecv"))
    served = sum(it.took_s is not None for it in outcome.requests)
    if outcome.run.cookies == namespace.OFF and sent:
        yield f"the kernel sent {sent} SYN cookies, and they were off"
    if outcome.run.cookies == namespace.ALWAYS and redeemed < served:
        yield f"{redeemed} of {served} connections came by a SYN cookie"
