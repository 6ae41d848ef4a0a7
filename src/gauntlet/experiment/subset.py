"""Some of an experiment's runs: those whose factors have certain values."""

from collections.abc import Mapping, Sequence

from gauntlet.experiment.runspec import Factor

PROTOCOLS = "protocols"
"""Name of the factor that says what a run's flows speak, as in [matrix]: "tcp-bbr" or "tcp-bbr+sctp". A
flow's own transport is `protocol`.
"""


def kept(factors: Mapping[str, Factor], keep: Mapping[str, Sequence[Factor]]) -> bool:
    """Whether a run of these factors (`RunSpec.factors`) is one of those; a factor that `keep` does not name
    may be anything.
    """
    named = {**factors, PROTOCOLS: factors["protocol"]}
    return all(named[name] in values for name, values in keep.items())
