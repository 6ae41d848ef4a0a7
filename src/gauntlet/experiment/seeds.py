"""Seeds: what chance decides, and what it shares.

Every seed is the first 53 bits (exact in JSON) of a SHA-256 over the experiment's seed and the parts below,
so adding a protocol, a condition or a repetition never changes the draws of those that were there.

* The *link seed* depends on the repetition only: in repetition k, every protocol under every condition rides
  the same stretch of line with the same radio latencies. Differences are then differences of protocols, not
  of luck (common random numbers), and comparisons can be paired by repetition.
* The *run seed* (packet losses, the guest kernel's randomness) depends on the repetition and on the condition
  of the link, not on the protocol or on what is sent: the n-th packet into a link meets the same fate under
  each protocol.
"""

import hashlib
import json

SEED_BITS = 53
"""Width of a seed: the largest integers that survive JSON readers that use doubles."""


def derive(experiment_seed: int, purpose: str, *parts: object) -> int:
    """One seed from the experiment's, the purpose and JSON-serialisable parts."""
    text = json.dumps([experiment_seed, purpose, *parts], sort_keys=True, separators=(",", ":"))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> (64 - SEED_BITS)


def link_seed(experiment_seed: int, repetition: int) -> int:
    """The seed of the stretch and of the link's own draws."""
    return derive(experiment_seed, "link", repetition)


def run_seed(experiment_seed: int, repetition: int, condition: object) -> int:
    """The seed that the plan hands to the guest; `condition` is the link's condition, JSON-serialisable."""
    return derive(experiment_seed, "run", repetition, condition)
