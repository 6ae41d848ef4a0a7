"""Which runs can be trusted, which cannot and why, what was not decided, and warnings to the reader."""

import re
from collections import Counter
from dataclasses import dataclass

from gauntlet.metrics.compare import fewest_repetitions
from gauntlet.metrics.numbers import counted, listed
from gauntlet.report.campaign import Campaign

NOT_CHECKED = "not checked"
"""The verdict of a run that could have been checked and was not (docs/formats/certificate.md)."""


@dataclass(frozen=True)
class Trust:
    """What the trust section lists."""

    planned: int
    present: int
    failed: list[tuple[str, str]]
    """(run, reason)."""
    untrusted: list[tuple[str, list[str]]]
    """(run, sentences of the checks that failed)."""
    unchecked: list[tuple[str, list[str]]]
    """(run, what could have been checked and was not, without any check that failed)."""
    checks: list[tuple[str, int, int]]
    """(check, passed, failed) over all runs."""
    undecided: list[tuple[str, int]]
    """(sentence, how often it was said, with these numbers or others)."""
    flows: int
    """Flows of runs that came to their end."""
    flow_failures: list[tuple[str, str]]
    """(run, reason) of flows that did not do what they were to do, in runs that came to their end."""
    warnings: list[str]
    instants: list[tuple[str, list[str]]]
    """(way of taking instants of receipt, protocols)."""

    @property
    def failed_flows(self) -> str:
        """How many flows failed, in one sentence; empty when none did."""
        if not self.flow_failures:
            return ""
        return (
            f"{len(self.flow_failures)} of {counted(self.flows, 'flow')} failed. They count: what was never "
            "established delivered nothing, what did not end took longer than it was given."
        )

    @property
    def reasons(self) -> list[tuple[str, int]]:
        """Why flows failed, each reason once with how often it was given, the most frequent first."""
        return Counter(reason for _, reason in self.flow_failures).most_common()

    @property
    def trusted(self) -> int:
        """Runs that take part in the answer."""
        return self.present - len(self.failed) - len(self.untrusted) - len(self.unchecked)

    @property
    def verdict(self) -> str:
        """The first screen's line."""
        if self.trusted == self.planned == 1:
            return "The run is trusted: its packets show the link that was asked for."
        if self.trusted == self.planned:
            runs = counted(self.planned, "run")
            return f"All {runs} are trusted: their packets show the link that was asked for."
        parts = [f"{self.trusted} of {counted(self.planned, 'run')} are trusted"]
        if self.untrusted:
            parts.append(f"{len(self.untrusted)} not trusted")
        if self.unchecked:
            parts.append(f"{len(self.unchecked)} not checked")
        if self.failed:
            parts.append(f"{len(self.failed)} failed")
        if missing := self.planned - self.present:
            parts.append(f"{missing} not done yet")
        return "; ".join(parts) + ". Only trusted runs count."


