"""Which figures a report has, and what they say once."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gauntlet import report
from gauntlet.figures.style import styles
from gauntlet.report.contents import Figures, figures
from tests.report import flows
from tests.report.flows import Constructed, Did, Flow

DEADLINE: Mapping[str, Any] = {"kpi": "delay_s", "quantile": 0.99, "at_most": 1.0}
UPLOAD = Flow("bulk", name="upload", background=True)


def made(folder: Path, *given: Flow, protocols: tuple[str, ...] = ("tcp-cubic", "sctp")) -> Figures:
    """Of uploads that bring 0.8 of 1 Mbit/s, and datagrams that bring 8 kbit/s."""

    def did(protocol: str, place: int, repetition: int, loss: float) -> Did:
        return Did(20.0, bytes_a_second=1000 if given[place].app == "cbr" else 100_000)

    campaign = Constructed(protocols, did, 2, (0.0, 0.01), given)
    return figures(report.load(flows.build(folder / "r", folder / "s", campaign)))


def names(found: list[Any]) -> list[str]:
    return [it.name for it in found]


def test_throughput_is_drawn_where_it_says_something(tmp_path: Path) -> None:
    assert names(made(tmp_path / "a", Flow("bulk")).cdfs) == ["throughput-cdf", "delay-cdf"]
    # What datagrams bring at their own small rate is what was handed over.
    assert names(made(tmp_path / "b", Flow("cbr", rate_bps=8000)).cdfs) == ["delay-cdf"]


def test_where_a_quantile_is_asked_no_other_stands_beside_it(tmp_path: Path) -> None:
    asked = made(tmp_path / "a", Flow("cbr", rate_bps=8000, judge=DEADLINE))
    assert names(asked.against) == ["delay-p99-s-against-loss"]
    assert '["0 %", "1 %"]' in str(asked.against[0].spec)
    assert "delay-p95-s-against-loss" in names(made(tmp_path / "b", Flow("cbr", rate_bps=8000)).against)


def test_flows_of_which_the_same_is_asked_share_their_strips_and_words(tmp_path: Path) -> None:
    pings = [Flow("cbr", name=f"ping-{way}", rate_bps=8000, judge=DEADLINE) for way in ("up", "down")]
    found = made(tmp_path, *pings, UPLOAD, protocols=("tcp-cubic",))
    (dots,) = found.repetitions
    assert dots.title == "One-way delay, 99th percentile, every repetition"
    assert {row.split(",")[1] for row in dots.csv.splitlines()[1:]} == {"ping-up", "ping-down"}
    first, second = found.cdfs
    assert first.caption.startswith("Mean over repetitions")
    assert second.caption == f'Read as "{first.title}" above.'


def test_flows_of_several_protocols_have_the_colours_of_those_over_time(tmp_path: Path) -> None:
    etcs = Flow("cbr", name="etcs", rate_bps=8000, judge=DEADLINE)
    found = made(tmp_path / "a", etcs, UPLOAD).series
    assert found is not None
    look = found.figure.spec["vconcat"][0]["layer"][1]["encoding"]
    colours = dict(zip(*(look["color"]["scale"][it] for it in ("domain", "range")), strict=True))
    for protocol in styles(["tcp-cubic", "sctp"]):
        assert colours[f"etcs: {protocol.label}"] == colours[f"upload: {protocol.label}"] == protocol.colour
    widths = dict(zip(*(look["strokeWidth"]["scale"][it] for it in ("domain", "range")), strict=True))
    assert widths["etcs: SCTP"] != widths["upload: SCTP"]
    # Of one protocol there is nothing to compare by colour: it tells flows apart.
    alone = made(tmp_path / "b", etcs, UPLOAD, protocols=("sctp",)).series
    assert alone is not None
    assert len(alone.colours) == 2
