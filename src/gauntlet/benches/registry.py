"""The benches that there are, by name."""

from gauntlet.benches import space_attacks, space_handshakes, space_memory, space_messages
from gauntlet.benches.contract import Bench

_ALL: tuple[Bench, ...] = (
    space_messages.BENCH,
    space_handshakes.BENCH,
    space_memory.BENCH,
    space_attacks.BENCH,
)

BENCHES: dict[str, Bench] = {it.name: it for it in _ALL}
