"""The benches that there are, by name."""

from gauntlet.benches import (
    attack_cost,
    attack_flood,
    attack_memory,
    attack_prediction,
    attack_recovery,
    attack_slow,
    attack_weaknesses,
    space_attacks,
    space_company,
    space_elsewhere,
    space_first_handshakes,
    space_frames,
    space_handshakes,
    space_instructions,
    space_memory,
    space_messages,
    space_sizes,
    traffic_browser,
    traffic_sites,
)
from gauntlet.benches.contract import Bench

_ALL: tuple[Bench, ...] = (
    space_messages.BENCH,
    space_company.BENCH,
    space_handshakes.BENCH,
    space_first_handshakes.BENCH,
    space_frames.BENCH,
    space_memory.BENCH,
    space_instructions.BENCH,
    space_sizes.BENCH,
    space_attacks.BENCH,
    space_messages.DTLS,
    space_handshakes.DTLS,
    space_memory.DTLS,
    space_instructions.DTLS,
    space_attacks.DTLS,
    space_elsewhere.SIZES,
    space_elsewhere.INSTRUCTIONS,
    traffic_sites.BENCH,
    traffic_browser.BENCH,
    attack_flood.BENCH,
    attack_slow.BENCH,
    attack_cost.BENCH,
    attack_memory.BENCH,
    attack_recovery.BENCH,
    attack_weaknesses.BENCH,
    attack_prediction.BENCH,
)

BENCHES: dict[str, Bench] = {it.name: it for it in _ALL}
