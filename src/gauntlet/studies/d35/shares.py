"""What is left of a throughput under loss, of a delay without set-up: quotients of several selections."""

from collections.abc import Mapping

from gauntlet.metrics.intervals import Mean, mean, the_same
from gauntlet.metrics.ratios import ratio
from gauntlet.studies.d35.measures import THROUGHPUT_WITH_SETUP
from gauntlet.studies.model import NotMeasured, Value
from gauntlet.studies.select import Quantity, by_repetition
from gauntlet.studies.summary import Summary

AIOQUIC = "quic-aioquic-newreno"
_STREAMS = {
    **dict.fromkeys(("tls-cubic", "tls-bbr", "tls-sctp", "quic-quinn-bbr"), "streams-delay"),
    AIOQUIC: "streams-aioquic",
}
"""The study's transports, quinn with BBR in the place of LSQUIC, and where their streams are."""
_TLS = ("tls-cubic", "tls-bbr", "tls-sctp")
_SIZES = {1000: "", 10_000: "10kb-"}


def _kept_less(summary: Summary) -> Mean:
    """The share of its throughput that a transport keeps at 1 % loss, at 25 ms less at 150 ms: by repetition,
    averaged over the transports.
    """
    quantity = Quantity(THROUGHPUT_WITH_SETUP.name)
    of_each: list[dict[int, float]] = []
    for protocol, experiment in _STREAMS.items():
        short, lossy_short, long, lossy_long = (
            by_repetition(
                summary,
                experiment,
                {"protocol": protocol, "channel_delay_s": delay_s, "loss": loss},
                quantity,
                measures={THROUGHPUT_WITH_SETUP.name: THROUGHPUT_WITH_SETUP},
            ).values
            for delay_s in (0.025, 0.15)
            for loss in (0.0, 0.01)
        )
        shared = short.keys() & lossy_short.keys() & long.keys() & lossy_long.keys()
        if any(each[it] == 0 for each in (short, long) for it in shared):
            raise NotMeasured(
                f"{experiment}: {protocol} delivered nothing without loss, so no share is kept."
            )
        of_each.append({it: lossy_short[it] / short[it] - lossy_long[it] / long[it] for it in shared})
    everywhere = sorted(set.intersection(*(set(values) for values in of_each)))
    if not everywhere:
        raise NotMeasured("No repetition of streams has all transports under all four conditions.")
    return mean([sum(values[it] for values in of_each) / len(of_each) for it in everywhere])


def _without_over_with(protocol: str, delay_s: float, size_bytes: int) -> Value:
    """The message delay without set-up over that with it, without loss."""
    experiment = "messages-fresh-aioquic" if protocol == AIOQUIC else "messages-fresh"
    of = {"protocol": protocol, "channel_delay_s": delay_s, "loss": 0.0, "size_bytes": size_bytes}

    def share(summary: Summary) -> Mean:
        without, whole = (
            by_repetition(summary, experiment, of, Quantity(kpi))
            for kpi in ("message_delay_s", "message_delay_with_setup_s")
        )
        without.check()
        whole.check()
        shared = sorted(without.values.keys() & whole.values.keys())
        found = ratio([without.values[it] for it in shared], [whole.values[it] for it in shared]).mean
        if found is None:
            raise NotMeasured(f"{experiment} has no message delay of {protocol} at {delay_s:g} s.")
        return the_same(found.value) if without.deterministic and whole.deterministic else found

    return share


def _least_delay_ms(summary: Summary) -> float:
    """The least delay of any message of 1 kB over TLS at 25 ms, without loss and without set-up."""
    of = {"protocol": list(_TLS), "channel_delay_s": 0.025, "loss": 0.0, "size_bytes": 1000}
    least = by_repetition(summary, "messages-fresh", of, Quantity("each_message_delay_s", 0.0)).values
    if not least:
        raise NotMeasured("messages-fresh has no message of 1 kB at 25 ms.")
    return 1e3 * min(least.values())


SHARES: Mapping[str, Value] = {
    "kept-25ms-less-150ms": _kept_less,
    "least-delay-25ms": _least_delay_ms,
    **{
        f"without-setup-{words}{protocol}-{round(1e3 * delay_s)}ms": _without_over_with(
            protocol, delay_s, size_bytes
        )
        for size_bytes, words in _SIZES.items()
        for protocol in (*_TLS, AIOQUIC, "quic-quinn-bbr")
        for delay_s in (0.025, 0.15)
    },
}
"""By the name that a claim of the kind `value` gives."""
