"""What an experiment's file says of itself, for its report."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gauntlet import units
from gauntlet.errors import UserError
from gauntlet.experiment.axes import axes
from gauntlet.figures.style import OF_SUBJECT, Style


@dataclass(frozen=True)
class About:
    """The file; of one that cannot be read nothing."""

    file: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str) -> "About":
        """As the results folder keeps it."""
        try:
            return cls(tomllib.loads(text))
        except tomllib.TOMLDecodeError:
            return cls()

    @property
    def question(self) -> str:
        """What the experiment asks, as its file puts it; empty when it does not."""
        return str(self._section.get("question", ""))

    @property
    def answer_by(self) -> str:
        """The KPI that answers for flows of which nothing is asked; empty: that of their application."""
        return str(self._section.get("answer_by", ""))

    @property
    def matters(self) -> float:
        """The share of the best mean below which a difference does not matter to who asks."""
        try:
            return units.fraction(self._section.get("matters", 0.0))
        except UserError:
            return 0.0

    @property
    def has_load(self) -> bool:
        """Whether its flows are those of a test of latency under load ([load])."""
        return "load" in self.file

    def in_order(self, found: Iterable[Style]) -> list[Style]:
        """Protocols as the file lists them, those that repeat what is lost first; what it does not list last
        and as it comes.
        """
        matrix = self.file.get("matrix", {})
        listed = matrix.get("protocols", []) if isinstance(matrix, dict) else []
        place = {str(it): position for position, it in enumerate(listed if isinstance(listed, list) else [])}

        def rank(style: Style) -> tuple[bool, list[int]]:
            key = style.key.rpartition(OF_SUBJECT)[2]
            alone = [key] if key in place else key.split()
            return not style.reliable, [place.get(it, len(place)) for it in alone]

        return sorted(found, key=rank)

    def written(self) -> Mapping[str, Sequence[Any]]:
        """The values of each factor as the file has them in order, for runs lie in that of their ids; none
        where they cannot be read.
        """
        try:
            _, found = axes({**self.file.get("matrix", {}), "protocols": []}, {})
        except (TypeError, UserError):
            return {}
        return {axis.factor: [value.factor for value in axis.values] for axis in found}

    @property
    def _section(self) -> Mapping[str, Any]:
        """[experiment]."""
        found = self.file.get("experiment", {})
        return found if isinstance(found, dict) else {}
