"""Experiments drawn as one: the same repetitions of each, the factors of all."""

import pytest

from gauntlet.errors import NotMeasured, UserError
from gauntlet.metrics.quantity import Quantity
from gauntlet.studies import study
from gauntlet.studies.joined import JOINED, joined
from gauntlet.studies.select import by_repetition
from gauntlet.studies.summary import Part, Summary
from tests.studies.factory import flows, steady

STUDY = study("d35")


def _part(protocol: str, loss: float, repetitions: int) -> Part:
    values = steady(1e6, count=repetitions)
    table = flows({(protocol, loss): values})
    empty = table.slice(0, 0).select(["run", "flow"])
    factors = {
        "protocol": [protocol],
        "protocols": [protocol],
        "loss": [loss],
        "repetition": list(range(1, repetitions + 1)),
    }
    labels = {"loss": {str(loss): f"{loss:.0%}"}}
    return Part(
        {"factors": factors, "labels": labels},
        {"flows": table, "delays": empty, "windows": empty, "series": empty},
    )


def test_only_repetitions_that_all_have_take_part() -> None:
    both = Summary("d35", {"a": _part("sctp", 0.01, 9), "b": _part("tcp-bbr", 0.0, 4)})
    one = joined(both, ["a", "b"])
    for selection in ({"protocol": "sctp"}, {"protocol": "tcp-bbr"}):
        assert set(by_repetition(one, JOINED, selection, Quantity("throughput_bps")).values) == {1, 2, 3, 4}
    assert one.factors(JOINED)["loss"] == [0.0, 0.01]
    assert one.label(JOINED, "loss", 0.01) == "1 %"


def test_a_factor_that_one_lacks_can_be_given() -> None:
    both = Summary("d35", {"a": _part("sctp", 0.01, 3), "b": _part("tcp-bbr", 0.0, 3)})
    one = joined(both, ["a", "b"], {"a": {"size_bytes": 5}, "b": {"size_bytes": 7}})
    picked = by_repetition(one, JOINED, {"size_bytes": 7}, Quantity("throughput_bps"))
    assert picked.values == by_repetition(both, "b", {}, Quantity("throughput_bps")).values


def test_what_was_not_played_still_has_its_factors() -> None:
    """A selection of aioquic is then not measured, rather than a mistake."""
    some = Summary(STUDY.key, {"streams-delay": _part("tls-bbr", 0.0, 3)}, STUDY.home)
    one = joined(some, ["streams-delay", "streams-aioquic"])
    assert "quic-aioquic-newreno" in one.factors(JOINED)["protocol"]
    with pytest.raises(NotMeasured):
        by_repetition(one, JOINED, {"protocol": "quic-aioquic-newreno"}, Quantity("throughput_bps"))
    with pytest.raises(NotMeasured):
        joined(some, ["streams-aioquic"])


def test_runs_of_one_id_cannot_be_told_apart() -> None:
    twice = Summary("d35", {"a": _part("sctp", 0.0, 3), "b": _part("sctp", 0.0, 3)})
    with pytest.raises(UserError, match="same id"):
        joined(twice, ["a", "b"])
