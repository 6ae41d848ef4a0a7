"""A server that nobody attacks: what the attacked one is held against."""

from dataclasses import replace
from pathlib import Path

from gauntlet.attack import arena, gates
from gauntlet.attack.run import Client, Outcome, Run

TRIES = 3
"""How often it is played at most."""


def play(run: Run, client: Client, folder: Path | None) -> Outcome:
    """The run without its attack. Every attack on the same server is held against it and invalid with it, so
    one that something else on the machine disturbed is played again.

    Raises what `gauntlet.attack.arena.play` does.
    """
    quiet = replace(run, client=client, attack=None, client_at_s=0.0)
    for left in reversed(range(TRIES)):
        outcome = arena.play(quiet, folder)
        if not left or not gates.reasons(outcome):
            break
    return outcome
