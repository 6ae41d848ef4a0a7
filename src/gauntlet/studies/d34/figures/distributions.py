"""Distributions of delay and throughput: Figures 17 to 23, 25, 26 (greedy), 34 to 39 (on-off sources)."""

from collections.abc import Callable, Sequence

from gauntlet.studies.charts import Mark, cdf
from gauntlet.studies.d34.scenarios import LINES
from gauntlet.studies.model import Chart, Figure, Panel, Printed
from gauntlet.studies.summary import Summary

PROTOCOLS = (("tcp-cubic", "TCP CUBIC"), ("tcp-bbr", "TCP BBR"))
DELAY, THROUGHPUT = "delay_s", "window_throughput_bps"

_WHAT = {
    DELAY: "One-way delay of messages, from hand-over by the sending application to receipt",
    THROUGHPUT: "Throughput in windows of 1 s",
}
_CURVES = "Colours: channel delay; solid: no loss, broken: 1 %."


def figures() -> tuple[Figure, ...]:
    """All of them, in the study's order."""
    greedy = {"hsr": (17, 18), "regional": (20, 21), "metro-a": (22, 23)}
    on_off = {"hsr": (34, 35), "regional": (36, 37), "metro-a": (38, 39)}
    found = [_all_protocols()]
    for line in LINES:
        for number, (protocol, name) in zip(greedy[line.key], PROTOCOLS, strict=True):
            found.append(_greedy(number, line.key, line.words, protocol, name))
        for number, (protocol, name) in zip(on_off[line.key], PROTOCOLS, strict=True):
            found.append(_on_off(number, line.key, line.words, protocol, name))
    found += [_bandwidth(25, "5", 300, 8.5), _bandwidth(26, "20", 1200, 20.0)]
    return tuple(sorted(found, key=lambda figure: int(figure.key)))


def _panels(*wanted: tuple[str, str, str, str]) -> Callable[[Summary], Sequence[Panel]]:
    """One panel a (experiment, quantity, protocol, words), curves by channel delay and loss."""

    def draw(summary: Summary) -> Sequence[Panel]:
        return [
            Chart(
                f"{_WHAT[quantity]}{words}. {_CURVES}",
                cdf(
                    summary,
                    experiment,
                    quantity,
                    of={"protocol": protocol},
                    colour="channel_delay_s",
                    facet=None,
                ),
            )
            for experiment, quantity, protocol, words in wanted
        ]

    return draw


def _greedy(number: int, line: str, words: str, protocol: str, name: str) -> Figure:
    experiment = f"cbr-{line}"
    return Figure(
        str(number),
        f"{name}, delay and throughput: {words.lower()}",
        "Greedy sources for 2 min on random stretches.",
        (experiment,),
        _panels(*((experiment, quantity, protocol, "") for quantity in (DELAY, THROUGHPUT))),
    )


def _on_off(number: int, line: str, words: str, protocol: str, name: str) -> Figure:
    low, high = f"vbr-low-{line}", f"vbr-high-{line}"
    peak = "54 Mbit/s" if line == "metro-a" else "5.2 Mbit/s"
    return Figure(
        str(number),
        f"{name}, delay and throughput of on-off sources: {words.lower()}",
        f"On for 1.2 s and off for 1.8 s on average, at 80 kbit/s and at {peak} while on. Windows of 1 s "
        "contain off periods: the mean of the slow source is 32 kbit/s.",
        (low, high),
        _panels(
            *(
                (experiment, quantity, protocol, f"; {rate} while on")
                for experiment, rate in ((low, "80 kbit/s"), (high, peak))
                for quantity in (DELAY, THROUGHPUT)
            )
        ),
        (Printed("Throughput of the slow source", "80 kbit/s", "section 6.4.1"),) if line == "hsr" else (),
    )


def _all_protocols() -> Figure:
    def draw(summary: Summary) -> Sequence[Panel]:
        return [
            Chart(
                f"{_WHAT[quantity]}, channel delay 25 ms.",
                cdf(
                    summary,
                    "cbr-hsr",
                    quantity,
                    of={"channel_delay_s": 0.025, "protocol": ["tcp-cubic", "tcp-bbr", "sctp", "udp"]},
                    dash=None,
                    facet="loss",
                ),
            )
            for quantity in (DELAY, THROUGHPUT)
        ]

    return Figure(
        "19",
        "Four protocols, delay and throughput: high-speed line",
        "UDP does not wait for its buffer, so its delay is that of the full queue in front of the line, and "
        "what the queue cannot hold is lost.",
        ("cbr-hsr",),
        draw,
    )


def _bandwidth(number: int, mhz: str, carriers: int, most_mbps: float) -> Figure:
    experiment = f"cbr-hsr-{mhz}mhz"

    def draw(summary: Summary) -> Sequence[Panel]:
        mark = Mark(most_mbps * 1e6, label=f"{most_mbps:g} Mbit/s, section 6.2.5")
        return [
            Chart(
                f"{name}. {_WHAT[THROUGHPUT]}. {_CURVES} Upright line: the mean that D3.4 prints as its "
                "maximum.",
                cdf(
                    summary,
                    experiment,
                    THROUGHPUT,
                    of={"protocol": protocol},
                    colour="channel_delay_s",
                    facet=None,
                    printed=[mark],
                ),
            )
            for protocol, name in PROTOCOLS
        ]

    return Figure(
        str(number),
        f"Throughput with {mhz} MHz of LTE: high-speed line",
        f"{carriers} carriers instead of 72.",
        (experiment,),
        draw,
        (Printed("Highest mean throughput", f"about {most_mbps:g} Mbit/s", "section 6.2.5"),),
    )
