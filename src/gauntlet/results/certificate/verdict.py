"""One verdict of the certificate, and how numbers are written in its sentences."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Check:
    """One thing that was checked: `name` of the check, `link` direction (None: the whole run), and a
    sentence in plain English."""

    name: str
    link: str | None
    passed: bool
    sentence: str
    measured: dict[str, Any] = field(default_factory=dict)
    expected: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The check as it stands in `certificate.json`."""
        return {
            "name": self.name,
            "link": self.link,
            "passed": self.passed,
            "sentence": self.sentence,
            "measured": self.measured,
            "expected": self.expected,
        }


@dataclass
class Findings:
    """What the checks have found so far: verdicts, and sentences on what could not be decided."""

    checks: list[Check] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)

    def add(
        self,
        name: str,
        link: str | None,
        failure: str | None,
        success: str = "",
        *,
        measured: dict[str, Any] | None = None,
        expected: dict[str, Any] | None = None,
    ) -> None:
        """Record a check: it failed if `failure` is a sentence, and passed if it is None."""
        sentence = success if failure is None else failure
        self.checks.append(Check(name, link, failure is None, sentence, measured or {}, expected or {}))

    @property
    def trusted(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)


def seconds(time_ns: float) -> str:
    """An instant in seconds with microseconds: `12.345678 s`."""
    return f"{time_ns / 1e9:.6f} s"


def span(duration_ns: float) -> str:
    """A duration in the unit that suits it: `48.2 us`, `25 ms`, `1.2 s`."""
    size = abs(duration_ns)
    if size < 1e6:
        return f"{duration_ns / 1e3:.4g} us"
    if size < 1e9:
        return f"{duration_ns / 1e6:.6g} ms"
    return f"{duration_ns / 1e9:.6g} s"


def plural(count: int, noun: str) -> str:
    """`1 packet`, `2 packets`; thousands are set apart by commas."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def percent(fraction: float) -> str:
    """A fraction as a percentage with four significant digits: `1.5 %`."""
    return f"{100 * fraction:.4g} %"
