"""What an attack is. One file an attack, one line in `gauntlet.traffic.attacks.registry`."""

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gauntlet.errors import UserError
from gauntlet.traffic.sequences import Floats, Ints, Sequences

Classifier = Callable[[Sequences], Floats]
"""Scores of each class for each visit; the highest is what the attack says."""


@dataclass(frozen=True)
class Attack:
    """An attack on the packets of visits."""

    name: str
    about: str
    learn: Callable[[Sequences, Ints, int, int], Classifier]
    """Learns from visits and their classes, which are numbered below the third argument; the last one seeds
    all that is drawn: the same visits and seed give the same classifier.
    """
    packages: Mapping[str, str] = field(default_factory=dict)
    """Modules that it needs beyond what Gauntlet has, with their names on PyPI: those of the extra
    `traffic`.
    """
    asked_again: bool = False
    """Whether it is asked for what it learnt from, too: a network may know that and little else."""

    def check(self) -> None:
        """Raise UserError when what it needs is not installed, with the command that installs it."""
        missing = [name for module, name in self.packages.items() if importlib.util.find_spec(module) is None]
        if missing:
            raise UserError(
                f"the attack {self.name} needs {' and '.join(missing)}, which is not installed; type "
                '`pip install "gauntlet-net[traffic]"`.'
            )
