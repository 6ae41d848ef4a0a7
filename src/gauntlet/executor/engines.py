"""Which engine plays: the one place that knows what engines there are."""

from gauntlet.engine.contract import Engine

GROUNDS = ("virtual", "host")
"""The grounds that runs are played on, by the name of their engine."""


def installed(ground: str = "virtual") -> Engine:
    """The engine of a ground on this machine; RunError with the remedy when a part of it is missing."""
    if ground == "host":
        from gauntlet.engine.host import Host
        from gauntlet.experiment.sysctls import STOCK_SYSCTLS

        return Host.installed(STOCK_SYSCTLS)
    from gauntlet.engine.virtual import Virtual

    return Virtual.installed()
