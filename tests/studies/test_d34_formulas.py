"""D3.4's formulas: Table 8, equation (2), RaSTA; trains in a cell; numbers that only this study asks for."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from studies.d34 import plugin
from studies.d34.plugin import (
    TABLE_8,
    Table8Row,
    average_rate_bps,
    handover_steps,
    most_others,
    others,
    overflow,
    packets_before_loss,
    packets_with_headers,
    rate_while_on_bps,
    scenario,
    shared_part,
    steady_loss,
)

from gauntlet.metrics.flow import FlowData
from tests.metrics.flows import flow


@pytest.mark.parametrize("row", TABLE_8, ids=lambda row: row.name)
def test_theory_gives_the_packets_of_table_8(row: Table8Row) -> None:
    """408, 1982 and 468, from the printed gain of the buffer on; the printed times to two digits."""
    found = overflow(row.channel_bps, gain_bps=row.gain_bps)
    assert found.packets == pytest.approx(row.packets, rel=0.01)
    assert found.fill_s == pytest.approx(row.fill_s, abs=0.011)


def test_first_and_last_row_follow_from_the_rates_alone_the_second_does_not() -> None:
    found = {row.name: overflow(row.channel_bps).packets / row.packets for row in TABLE_8}
    assert found["UDP_1"] == pytest.approx(1, rel=0.01)
    assert found["UDP_3"] == pytest.approx(1, rel=0.01)
    assert found["UDP_2"] == pytest.approx(0.905, rel=0.01)


def test_headers_fill_the_buffer_sooner_and_most_near_the_channel_rate() -> None:
    part = [
        packets_with_headers(rate) / overflow(rate, buffer_bytes=512_000).packets for rate in (0.58e6, 4.15e6)
    ]
    assert part[1] < part[0] < 1
    assert packets_with_headers(1e6, header_bytes=0) == overflow(1e6, buffer_bytes=512_000).packets


def test_a_full_buffer_loses_what_the_channel_cannot_carry() -> None:
    assert steady_loss(2.6e6, header_bytes=0) == 0.5
    assert steady_loss(10e6) == 0


def test_a_channel_as_fast_as_the_source_never_overflows() -> None:
    with pytest.raises(ValueError, match="never fills the buffer"):
        overflow(5.2e6)


def test_packets_before_the_first_loss() -> None:
    assert packets_before_loss(flow([0, 1, 2, 3], [0.1, 1.1, None, 3.1])) == 2
    assert packets_before_loss(flow([0, 1], [0.1, 1.1])) is None


def test_rate_while_on_leaves_out_the_pauses() -> None:
    """Two on periods of four messages of 1000 bytes at 80 kbit/s (one each 0.1 s), 5 s apart."""
    sent_s = [0.0, 0.1, 0.2, 0.3, 5.0, 5.1, 5.2, 5.3]
    source = _on_off(sent_s, [at + 0.05 for at in sent_s])
    assert rate_while_on_bps(source) == pytest.approx(80e3)
    lost = _on_off(sent_s, [None, *(at + 0.05 for at in sent_s[1:])])
    assert rate_while_on_bps(lost) == pytest.approx(80e3)
    # The first two messages of the second period wait for 0.2 s more, and arrive with the third.
    late = [0.05, 0.15, 0.25, 0.35, 5.25, 5.25, 5.25, 5.35]
    assert rate_while_on_bps(_on_off(sent_s, late)) == pytest.approx(8 * 8000 / (0.4 + 0.2))


def test_rate_while_on_needs_an_on_off_source_with_a_rate() -> None:
    assert rate_while_on_bps(flow([0, 1], [0.1, 1.1])) is None
    assert rate_while_on_bps(_on_off([0.0, 0.1], [None, None])) is None


def _on_off(sent_s: Sequence[float], received_s: Sequence[float | None]) -> FlowData:
    return replace(flow(sent_s, received_s), plan={"app_params": {"peak_rate_bps": 80e3}})


def test_rasta_is_as_fast_as_tcp_when_acknowledged_within_a_round_trip() -> None:
    assert plugin.rasta_over_tcp(0.1, 0.05) == 1
    assert plugin.rasta_over_tcp(0.1, 0.1) == 1


@pytest.mark.parametrize(("rtt_s", "interval_s"), [(0.05, 0.3), (0.1, 0.3), (0.1, 1.0)])
def test_rasta_falls_behind_in_proportion_to_round_trip_over_interval(
    rtt_s: float, interval_s: float
) -> None:
    assert plugin.rasta_over_tcp(rtt_s, interval_s) == pytest.approx(rtt_s / interval_s)


def test_rasta_loses_in_proportion_to_rare_losses_tcp_to_their_root() -> None:
    none, one, two = (plugin.rasta_throughput_bps(0.1, loss=loss) for loss in (0.0, 1e-5, 2e-5))
    assert (none - two) / (none - one) == pytest.approx(2, rel=0.01)
    rates = [plugin.tcp_throughput_bps(0.1, loss) for loss in (0.04, 0.01)]
    assert rates[1] / rates[0] == pytest.approx(2)


def test_tcp_by_mathis_never_exceeds_its_window() -> None:
    window_bps = 8 * plugin.WINDOW_MESSAGES * plugin.MESSAGE_BYTES / 0.1
    assert plugin.tcp_throughput_bps(0.1) == window_bps
    assert plugin.tcp_throughput_bps(0.1, 1e-9) == window_bps


def test_trains_in_the_cell() -> None:
    """Figures 11 to 13: none or one; two with a train each 5 min, and much longer company."""
    usual, dense = scenario("hsr"), scenario("hsr", 300.0)
    assert most_others(usual) == most_others(scenario("regional")) == 1
    assert most_others(dense) == 2
    assert shared_part(dense) > 2 * shared_part(usual) > 0.3
    starts_s, count = others(usual)
    assert len(starts_s) == len(count) + 1
    assert starts_s[-1] == usual.duration_s


def test_rates_of_chapter_4() -> None:
    assert average_rate_bps() == pytest.approx(2.2e6, rel=0.03)
    assert handover_steps(scenario("hsr")) <= 1
