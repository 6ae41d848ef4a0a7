"""Differences of differences between files' times: what TLS costs by delay, what loss costs by size."""

from collections.abc import Mapping

from gauntlet.metrics.intervals import Mean, mean
from gauntlet.studies.d35.measures import FETCH_TIME
from gauntlet.studies.model import NotMeasured, Value
from gauntlet.studies.select import Quantity, Selection, by_repetition
from gauntlet.studies.summary import Summary

_FILES = "files"
_TIME = Quantity(FETCH_TIME.name)
_MEASURES = {FETCH_TIME.name: FETCH_TIME}


def _growth(summary: Summary, this: tuple[Selection, Selection], that: tuple[Selection, Selection]) -> Mean:
    """(first less second of `this`) less (first less second of `that`), in seconds, paired by repetition."""
    selected = [by_repetition(summary, _FILES, of, _TIME, measures=_MEASURES) for of in (*this, *that)]
    for it in selected:
        it.check()
    read = [it.values for it in selected]
    shared = sorted(set.intersection(*(set(values) for values in read)))
    if not shared:
        raise NotMeasured(f"No repetition of {_FILES} has all four times.")
    one, less_one, other, less_other = read
    return mean([(one[it] - less_one[it]) - (other[it] - less_other[it]) for it in shared])


def _loss_by_size(app: str) -> Value:
    """What a loss of 1 % costs 4 MB less what it costs 0.5 MB, at 150 ms."""

    def pair(size_bytes: int) -> tuple[Selection, Selection]:
        of = {"app": app, "size_bytes": size_bytes, "channel_delay_s": 0.15}
        return {**of, "loss": 0.01}, {**of, "loss": 0.0}

    return lambda summary: _growth(summary, pair(4_000_000), pair(500_000))


def _tls_by_delay(summary: Summary) -> Mean:
    """What TLS costs at 150 ms less what it costs at 25 ms, without loss."""

    def pair(delay_s: float) -> tuple[Selection, Selection]:
        of = {"channel_delay_s": delay_s, "loss": 0.0}
        return {**of, "app": "ftps"}, {**of, "app": "ftp"}

    return _growth(summary, pair(0.15), pair(0.025))


DIFFERENCES: Mapping[str, Value] = {
    "ftp-loss-by-size": _loss_by_size("ftp"),
    "ftps-loss-by-size": _loss_by_size("ftps"),
    "ftps-cost-by-delay": _tls_by_delay,
}
"""By the name that a claim of the kind `value` gives."""
