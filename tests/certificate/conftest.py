"""A short way from a simulated run to its certificate."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gauntlet.certificate import certify
from tests.certificate.railsim import Run


class Certificate:
    """A certificate with the questions that tests ask of it."""

    def __init__(self, certificate: dict[str, Any]) -> None:
        self.certificate = certificate

    @property
    def failures(self) -> dict[tuple[str, str | None], str]:
        """Sentences of failed checks by (check, link)."""
        checks = self.certificate["checks"]
        return {(c["name"], c["link"]): c["sentence"] for c in checks if c["answer"] == "contradicted"}

    @property
    def answer(self) -> str:
        """The certificate's answer."""
        return str(self.certificate["verdict"])

    @property
    def missing(self) -> set[str]:
        """What the record lacks for checks that were not made."""
        return {check["missing"] for check in self.certificate["checks"] if check["missing"]}

    def impairment(self, link: str, name: str) -> dict[str, Any]:
        """The answer for one thing that was asked of a link."""
        found: dict[str, Any]
        (found,) = [
            entry
            for entry in self.certificate["impairments"]
            if (entry["link"], entry["impairment"]) == (link, name)
        ]
        return found

    @property
    def undecided(self) -> str:
        """All sentences on what could not be decided."""
        unmade = [c["sentence"] for c in self.certificate["checks"] if c["answer"] == "not checked"]
        return " ".join([*self.certificate["undecided"], *unmade])

    def check(self, name: str, link: str) -> dict[str, Any]:
        """One check."""
        found: dict[str, Any]
        (found,) = [c for c in self.certificate["checks"] if (c["name"], c["link"]) == (name, link)]
        return found


Judge = Callable[[Run], Certificate]


@pytest.fixture
def judge(tmp_path: Path) -> Judge:
    """Write a run and certify it."""
    return lambda run: Certificate(certify(run.plan, run.write(tmp_path)))
