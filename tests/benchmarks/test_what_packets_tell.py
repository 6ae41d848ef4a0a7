"""What the look at kept visits says of visits that are known."""

import json
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import what_packets_tell as look
from gauntlet.traffic.sequences import Sequences

SESSIONS = 8


def visits(*, bulk: int, larger: int = 0, told: bool = True) -> Sequences:
    """Two sites in each session: windows of bulk that both have, and one at the end, which tells or does not.
    Site 1 sends so many windows of bulk more.
    """
    names = [(site, session, 0) for session in range(SESSIONS) for site in (0, 1)]
    packets = []
    for site, session, _ in names:
        last = 200 + site if told else 200
        sizes = np.array([-1500] * 10 * (bulk + larger * site) + [last] * 10)
        packets.append((np.arange(len(sizes)) * 1000 + session, sizes, np.zeros(len(sizes), np.int64)))
    return Sequences.of(names, packets)


def test_windows_that_another_site_has_are_told_from_those_that_name_theirs() -> None:
    told = look.windows(visits(bulk=3))
    assert told["windows that another site has, too"] == pytest.approx(75.0)
    assert told["windows of full packets and acknowledgements"] == pytest.approx(75.0)
    assert told["windows named by who knows those of other sessions by heart"] == pytest.approx(62.5)
    assert told["windows named by who says the most frequent site"] == pytest.approx(50.0)
    assert told["windows that come once"] == 0.0


def test_windows_that_come_once_are_named_as_the_most_frequent_site() -> None:
    sizes = [np.arange(10 * number, 10 * number + 10) + 200 for number in range(2 * SESSIONS)]
    names = [(number % 2, number // 2, 0) for number in range(2 * SESSIONS)]
    nothing = np.zeros(10, np.int64)
    told = look.windows(Sequences.of(names, [(nothing, it, nothing) for it in sizes]))
    assert told["windows that come once"] == 100.0
    assert told["windows named by who knows those of other sessions by heart"] == 50.0


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


def test_amounts_are_those_of_a_way() -> None:
    some = visits(bulk=1)
    assert look.each_way(some)[:2].tolist() == [[10, 10], [10, 10]]
    assert look.bytes_in(some)[:2].tolist() == [[15000], [15000]]


def test_each_line_is_of_the_visits_that_it_names() -> None:
    """Over HTTP/3 site 0 weighs what site 1 weighs over HTTP/2, and padded nothing tells but numbers."""
    h2, padded = visits(bulk=2, larger=2), visits(bulk=2, larger=1, told=False)
    h3 = visits(bulk=4, larger=4, told=False)
    told = dict(look.looks(h2, h3, padded))
    assert told["HTTP/2, windows that another site has, too"] == pytest.approx(75.0)
    assert told["HTTP/3, windows that another site has, too"] == 100.0
    assert told["learnt HTTP/2, tried HTTP/3, forest by bytes that come in"] == 50.0
    assert told["padded, forest by packets each way"] == 100.0


def test_it_prints_and_keeps_each_look_and_says_where_nothing_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "kept.json"
    monkeypatch.setattr(sys, "argv", ["what_packets_tell.py", str(tmp_path), "--json", str(kept)])
    with pytest.raises(SystemExit):
        look.main()
    assert "has no monitored-h2-1.parquet" in capsys.readouterr().err
    for version in ("h2", "h3", "h3-padded"):
        pq.write_table(visits(bulk=2).to_table(), tmp_path / f"monitored-{version}-1.parquet")
    look.main()
    lines = capsys.readouterr().out.splitlines()
    means = json.loads(kept.read_text())
    assert [line.split("  ")[0] for line in lines] == list(means)
    assert means["HTTP/2, nearest by counts of sizes, all packets"] == 100.0
