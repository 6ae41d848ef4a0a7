"""The study's numbers in three columns."""

import pytest

from gauntlet.space.columns import three_columns
from gauntlet.space.published import HANDSHAKES
from gauntlet.space.summary import Row

from .samples import blocks, handshake, memory, table

NO_MEMORY = table([memory()])


def columns(messages: list[Row], handshakes: list[Row], memories: list[Row] | None = None) -> dict[str, Row]:
    """Rows by their keys; the first handshakes of their processes take the client 700 us."""
    first = [handshake(order=order, mutual=False, ground_cpu_ns=700_000) for order in range(12)]
    memory_table = table(memories or [memory()])
    found = three_columns(table(messages), table(handshakes), table(first), memory_table)
    assert len({row["key"] for row in found}) == len(found)
    return {row["key"]: row for row in found}


def handshakes() -> list[Row]:
    """Of both ends a little more where ground shows a certificate, too."""
    return [
        handshake(block=block, mutual=mutual, order=block, ground_cpu_ns=300_000 + 100_000 * mutual)
        for block in range(12)
        for mutual in (False, True)
    ]


def test_the_three_are_published_cold_mean_and_warm_median() -> None:
    cold = blocks([[15_000, 25_000]] * 15, gap_ms=2000)
    warm = blocks([[600, 700, 800]] * 10)
    found = columns(cold + warm, handshakes())
    row = found["figure-4.1/apply/1024"]
    assert (row["published"], row["method"], row["method_n"], row["method_gap_ms"]) == (19.0, 20.0, 20, 2000)
    assert row["corrected"] == pytest.approx(0.7)
    assert row["stands_for"] == "sdls-gcm-aws-lc, aws-lc, aes-256-gcm: apply"


def test_half_a_second_is_as_good_as_two_where_there_is_no_more() -> None:
    row = columns(blocks([[15_000]] * 3, gap_ms=500), handshakes())["figure-4.1/apply/1024"]
    assert (row["method"], row["method_n"], row["method_gap_ms"], row["corrected"]) == (15, 3, 500, None)
    row = columns(blocks([[15_000]] * 3, gap_ms=10), handshakes())["figure-4.1/apply/1024"]
    assert (row["method"], row["method_n"], row["method_gap_ms"]) == (None, 0, None)


def test_handshakes_are_firsts_of_space_alone_by_the_method_and_mutual_where_corrected() -> None:
    found = columns(blocks([[1]]), handshakes())
    row = found["table-4.3/x25519/client"]
    assert (row["published"], row["method"], row["method_n"], row["corrected"]) == (463, 700, 10, 400)
    assert found["table-4.3/x25519/total"]["corrected"] == 900
    assert found["table-4.3/p-521/total"]["corrected"] is None


def test_the_total_of_p_256_stays_as_it_was_printed_and_its_sum_is_known() -> None:
    assert columns(blocks([[1]]), handshakes())["table-4.3/p-256/total"]["published"] == 1219
    assert next(row.total for row in HANDSHAKES if row.group == "p-256") == 1291
    assert all(row.total == row.printed_total for row in HANDSHAKES if row.group != "p-256")


def test_ratios_are_of_what_was_measured_alike() -> None:
    quic = {"security": "quic-stream"}
    rows = [
        *blocks([[20_000]] * 4, gap_ms=2000),
        *blocks([[40_000]] * 4, gap_ms=2000, **quic),
        *blocks([[4000]] * 4),
        *blocks([[1000]] * 4, **quic),
    ]
    found = columns(rows, handshakes())
    row = found["section-4.2/ratio/write"]
    assert (row["published"], row["method"], row["corrected"], row["unit"]) == (2.15, 2, 0.25, "ratio")
    assert row["corrected_low"] == row["corrected_high"] == 0.25
    assert found["section-4.2/ratio/read"]["corrected"] is None
    # Client's 700 us cold by 20 us; 400 us by 4 us.
    row = found["section-4.6/worth/client/SDLS"]
    assert (row["published"], row["method"], row["corrected"]) == (25, 35, 100)
    assert found["section-4.3/worth/client/QUIC"]["corrected"] == 400


def test_what_a_length_adds_is_a_difference_of_blocks() -> None:
    rows = [*blocks([[1000], [1200]]), *blocks([[400], [600]], payload_octets=128)]
    row = columns(rows, handshakes())["section-4.2/growth/apply"]
    assert (row["published"], row["corrected"], row["corrected_low"]) == (1.2, 0.6, 0.6)


def test_memory_is_a_peak_and_what_it_is_above_no_security() -> None:
    quic = memory(security="quic-stream", provider="ring", heap_peak=9000, rss_peak=5_000_000)
    counted = memory(
        security="quic-stream", provider="aws-lc", heap_peak=9000, heap_peak_with_c=12_000, rss_peak=5_000_000
    )
    found = columns(blocks([[1]]), handshakes(), [memory(), quic, counted])
    row = found["table-4.4/heap/QUIC with wolfSSL"]
    assert (row["published"], row["unit"], row["method"], row["corrected"]) == (344.8, "kB", 9, 5)
    assert found["table-4.4/heap/QUIC with OpenSSL"]["method"] == 12
    assert found["table-4.4/rss/QUIC with OpenSSL"]["corrected"] == 2000
    assert found["table-4.4/heap/no security"]["corrected"] is None
    assert found["table-4.4/heap/SDLS"]["method"] is None
