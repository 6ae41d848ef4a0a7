"""Drive tests become links: units, outages, gaps, what is missing, and what is wrong is named."""

from pathlib import Path

import numpy as np
import pytest

from gauntlet.errors import UserError
from gauntlet.scenario import Scenario, export_samples
from gauntlet.scenario.measured.drive_test import Columns, read
from gauntlet.scenario.measured.link import Assumed, Measured

USUAL = Columns(time="t", rate="dl_kbps", rtt="rtt_ms")
LOG = """t,dl_kbps,rtt_ms,loss_pct
0,8000,40,0
1,4000,60,1.5
2,0,,
3,0,0,0
4,2000,80,0
"""


def imported(folder: Path, text: str, columns: Columns = USUAL, **more: object) -> Measured:
    path = folder / "drive.csv"
    path.write_text(text)
    return read(path, columns, more.pop("assumed", Assumed()), **more)  # type: ignore[arg-type]


def test_a_log_is_a_link(tmp_path: Path) -> None:
    found = imported(tmp_path, LOG, Columns("t", "dl_kbps", rtt="rtt_ms", loss="loss_pct"))
    trace = found.trace
    assert trace.column("t_s").tolist() == [0, 1, 2, 3, 4]
    assert trace.end_s == 5
    # In the outage the rate before it stays, and all is lost.
    assert trace.column("rate_down_bps").tolist() == [8e6, 4e6, 4e6, 4e6, 2e6]
    assert trace.column("rate_up_bps").tolist() == [8e6, 4e6, 4e6, 4e6, 2e6]
    assert trace.column("delay_up_s").tolist() == pytest.approx([0.02, 0.03, 0.03, 0.03, 0.04])
    assert trace.column("loss_down").tolist() == pytest.approx([0, 0.015, 1, 1, 0])
    assert found.notes == (
        "5 samples over 5 s, one each 1 s.",
        "Outages: 1, 40 % of the time, the longest of 2 s at 2 s; "
        "the rate is 0 there, so every packet is lost.",
        "Gaps: none.",
        "One rate was measured: it is that of both directions.",
        "Half of each round trip is the delay of either way.",
        "2 rows have no round trip: the one before holds.",
        "The buffer in front of the link was not measured: 512 kB.",
    )


def test_each_direction_has_its_own_outages(tmp_path: Path) -> None:
    text = "t,down_Mbps,up_kbps\n0,8,500\n1,0,600\n2,4,0\n3,5,700\n"
    found = imported(
        tmp_path, text, Columns("t", "down_Mbps", rate_up="up_kbps"), assumed=Assumed(0.025, 64_000)
    )
    assert found.trace.column("loss_down").tolist() == [0, 1, 0, 0]
    assert found.trace.column("loss_up").tolist() == [0, 0, 1, 0]
    assert found.trace.column("rate_up_bps").tolist() == [5e5, 6e5, 6e5, 7e5]
    assert set(found.trace.column("delay_down_s")) == {0.025}
    assert set(found.trace.column("queue_limit_bytes")) == {64_000}
    assert [note.partition(":")[0] for note in found.notes[1:3]] == ["Outages up", "Outages down"]


GAPPED = "t,dl_kbps\n0,1000\n1,2000\n2,\n3,3000\n10,4000\n11,5000\n"


def test_gaps_are_said_and_the_sample_before_holds(tmp_path: Path) -> None:
    found = imported(tmp_path, GAPPED, Columns("t", "dl_kbps"), assumed=Assumed(0.01))
    assert found.trace.column("t_s").tolist() == [0, 1, 2, 3, 10, 11]
    assert found.trace.column("rate_down_bps").tolist() == [1e6, 2e6, 2e6, 3e6, 4e6, 5e6]
    assert found.trace.column("loss_down").max() == 0
    assert found.notes[2] == (
        "Gaps: 1, 50 % of the time, the longest of 6 s at 4 s; the sample before holds. "
        "1 row has no rate: the sample before holds."
    )


def test_gaps_are_outages_where_asked(tmp_path: Path) -> None:
    found = imported(tmp_path, GAPPED, Columns("t", "dl_kbps"), assumed=Assumed(0.01), gaps="outage")
    assert found.trace.column("t_s").tolist() == [0, 1, 2, 3, 4, 10, 11]
    assert found.trace.column("loss_down").tolist() == [0, 0, 1, 0, 1, 0, 0]
    none = imported(tmp_path, LOG, gaps="outage").trace
    assert none.table.equals(imported(tmp_path, LOG).trace.table)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        (
            "Time;Rate [Mbit/s];RTT (ms)\n0;1,5;50\n1;2,5;60\n",
            Columns("Time", "Rate [Mbit/s]", rtt="RTT (ms)"),
        ),
        ("t\trate\trtt\n0\t1500\t0.05\n1\t2500\t0.06\n", Columns("t", "rate:kbps", rtt="rtt:s")),
        (
            "# by the logger\nwhen,rate_mbps,rtt_ms\n"
            "2026-03-01 10:00:00.5,1.5,50\n2026-03-01T10:00:01.5,2.5,60\n",
            Columns("when", "rate_mbps", rtt="rtt_ms"),
        ),
        (
            "stamp_ms,r_bps,rtt_us\n5000,1500000,50000\n6000,2.5e6,60000\n",
            Columns("stamp_ms", "r_bps", rtt="rtt_us"),
        ),
    ],
)
def test_units_separators_and_clocks(tmp_path: Path, text: str, columns: Columns) -> None:
    trace = imported(tmp_path, text, columns).trace
    assert trace.column("t_s").tolist() == [0, 1]
    assert trace.column("rate_down_bps").tolist() == [1.5e6, 2.5e6]
    assert trace.column("delay_up_s").tolist() == pytest.approx([0.025, 0.03])


