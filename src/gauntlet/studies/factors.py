"""The factors of an experiment in words: what the axes of its charts and the verdicts of its claims say."""

from typing import Any

from gauntlet.figures.style import styles
from gauntlet.report.factors import Factor, assigned, factor_of
from gauntlet.studies.summary import Summary


def summary_factor(summary: Summary, experiment: str, name: str) -> Factor:
    """A factor of an experiment as the report has it: words, unit, labels."""
    values = summary.factors(experiment)[name]
    return factor_of(name, {value: summary.label(experiment, name, value) for value in values})


def factor_words(summary: Summary, experiment: str, name: str, value: Any) -> str:
    """A factor's value for people: TCP BBR; channel delay 25 ms."""
    if name == "protocol":
        return styles([str(value)])[0].label
    # A ledger may write 0 where the experiment has 0.0.
    own = next((have for have in summary.factors(experiment)[name] if have == value), value)
    label = summary.label(experiment, name, own)
    return label if name == "protocols" else assigned(summary_factor(summary, experiment, name).words, label)
