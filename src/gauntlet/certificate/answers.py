"""What a check answers, what all of them say together, and how numbers are written in their sentences."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

FORMAT_VERSION = 2
"""Of `certificate.json`; 1 had two answers, and did not say what was not checked."""


class Answer(StrEnum):
    """The three answers of a check, and of a certificate."""

    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True)
class Check:
    """One thing that was to be checked: `name` of the check, `link` direction (None: the whole run), a
    sentence in plain English.

    Of a check that was not made, `missing` says what the record would have to hold for it. None: no record
    could hold it (no packet came, too few came, packets are identical), and the sentence says why.
    """

    name: str
    link: str | None
    answer: Answer
    sentence: str
    missing: str | None = None
    measured: dict[str, Any] = field(default_factory=dict)
    expected: dict[str, Any] = field(default_factory=dict)

    @property
    def unanswered(self) -> bool:
        """Whether it could have been checked and was not: what takes trust away without a contradiction."""
        return self.answer is Answer.NOT_CHECKED and self.missing is not None

    def to_json(self) -> dict[str, Any]:
        """The check as it stands in `certificate.json`."""
        passed = None if self.answer is Answer.NOT_CHECKED else self.answer is Answer.CONFIRMED
        return {
            "name": self.name,
            "link": self.link,
            "answer": str(self.answer),
            "passed": passed,
            "sentence": self.sentence,
            "missing": self.missing,
            "measured": self.measured,
            "expected": self.expected,
        }


def joint_answer(checks: Iterable[Check]) -> Answer:
    """What several checks say together: contradicted if one is, else not checked if one could have been
    checked and was not."""
    answers = list(checks)
    if any(check.answer is Answer.CONTRADICTED for check in answers):
        return Answer.CONTRADICTED
    if any(check.unanswered for check in answers):
        return Answer.NOT_CHECKED
    return Answer.CONFIRMED


@dataclass
class Findings:
    """What the checks have found so far: answers, and remarks on what no single check could decide."""

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
        """Record a check that was made: contradicted if `failure` is a sentence, confirmed if it is None."""
        answer = Answer.CONFIRMED if failure is None else Answer.CONTRADICTED
        sentence = success if failure is None else failure
        self.checks.append(Check(name, link, answer, sentence, None, measured or {}, expected or {}))

    def not_checked(
        self,
        name: str,
        link: str | None,
        sentence: str,
        *,
        missing: str | None,
        measured: dict[str, Any] | None = None,
        expected: dict[str, Any] | None = None,
    ) -> None:
        """Record a check that was not made; `missing` as in `Check`."""
        self.checks.append(
            Check(name, link, Answer.NOT_CHECKED, sentence, missing, measured or {}, expected or {})
        )

    @property
    def answer(self) -> Answer:
        """What all checks say together."""
        return joint_answer(self.checks)


def certificate_json(run: str, findings: Findings, impairments: list[dict[str, Any]]) -> dict[str, Any]:
    """The content of `certificate.json` (docs/formats/certificate.md)."""
    return {
        "format": "gauntlet-certificate",
        "version": FORMAT_VERSION,
        "run": run,
        "verdict": str(findings.answer),
        "trusted": findings.answer is Answer.CONFIRMED,
        "impairments": impairments,
        "checks": [check.to_json() for check in findings.checks],
        "undecided": findings.undecided,
    }


def nothing_checked(run: str, why: str) -> dict[str, Any]:
    """The certificate of a run of which there is nothing to look at; `why` is a sentence."""
    findings = Findings()
    findings.not_checked("record", None, why, missing="a whole record")
    return certificate_json(run, findings, [])


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
