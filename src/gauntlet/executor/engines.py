"""Which engine plays: the one place that knows what engines there are."""

from gauntlet.engine.contract import Engine


def installed() -> Engine:
    """The engine of this machine; RunError with the remedy when a part of it is missing."""
    from gauntlet.engine.virtual import Virtual

    return Virtual.installed()
