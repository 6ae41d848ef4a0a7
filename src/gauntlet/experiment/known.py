"""What an experiment's file may name that its sections do not list: its own stacks, and KPIs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gauntlet.experiment.protocols import PROTOCOLS, Protocol

Answers = Callable[[Mapping[str, Any]], None]
"""Raises UserError where no flow can answer a `judge`; its bounds are still as the file has them."""


@dataclass(frozen=True)
class Known:
    """The context in which sections are checked."""

    protocols: Mapping[str, Protocol] = field(default_factory=lambda: PROTOCOLS)
    """Every protocol that a flow can name, the experiment's own among them."""
    answers: Answers | None = None
    """KPIs are known above this room (`gauntlet.metrics.asked.check`); None: any name will do."""
