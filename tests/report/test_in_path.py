"""What the report says of in-path nodes: what left them, and what the hosts' kernels made of it."""

import html
import json
import re
from pathlib import Path

import pytest

from gauntlet import report
from gauntlet.metrics.tables import finalize
from gauntlet.report.in_path import COLUMNS, RECEIVED, doings, received
from gauntlet.results import layout
from tests.report import factory

LINK = "mallory>server"
TWO = factory.Campaign(("tcp-cubic", "udp"), (0.025,), (0.0,), 2, 5.0)
KERNELS = {
    "tcp-cubic": {"TcpInSegs": 900, "TcpInCsumErrors": 7, "TcpExtTCPChallengeACK": 3, "TcpOutSegs": 500},
    "udp": {"UdpInDatagrams": 400, "Udp6InDatagrams": 5, "UdpInCsumErrors": 2, "UdpNoPorts": 4},
}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A campaign with a node beside the server, whose kernel counted as said in each run."""
    made = factory.build(tmp_path / "r", tmp_path / "s", TWO)
    for run, place in layout.run_folders(made):
        protocol = next(it for it in KERNELS if run.startswith(it))
        record = json.loads((place / layout.RECORD).read_text())
        # A host with nothing but zeros has no counters.
        record["kernel"] = [{"node": "server", "counters": KERNELS[protocol]}, {"node": "sa", "counters": {}}]
        (place / layout.RECORD).write_text(json.dumps(record))
        certificate = factory.certificate(run, trusted=True)
        (check,) = certificate["checks"]
        measured = {"seen_packets": 500, "inserted_packets": 20, "wrong_checksum_packets": 1}
        certificate["checks"].append({**check, "name": "emitted", "link": LINK, "measured": measured})
        (place / layout.CERTIFICATE).write_text(json.dumps(certificate))
    finalize(made)
    return made


def test_what_kernels_counted_is_summed_over_the_runs_of_a_protocol(results: Path) -> None:
    found = {(it.protocol, it.node): it for it in received(report.load(results))}
    assert len(found) == 4
    named = {key: dict(zip(RECEIVED, it.counts, strict=True)) for key, it in found.items()}
    labels = {it.key: it.label for it in report.load(results).styles}
    tcp, udp = (named[labels[key], "server"] for key in KERNELS)
    nothing = dict.fromkeys(RECEIVED, 0)
    assert tcp == {**nothing, "TCP segments": 1800, "wrong checksum": 14, "asked back": 6}
    # By IPv4 and IPv6 together.
    assert udp == {**nothing, "datagrams taken": 810, "wrong checksum": 4, "for no socket": 8}
    assert named[labels["udp"], "sa"] == nothing
    assert {it.runs for it in found.values()} == {2}


def test_what_left_a_node_stands_beside_it(results: Path) -> None:
    rows = doings(report.load(results))
    assert len(rows) == 2
    for row in rows:
        assert (row.link, row.runs) == (LINK, 2)
        counts = dict(zip(COLUMNS, row.counts, strict=True))
        assert (counts["seen"], counts["inserted"], counts["wrong_checksum"]) == (1000, 40, 2)


def test_the_page_has_both_tables(results: Path) -> None:
    page = html.unescape(report.build(results).read_text(encoding="utf-8"))
    assert "What the hosts' kernels made of it" in page
    for column in RECEIVED:
        assert f'<th class="num">{column}</th>' in page
    row = re.search(r"<code>server</code></td>(.*?)</tr>", page)
    assert row is not None
    assert re.findall(r'<td class="num">(\d+)</td>', row[1]) == ["2", "1800", "14", "6", "0", "0", "0", "0"]


def test_without_a_node_there_is_neither(tmp_path: Path) -> None:
    plain = report.load(factory.build(tmp_path / "r", tmp_path / "s", TWO))
    assert (doings(plain), received(plain)) == ([], [])
