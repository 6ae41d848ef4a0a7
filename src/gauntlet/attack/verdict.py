"""Whether a server held: what it promises under an attack, against the same server left alone."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from gauntlet.attack import gates
from gauntlet.attack.kinds import AMPLIFICATION, H1, MEMORY, SERVICE, STATE, Kind
from gauntlet.attack.requests import delays, served_share
from gauntlet.attack.run import Outcome
from gauntlet.attack.servers.contract import TIGHT_S

HELD, BROKEN, INVALID = "held", "broken", "invalid"

SERVED = 0.95
"""At least this share of honest requests has to be served while the attack goes on."""
SLOWER = 10.0
"""And their median delay may be so many times that without an attack, or `SLOWER_S`."""
SLOWER_S = 0.2
GROWTH_BYTES = 64e6
"""By how much process and sockets may grow together."""
GROWTH_A_CONNECTION_BYTES = 256e3
"""Or by how much for each connection that is held, where that is more."""
AGAIN = 3
"""An attack has to last so many time-outs for it to be told whether they act."""
RENEWED = 1.5
"""So many connections at least are then begun for each that is held."""
ENDED = 0.5
"""Or a server that counts has ended this share of them."""
AMPLIFIED = 3.0
"""RFC 9000, section 8.1."""


@dataclass(frozen=True)
class Verdict:
    """What came of an attack on a server."""

    verdict: str
    why: tuple[str, ...]
    """What did not hold, or why it tells nothing; nothing where it held."""


def judged(attacked: Outcome, alone: Outcome | None) -> Verdict:
    """Hold an attacked server against what it has to hold, and against itself where that is known."""
    for outcome in filter(None, (attacked, alone)):
        if why := gates.reasons(outcome):
            return Verdict(INVALID, tuple(why))
    attack = attacked.run.attack
    assert attack is not None
    if attacked.died:
        return Verdict(BROKEN, (f"the server died: {attacked.died}",))
    if AMPLIFICATION in attack.kind.invariants and not (attacked.attacker or {}).get("factor_max"):
        return Verdict(INVALID, ("no first flight was answered, so that nothing is told of its answer",))
    broken = [words for invariant in attack.kind.invariants for words in _BROKEN[invariant](attacked, alone)]
    return Verdict(BROKEN if broken else HELD, tuple(broken))


def _service(attacked: Outcome, alone: Outcome | None) -> Iterator[str]:
    during = attacked.during_attack()
    if not during:
        return
    served = served_share(during)
    if served < SERVED:
        yield f"{served:.0%} of honest requests were served"
        return
    if alone is None:
        return
    limit_s = attacked.run.client.limit_s
    before_s = delays(alone.requests, alone.run.client.limit_s).quantile_s(0.5)
    now_s = delays(during, limit_s).quantile_s(0.5)
    if before_s is not None and (now_s is None or now_s > max(SLOWER * before_s, SLOWER_S)):
        shown = f"more than {limit_s:g} s" if now_s is None else f"{now_s * 1e3:.0f} ms"
        yield f"the median delay of honest requests was {shown} instead of {before_s * 1e3:.0f} ms"


def _memory(attacked: Outcome, alone: Outcome | None) -> Iterator[str]:
    grown = attacked.process_growth_bytes + attacked.kernel_growth_bytes
    allowed = max(GROWTH_BYTES, attacked.held * GROWTH_A_CONNECTION_BYTES)
    if grown > allowed:
        yield f"memory grew by {grown / 1e6:.0f} MB, and {allowed / 1e6:.0f} MB are allowed"


def _state(attacked: Outcome, alone: Outcome | None) -> Iterator[str]:
    """A server with time-outs of `TIGHT_S` closes what is slow, and the attacker has to begin it anew. One
    that counts says itself how many it ended, which an attacker does not always hear.
    """
    attack, totals = attacked.run.attack, attacked.attacker or {}
    assert attack is not None
    if not attacked.run.tight or attack.seconds < AGAIN * TIGHT_S or not attacked.held:
        return
    begun = float(totals.get("sent", 0))
    refused: Mapping[str, int] | None = attacked.counted.get("refused")
    if refused is None:
        unheard = not _hears(attack.kind, attacked.run.protocol)
    else:
        ended = sum(count for limit, count in refused.items() if limit.endswith("_timeout"))
        unheard = ended >= ENDED * begun
    if begun < RENEWED * attacked.held and not unheard:
        yield f"what was held stayed open for {attack.seconds} s ({begun:.0f} begun to hold {attacked.held})"


def _hears(kind: Kind, protocol: str) -> bool:
    """Whether an attacker hears that its connection was ended. Not where it acknowledges nothing: over TCP it
    hears nothing, and the end that quinn sends waits behind what congestion control holds back. Nor where its
    window is shut, but for HTTP/2 and QUIC, which have windows of their own.
    """
    return kind.variant != "ack-withholding" and (kind.variant, protocol) != ("window-starvation", H1)


def _amplification(attacked: Outcome, alone: Outcome | None) -> Iterator[str]:
    totals = attacked.attacker or {}
    factor = float(totals.get("factor_max") or 0)
    if factor > AMPLIFIED:
        yield f"{factor:.2f} bytes left for one that came"


_BROKEN: Mapping[str, Callable[[Outcome, Outcome | None], Iterator[str]]] = {
    SERVICE: _service,
    MEMORY: _memory,
    STATE: _state,
    AMPLIFICATION: _amplification,
}