def trust(campaign: Campaign) -> Trust:
    """Gather it from the tables of runs, flows and certificates."""
    results = campaign.results
    runs = results.table("runs").to_pylist()
    checks = results.table("certificates").to_pylist()
    failed_checks: dict[str, list[str]] = {}
    tally: dict[str, Counter[bool]] = {}
    undecided: dict[str, list[str]] = {}
    unclear: dict[str, list[str]] = {}
    unmade: dict[str, list[str]] = {}
    failed = [(run["run"], run["reason"] or "no reason was given") for run in runs if run["outcome"] != "ok"]
    without_end = {run for run, _ in failed}
    for check in checks:
        if check["run"] in without_end:
            continue
        if check["passed"] is None:
            if check.get("missing"):
                unmade.setdefault(check["run"], []).append(check["sentence"])
                continue
            unclear.setdefault(check["run"], []).append(check["sentence"])
            # The same statement with other numbers is one statement: a campaign has hundreds of runs.
            undecided.setdefault(re.sub(r"[\d.,]*\d", "#", check["sentence"]), []).append(check["sentence"])
            continue
        tally.setdefault(check["name"], Counter())[check["passed"]] += 1
        if not check["passed"]:
            failed_checks.setdefault(check["run"], []).append(check["sentence"])
    doubtful = {
        run["run"]: run.get("verdict") for run in runs if run["outcome"] == "ok" and not run["trusted"]
    }
    untrusted = [
        (run, failed_checks.get(run) or unclear.get(run) or ["It has no certificate that holds."])
        for run, verdict in doubtful.items()
        if verdict != NOT_CHECKED
    ]
    unchecked = [(run, unmade[run]) for run, verdict in doubtful.items() if verdict == NOT_CHECKED]
    flows = [row for row in campaign.rows if row.run not in without_end]
    labels = {style.key: style.label for style in campaign.styles}
    flow_failures = [
        (row.run, f"{labels[row.protocol]}: {row.reason or 'it did not bring all that it was to bring'}")
        for row in flows
        if not row.completed
    ]
    older = sum(run["trusted"] and run.get("verdict") is None for run in runs)
    planned = max(results.manifest.runs_planned, len(runs))
    return Trust(
        planned=planned,
        present=len(runs),
        failed=failed,
        untrusted=untrusted,
        unchecked=unchecked,
        checks=[(name, count[True], count[False]) for name, count in sorted(tally.items())],
        undecided=sorted(((_first(each), len(each)) for each in undecided.values()), key=lambda it: -it[1]),
        flows=len(flows),
        flow_failures=flow_failures,
        warnings=_warnings(campaign, planned - len(runs), older),
        instants=_instants(campaign),
    )


def _first(sentences: list[str]) -> str:
    return (
        sentences[0]
        if len(set(sentences)) == 1
        else f"{sentences[0]} (Elsewhere the same with other numbers.)"
    )


def _instants(campaign: Campaign) -> list[tuple[str, list[str]]]:
    """How instants of receipt were taken, and for which protocols."""
    found: dict[str, set[str]] = {}
    for flow in campaign.results.table("flows").to_pylist():
        if flow["delivery_instants"]:
            found.setdefault(flow["delivery_instants"], set()).add(flow["protocol"] or flow["stack"])
    labels = {style.key: style.label for style in campaign.styles}
    return [(way, sorted(labels.get(key, key) for key in keys)) for way, keys in sorted(found.items())]


def _warnings(campaign: Campaign, missing: int, older: int) -> list[str]:
    found = []
    if older:
        found.append(
            f"Of {counted(older, 'run')} the certificate is of version 1: it found no fault and does not "
            "say what was not checked. To know, play again."
        )
    count = len(campaign.repetitions)
    if missing > 0:
        found.append(
            f"{counted(missing, 'run')} of the experiment {'is' if missing == 1 else 'are'} not there yet; "
            "the same command continues with them."
        )
    if count == 1:
        found.append(
            "There is one repetition: no interval can be given and no difference can be told from chance. "
            "Use --repetitions to make more."
        )
    elif count < fewest_repetitions() and not _all_alike(campaign):
        found.append(
            f"There are {count} repetitions: no protocol can be called worse than another with so few (that "
            f"takes {fewest_repetitions()}), and intervals by Student's t take repetitions to be normally "
            "distributed, which so few cannot show."
        )
    if alike := _alike(campaign):
        found.append(
            f"{alike} Repetitions that are all the same say no more than one: let something be drawn (a "
            "stretch by chunk, a loss, a delay with a range), or use --repetitions 1."
        )
    return found


def _all_alike(campaign: Campaign) -> bool:
    """Whether every repetition is the same one everywhere: then differences are none of chance."""
    return all(
        campaign.deterministic(style.key, it) for style in campaign.styles for it in campaign.conditions
    )


def _alike(campaign: Campaign) -> str:
    """Where every repetition is the same one, in one sentence; empty when nowhere."""
    places = [(style, it) for style in campaign.styles for it in campaign.conditions]
    alike = [(style, it) for style, it in places if campaign.deterministic(style.key, it)]
    if not alike:
        return ""
    if _all_alike(campaign):
        return "Deterministic: under every condition all repetitions of a protocol are the same."
    names = listed([style.label for style in campaign.styles if any(style is it for it, _ in alike)])
    return f"Deterministic: all repetitions are the same of {names}, {len(alike)} of {len(places)} cells."