@pytest.mark.parametrize(
    ("text", "columns", "words"),
    [
        (
            LOG,
            Columns("t", "dl_kbit", rtt="rtt_ms"),
            ["--rate", "no column 'dl_kbit'", "did you mean 'dl_kbps'?"],
        ),
        (LOG, Columns("t", "rate", rtt="rtt_ms"), ["no column 'rate'"]),
        (LOG.replace("dl_kbps", "dl"), Columns("t", "dl", rtt="rtt_ms"), ["no unit", "'dl:kbit/s'"]),
        (LOG, Columns("t", "dl_kbps:ms", rtt="rtt_ms"), ["--rate", "'ms' is no unit"]),
        (
            LOG.replace("4000", "fast"),
            USUAL,
            ["drive.csv, line 3, column 'dl_kbps' is 'fast'", "not a number"],
        ),
        (LOG.replace("4000", "-1"), USUAL, ["line 3, column 'dl_kbps' is '-1': it must be 0"]),
        (LOG.replace("4000", "inf"), USUAL, ["line 3", "finite"]),
        (LOG.replace("\n3,", "\n1.5,"), USUAL, ["line 5, column 't' is '1.5'", "rise strictly"]),
        (LOG.replace("\n3,", "\n,"), USUAL, ["line 5, column 't' is empty", "every row needs a time"]),
        (LOG.replace("\n0,8", "\nnoon,8"), USUAL, ["line 2, column 't' is 'noon'", "ISO 8601"]),
        (LOG, Columns("t", "dl_kbps"), ["the delay is missing", "--rtt", "--delay"]),
        (LOG, Columns("t", "dl_kbps", rtt="rtt_ms", loss_up="loss_pct"), ["--loss-up needs --loss"]),
        (
            LOG.replace("1.5", "150"),
            Columns("t", "dl_kbps", rtt="rtt_ms", loss="loss_pct"),
            ["line 3, column 'loss_pct' is '150'", "at most 100 %"],
        ),
        ("t,dl_kbps,rtt_ms\n0,0,1\n1,0,1\n", USUAL, ["nothing ever got through"]),
        ("t,dl_kbps,rtt_ms\n0,,1\n1,,1\n", USUAL, ["'dl_kbps' has no values"]),
        ("t,dl_kbps,rtt_ms\n0,1,0\n1,1,\n", USUAL, ["no round trip above 0"]),
        ("t,dl_kbps,rtt_ms\n0,1,1\n", USUAL, ["no samples"]),
        ("t,dl_kbps,rtt_ms\n0,1,1\n1,1\n", USUAL, ["line 3 has 2 values", "3 columns"]),
        ("t,t,rtt_ms\n0,1,1\n1,1,1\n", USUAL, ["'t' stands twice"]),
        ('t,dl_kbps,rtt_ms\n0,1,"1\n1,1,1"\n', USUAL, ["in quotes", "several lines"]),
    ],
)
def test_what_is_wrong_is_named_in_one_sentence(
    tmp_path: Path, text: str, columns: Columns, words: list[str]
) -> None:
    with pytest.raises(UserError) as refused:
        imported(tmp_path, text, columns)
    for word in words:
        assert word in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_round_trip_and_a_delay_are_one_too_many(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--delay and --rtt"):
        imported(tmp_path, LOG, assumed=Assumed(0.01))


def test_samples_of_a_line_give_its_rates_back(hsr: Scenario, tmp_path: Path) -> None:
    line = hsr.trace.window(1500, 600)
    export_samples(line, tmp_path / "samples.csv", 1.0)
    columns = Columns("t_s", "rate_down_kbps", "rate_up_kbps", "rtt_ms", "loss_down_pct", "loss_up_pct")
    back = read(tmp_path / "samples.csv", columns, Assumed()).trace
    edges_s = np.arange(601.0)
    for column in ("rate_down_bps", "rate_up_bps"):
        assert back.means(column, edges_s) == pytest.approx(line.means(column, edges_s), rel=1e-4)
    whole_s = [trace.mean("delay_up_s") + trace.mean("delay_down_s") for trace in (line, back)]
    assert whole_s[1] == pytest.approx(whole_s[0], rel=1e-3)
