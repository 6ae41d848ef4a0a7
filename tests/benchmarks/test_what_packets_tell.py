"""What the look at kept visits says of visits that are known."""

import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import what_packets_tell as look
from gauntlet.traffic.sequences import Sequences

SESSIONS = 8


def visits(*, bulk: int) -> Sequences:
    """Two sites in each session: windows of bulk that both have, and one window at the end that tells."""
    names = [(site, session, 0) for session in range(SESSIONS) for site in (0, 1)]
    packets = []
    for site, session, _ in names:
        sizes = np.array([-1500] * 10 * bulk + [100 + site] * 10)
        packets.append((np.arange(len(sizes)) * 1000 + session, sizes, np.zeros(len(sizes), np.int64)))
    return Sequences.of(names, packets)


def test_windows_that_another_site_has_are_told_from_those_that_name_theirs() -> None:
    told = look.windows(visits(bulk=3))
    assert told["windows that another site has, too"] == pytest.approx(75.0)
    assert told["named by who knows each by heart"] == pytest.approx(100 * (0.25 + 0.75 / 2))
    assert told["named by who says the most frequent site"] == pytest.approx(50.0)


def test_counts_of_sizes_do_not_see_the_order() -> None:
    known = visits(bulk=1)
    turned = Sequences.of(
        list(zip(known.site, known.session, known.visit, strict=True)),
        [
            (known.time_ns[a:b], known.signed_bytes[a:b][::-1], known.kind[a:b])
            for a, b in zip(known.starts[:-1], known.starts[1:], strict=True)
        ],
    )
    assert (look.sizes(known) == look.sizes(turned)).all()
    assert look.right(look.nearest, look.sizes(known), look.sizes(turned), turned) == 100.0


def test_totals_are_packets_and_bytes_each_way() -> None:
    assert look.totals(visits(bulk=1))[:2].tolist() == [[10, 1000, 10, 15000], [10, 1010, 10, 15000]]


def test_it_prints_a_line_for_each_look_and_says_where_nothing_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["what_packets_tell.py", str(tmp_path)])
    with pytest.raises(SystemExit):
        look.main()
    assert "has no monitored-h2-1.parquet" in capsys.readouterr().err
    for version in ("h2", "h3", "h3-padded"):
        pq.write_table(visits(bulk=2).to_table(), tmp_path / f"monitored-{version}-1.parquet")
    look.main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 13
    assert any(line.startswith("HTTP/2, nearest by counts of sizes") and "100.0 %" in line for line in lines)
