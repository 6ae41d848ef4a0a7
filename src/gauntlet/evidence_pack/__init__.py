"""The evidence pack: one zip that leads from each claim on a threat to the raw logs that it follows from.

claim -> requirement (EN 50159's threat and defences) -> test (experiment, condition, seed, run) -> raw log ->
hash. It is built from results, and verified elsewhere from nothing but what is in it
(docs/formats/evidence-pack.md).
"""

from gauntlet.evidence_pack.build import Built, build
from gauntlet.evidence_pack.verify import Verified, verify

__all__ = ["Built", "Verified", "build", "verify"]
