"""What this machine can do, and how to mend what is missing.

Each check tries what a guest will do wherever that can be tried, and reads settings of the host only to name
the cause of what failed. None of them changes anything.
"""

from gauntlet.engine.doctor import (
    addresses,
    folders,
    guests,
    host_ground,
    limits,
    machine,
    memory,
    tools,
    tracing,
)
from gauntlet.engine.doctor.check import Check

__all__ = ["Check", "checks"]


def checks() -> list[Check]:
    """All checks, those that everything depends on first."""
    return [
        machine.system(),
        machine.python(),
        machine.cores(),
        memory.room(),
        memory.commitment(),
        memory.mappings(),
        folders.guest_memory_place(),
        folders.scratch(),
        tracing.tracing(),
        tracing.register_state(),
        addresses.addresses(),
        limits.open_files(),
        limits.processes(),
        limits.time_and_space(),
        guests.image(),
        guests.program(),
        guests.boot(),
        *host_ground.checks(),
        tools.tshark(),
        tools.chromium(),
    ]
