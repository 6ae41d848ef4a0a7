"""What failed stays in the report: the winner, the counts, the reasons, the marks, in every form of it."""

import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from gauntlet import report
from gauntlet.figures.look import INK
from gauntlet.report import terminal
from tests.report import factory, flows
from tests.report.flows import Constructed, Did, Flow
from tests.report.test_report import Page


def answers(results: Path) -> dict[str, str]:
    return {it["question"]: it["text"] for it in report.summary(results)["answer"]}


def cells(results: Path, **wanted: Any) -> list[dict[str, Any]]:
    return [cell for cell in report.summary(results)["cells"] if wanted.items() <= cell.items()]


def told(results: Path, width: int = 120) -> str:
    console = Console(width=width, record=True, file=(results / "log").open("w"))
    console.print(terminal.summary(results))
    return console.export_text()


def three_of_ten(protocol: str, place: int, repetition: int, loss: float) -> Did:
    """CUBIC is quick when it ends at all, in three of ten; BBR always ends, later."""
    if protocol == "tcp-bbr":
        return Did(30.0 + 0.1 * repetition)
    return Did(10.0 + 0.1 * repetition) if repetition <= 3 else Did(5.0 + repetition, whole=False)


@pytest.fixture(scope="module")
def constructed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The case of the review: CUBIC finishes 3 of 10 transfers, BBR all 10."""
    folder = tmp_path_factory.mktemp("constructed")
    made = Constructed(("tcp-cubic", "tcp-bbr"), three_of_ten)
    return flows.build(folder / "results", folder / "scratch", made)


def test_the_winner_is_the_one_that_finishes_and_the_counts_are_said(constructed: Path) -> None:
    text = answers(constructed)["Which protocol?"]
    assert text.startswith("TCP BBR is the safest choice: 10 of 10 flows completed; of TCP CUBIC 3 of 10.")
    assert "TCP CUBIC 3 of 10 completed, ≥ 73" in text
    assert "(n = 10). The other: " in text
    assert answers(constructed)["Does every flow do its work?"] == (
        "No: 7 of 20 flows failed. TCP CUBIC 7 of 10. The reasons stand under Trust."
    )


def test_the_mean_is_restricted_at_the_limit_and_over_all_ten(constructed: Path) -> None:
    cubic, bbr = (
        cells(constructed, kpi="download_time_s", protocol=key)[0] for key in ("tcp-cubic", "tcp-bbr")
    )
    assert cubic["mean"] == pytest.approx((10.1 + 10.2 + 10.3 + 7 * 100) / 10)
    assert (cubic["n"], cubic["completed"], cubic["flows"], cubic["limit"]) == (10, 3, 10, 100.0)
    assert (cubic["median"], cubic["worst"]) == (100.0, 100.0)
    assert (bbr["n"], bbr["completed"], bbr["limit"]) == (10, 10, None)
    assert (bbr["standing"], cubic["standing"]) == ("best", "worse")
    states = [cubic["values"][str(number)]["state"] for number in range(1, 11)]
    assert states == ["measured"] * 3 + ["censored"] * 7


def test_page_and_terminal_say_three_of_ten_and_why(constructed: Path) -> None:
    page = Page(report.build(constructed).read_text())
    assert "3 of 10" in page.words
    assert "7 of 20 flows failed." in page.text
    assert "7 × TCP CUBIC: no acknowledgement came for 60 s" in page.text.replace("\N{NO-BREAK SPACE}", " ")
    assert {"repetitions", "over-by"} <= set(page.ids)
    text = told(constructed)
    assert "3 of 10" in text
    assert re.search(r"7 of 20 flows failed", text)
    assert "7 x TCP CUBIC: no acknowledgement came for 60 s" in text


def test_every_repetition_is_a_dot_and_what_did_not_end_a_cross(constructed: Path, tmp_path: Path) -> None:
    report.build(constructed, tmp_path / "r.html", svg_dir=tmp_path / "svg")
    dark = (tmp_path / "r.html").read_text().partition("@media screen and (prefers-color-scheme: dark)")[2]
    assert f'[stroke="{INK}"]' in dark, "the median would be dark on dark"
    rows = [line.split(",") for line in (tmp_path / "svg" / "repetitions.csv").read_text().splitlines()]
    kinds = [row[rows[0].index("kind")] for row in rows[1:] if row[rows[0].index("protocol")] == "TCP CUBIC"]
    assert kinds.count("measured") == 3
    assert kinds.count("did not end (at its limit)") == 7
    assert {"mean", "median"} <= set(kinds)
    shares = (tmp_path / "svg" / "over-by.csv").read_text().splitlines()
    assert max(float(line.split(",")[3]) for line in shares if "CUBIC" in line) == pytest.approx(0.3)


def test_what_the_sender_dropped_stands_beside_the_losses(tmp_path: Path) -> None:
    def built(name: str, udp_drops: float) -> Path:
        few = factory.Campaign(
            protocols=("tcp-bbr", "udp"),
            delays_s=(0.025,),
            losses=(0.01,),
            duration_s=10.0,
            udp_drops=udp_drops,
        )
        return factory.build(tmp_path / name, tmp_path / f"{name}-records", few)

    dropping, sound = built("dropping", 0.005), built("sound", 0.0)
    assert cells(dropping, kpi="sender_drop_ratio", protocol="udp")[0]["mean"] == pytest.approx(
        0.005, rel=0.1
    )
    assert (
        "of that, dropped by the sender's own queue: UDP 0.48" in answers(dropping)["Does everything arrive?"]
    )
    assert "own queue" not in answers(sound)["Does everything arrive?"]


def test_where_only_what_is_not_ranked_came_through_the_others_are_named(tmp_path: Path) -> None:
    made = Constructed(
        ("tcp-cubic", "udp"),
        lambda protocol, *_: Did(20.0) if protocol == "udp" else Did(None, reason="it was reset"),
        repetitions=6,
        flows=(Flow("cbr"),),
    )
    results = flows.build(tmp_path / "r", tmp_path / "s", made)
    text = answers(results)["Which protocol?"]
    assert text.startswith("None: no flow of TCP CUBIC did what it was to do. Not ranked, since lost"), text
    assert "UDP" in text


def test_where_nothing_arrives_the_report_says_so_with_reasons(tmp_path: Path) -> None:
    """100 % loss: no flow was ever established."""
    made = Constructed(
        ("tcp-cubic", "tcp-bbr"),
        lambda *_: Did(None, reason="the connection timed out"),
        repetitions=6,
        flows=(Flow("cbr"),),
    )
    results = flows.build(tmp_path / "r", tmp_path / "s", made)
    text = answers(results)["Which protocol?"]
    assert text == "None: not one of 12 flows did what it was to do."
    cell = cells(results, kpi="throughput_bps", protocol="tcp-bbr")[0]
    assert (cell["mean"], cell["n"], cell["completed"], cell["flows"]) == (0.0, 6, 0, 6)
    assert cells(results, kpi="message_loss_ratio", protocol="tcp-bbr")[0]["mean"] == 1.0
    assert {it["standing"] for it in cells(results, kpi="throughput_bps")} == {None}, "nobody is best"
    for said in (Page(report.build(results).read_text()).text, told(results)):
        assert "12 of 12 flows failed" in said
        assert "the connection timed out" in said


def test_transfers_that_never_end_anywhere_have_a_download_time_of_none(tmp_path: Path) -> None:
    made = Constructed(("tcp-cubic", "tcp-bbr"), lambda *_: Did(5.0, whole=False), repetitions=3)
    results = flows.build(tmp_path / "r", tmp_path / "s", made)
    assert report.summary(results)["main_kpi"] == "download_time_s"
    cell = cells(results, kpi="download_time_s", protocol="tcp-bbr")[0]
    assert (cell["mean"], cell["limit"], cell["completed"]) == (100.0, 100.0, 0)
    assert "None" in answers(results)["Which protocol?"]
    for said in (Page(report.build(results).read_text()).text, told(results)):
        assert "100 to 100" not in said, "an interval without width is none"


def test_where_nothing_completes_nobody_is_marked_and_the_legend_claims_nothing(tmp_path: Path) -> None:
    made = Constructed(("tcp-cubic", "tcp-bbr"), lambda *_: Did(None), 6, flows=(Flow("cbr"),))
    results = flows.build(tmp_path / "r", tmp_path / "s", made)
    for said in (Page(report.build(results).read_text()).text, told(results)):
        assert not set("≈▼▲") & set(said.partition("How these sentences")[0])


def test_who_fails_more_but_has_the_better_mean_is_neither_level_nor_worse(tmp_path: Path) -> None:
    def did(protocol: str, place: int, repetition: int, loss: float) -> Did:
        quick = protocol == "tcp-cubic"
        if quick and repetition == 3:
            return Did(None)
        return Did(20.0, bytes_a_second=(90_000 if quick else 30_000) + 100 * repetition)

    made = Constructed(("tcp-cubic", "tcp-bbr"), did, 12, flows=(Flow("cbr"),))
    results = flows.build(tmp_path / "r", tmp_path / "s", made)
    standing = {cell["protocol"]: cell["standing"] for cell in cells(results, kpi="capacity_utilisation")}
    assert standing == {"tcp-bbr": "best", "tcp-cubic": "ahead"}
    assert "worst 0 (a better mean, but fewer flows completed)" in answers(results)["Which protocol?"]
    assert "▲" in Page(report.build(results).read_text()).words
    assert "▲ beats the best in this number" in told(results, 200)


def test_nobody_is_measured_against_who_gave_up(tmp_path: Path) -> None:
    """CUBIC gives up early and is quick with the little that it delivered: neither a bar nor its delay."""

    def did(protocol: str, place: int, repetition: int, loss: float) -> Did:
        if protocol == "tcp-cubic":
            return Did(5.0 + 0.1 * repetition, whole=False, bytes_a_second=1000, delay_s=0.1)
        return Did(20.0, bytes_a_second=1000, delay_s=(50 if protocol == "sctp" else 40) + 0.01 * repetition)

    work = (Flow("cbr", rate_bps=8000),)
    made = Constructed(("tcp-cubic", "tcp-bbr", "sctp"), did, 6, flows=work)
    text = answers(flows.build(tmp_path / "r", tmp_path / "s", made))["Which protocol?"]
    assert text.startswith(
        "TCP BBR is the safest choice: 6 of 6 flows completed, no more failed than of SCTP, and none that "
        "completed as many has a better mean."
    )
    assert re.search(r"SCTP 50000 ms .*\(up to 25\.0 % above the best mean\)", text), text
    assert "TCP CUBIC 0 of 6 completed, ≥ 100000 ms" in text, "what it did not bring took longer"


def test_what_loss_costs_includes_who_loses_everything(tmp_path: Path) -> None:
    def did(protocol: str, place: int, repetition: int, loss: float) -> Did:
        dead = protocol == "tcp-cubic" and loss > 0
        return Did(None) if dead else Did(20.0, bytes_a_second=100_000 + 1000 * repetition)

    made = Constructed(("tcp-cubic", "tcp-bbr"), did, 8, (0.0, 0.05), (Flow("cbr"),))
    results = flows.build(tmp_path / "r", tmp_path / "s", made)
    report.build(results, tmp_path / "r.html", svg_dir=tmp_path / "svg")
    lines = (tmp_path / "svg" / "capacity-utilisation-against-loss.csv").read_text().splitlines()
    ends = {tuple(line.split(",")[1:2] + line.split(",")[-2:]) for line in lines[1:]}
    assert ends == {("TCP CUBIC", "8 of 8", "1"), ("TCP CUBIC", "0 of 8", "0"), ("TCP BBR", "8 of 8", "1")}
    cost = answers(results)["What does loss cost?"]
    assert "TCP CUBIC loses 100.0 %" in cost
    assert "TCP BBR keeps 100.0 %" in cost
    assert answers(results)["Which protocol?"].startswith("TCP BBR is the safest choice: 16 of 16")
    assert "TCP CUBIC 8 of 16" in answers(results)["Which protocol?"]


def test_what_loss_costs_in_delay_is_not_asked_of_the_survivors(tmp_path: Path) -> None:
    """CUBIC dies in six of eight repetitions at 5 %, and the two others are quick."""

    def did(protocol: str, place: int, repetition: int, loss: float) -> Did:
        if protocol == "tcp-cubic" and loss and repetition > 2:
            return Did(None)
        return Did(20.0, delay_s=0.1 + loss + 0.001 * repetition)

    flow = (Flow("cbr", rate_bps=1000),)
    for protocols in (("tcp-cubic",), ("tcp-cubic", "tcp-bbr")):
        folder = tmp_path / str(len(protocols))
        results = flows.build(folder / "r", folder / "s", Constructed(protocols, did, 8, (0.0, 0.05), flow))
        cost = answers(results)["What does loss cost?"]
        assert "of TCP CUBIC there is no ratio, since in some repetitions nothing arrived" in cost
        assert ("TCP BBR takes 1.4" in cost) == (len(protocols) == 2)


def test_a_dead_flow_has_no_delay_and_ranks_behind_those_that_have(tmp_path: Path) -> None:
    def did(protocol: str, place: int, repetition: int, loss: float) -> Did:
        alive = protocol == "tcp-bbr" or repetition <= 4
        return Did(20.0, delay_s=0.5 if protocol == "tcp-bbr" else 0.001 * repetition) if alive else Did(None)

    made = Constructed(("tcp-cubic", "tcp-bbr"), did, 10, flows=(Flow("cbr", rate_bps=1000),))
    results = flows.build(tmp_path / "r", tmp_path / "s", made)
    cubic, bbr = (cells(results, kpi="delay_p95_s", protocol=it)[0] for it in ("tcp-cubic", "tcp-bbr"))
    assert bbr["standing"] == "best"
    assert (cubic["n"], cubic["worst"]) == (10, None)
    text = answers(results)["Which protocol?"]
    assert text.startswith("TCP BBR is the safest choice: 10 of 10 flows completed; of TCP CUBIC 4 of 10.")
    assert "(of the repetitions in which anything arrived)" in text
    page = Page(report.build(results).read_text())
    assert "6 without a value" in page.text


def test_n_is_the_same_in_table_and_json_and_sentence(constructed: Path) -> None:
    text = report.build(constructed).read_text()
    assert "n = 10 in every cell" in text.replace("\N{NO-BREAK SPACE}", " ")
    assert {cell["n"] for cell in report.summary(constructed)["cells"]} == {10}
    assert "(n = 10)" in answers(constructed)["Which protocol?"]


def test_median_and_worst_stand_beside_a_mean_over_two_humps(tmp_path: Path) -> None:
    """Four runs of about 2 s and one outage of 60 s: the mean lies where no run does."""

    def did(protocol: str, place: int, repetition: int, loss: float) -> Did:
        return Did(60.0 if repetition == 5 else 2.1 + 0.01 * repetition)

    results = flows.build(tmp_path / "r", tmp_path / "s", Constructed(("tcp-cubic", "tcp-bbr"), did, 5))
    assert "median 2.13, worst 60.0" in answers(results)["Which protocol?"]

    def other(protocol: str, place: int, repetition: int, loss: float) -> Did:
        return did(protocol, place, repetition, loss) if protocol == "tcp-bbr" else Did(2.0)

    second = flows.build(tmp_path / "r2", tmp_path / "s2", Constructed(("tcp-cubic", "tcp-bbr"), other, 5))
    lead, _, others = answers(second)["Which protocol?"].partition("The other:")
    assert lead.startswith("TCP CUBIC")
    assert "median 2.13, worst 60.0" in others
    assert "median 2.13, worst 60.0" in Page(report.build(results).read_text()).text


def test_with_few_repetitions_nothing_is_called_worse_and_that_is_said(tmp_path: Path) -> None:
    def did(protocol: str, place: int, repetition: int, loss: float) -> Did:
        return Did((20.0 if protocol == "tcp-bbr" else 90.0) + 0.1 * repetition)

    results = flows.build(tmp_path / "r", tmp_path / "s", Constructed(("tcp-cubic", "tcp-bbr"), did, 5))
    assert {cell["standing"] for cell in cells(results, kpi="download_time_s")} == {"best", None}
    text = answers(results)["Which protocol?"]
    few = "5 repetitions tell nothing from chance: that takes 6."
    assert text.startswith(f"TCP BBR has the best mean, but {few} ")
    assert f"{few} Nothing is called worse or equal" in told(results)


def test_sentence_and_table_agree_on_who_is_best(tmp_path: Path) -> None:
    def did(protocol: str, place: int, repetition: int, loss: float) -> Did:
        return Did(20.0 + (7 * repetition % 10) / (2 if protocol == "tcp-bbr" else 3))

    results = flows.build(tmp_path / "r", tmp_path / "s", Constructed(("tcp-cubic", "tcp-bbr"), did, 10))

    def alike(protocol: str, place: int, repetition: int, loss: float) -> Did:
        return Did(20.0 + (repetition * (7 if protocol == "tcp-bbr" else 3)) % 10)

    level = flows.build(tmp_path / "r2", tmp_path / "s2", Constructed(("tcp-cubic", "tcp-bbr"), alike, 10))
    standing = {cell["protocol"]: cell["standing"] for cell in cells(results, kpi="download_time_s")}
    assert standing == {"tcp-cubic": "best", "tcp-bbr": "worse"}
    assert answers(results)["Which protocol?"].startswith("TCP CUBIC is best: transfer time ")
    assert {cell["standing"] for cell in cells(level, kpi="download_time_s")} == {"best", "level"}
    assert "cannot be told from" in answers(level)["Which protocol?"]


def test_repetitions_that_are_all_the_same_are_one(tmp_path: Path) -> None:
    def did(protocol: str, place: int, repetition: int, loss: float) -> Did:
        return Did(20.0 if protocol == "tcp-bbr" else 21.0)

    results = flows.build(tmp_path / "r", tmp_path / "s", Constructed(("tcp-cubic", "tcp-bbr"), did, 3))
    cubic, bbr = (cells(results, kpi="download_time_s", protocol=it)[0] for it in ("tcp-cubic", "tcp-bbr"))
    assert (bbr["n"], bbr["low"], bbr["deterministic"], bbr["standing"]) == (1, None, True, "best")
    assert cubic["standing"] == "worse"
    assert "Deterministic: nothing was drawn" in answers(results)["Which protocol?"]
    assert "Deterministic everywhere: nothing was drawn" in told(results)
    assert "Nothing is called worse" not in told(results), "one of them is"
    assert "deterministic" in Page(report.build(results).read_text()).words


def test_flows_with_different_work_are_judged_apart_by_name(tmp_path: Path) -> None:
    def did(protocol: str, place: int, repetition: int, loss: float) -> Did:
        quick = protocol == "tcp-bbr"
        if place == 0:
            return Did(20.0, bytes_a_second=1000, delay_s=(0.1 if quick else 0.4) + 0.001 * repetition)
        return Did((60.0 if quick else 30.0) + 0.1 * repetition)

    made = Constructed(
        ("tcp-cubic", "tcp-bbr"),
        did,
        8,
        flows=(Flow("cbr", name="etcs", rate_bps=8000), Flow("bulk", direction="down")),
    )
    results = flows.build(tmp_path / "r", tmp_path / "s", made)
    said = answers(results)
    assert said["Which protocol? (bulk down)"].startswith("TCP CUBIC is best")
    assert "One-way delay, 95th percentile" in said["Which protocol? (etcs)"]
    assert said["Which protocol? (etcs)"].startswith("TCP BBR is best")
    assert {cell["subject"] for cell in report.summary(results)["cells"]} == {"etcs", "bulk down"}
    for cell in cells(results, subject="bulk down", kpi="throughput_bps"):
        assert cell["mean"] == pytest.approx(8e5, rel=0.05), "no mean over both kinds of flows"
    page = Page(report.build(results).read_text())
    assert any(it.startswith("bulk down: Download time in") for it in page.words)
    looks = {style.key: style.colour for style in report.load(results).styles}
    assert looks["etcs: tcp-bbr"] == looks["bulk down: tcp-bbr"] != looks["etcs: tcp-cubic"]
    assert "2 protocols" in page.text.replace("\N{NO-BREAK SPACE}", " ")
    assert {"repetitions-etcs", "repetitions-bulk-down", "kpi-etcs-download_time_s"} & set(page.ids) == {
        "repetitions-etcs",
        "repetitions-bulk-down",
    }
    assert "etcs: One-way delay, 95th percentile in ms" in told(results)


def test_flows_with_the_same_work_stay_one_subject(tmp_path: Path) -> None:
    made = Constructed(("tcp-cubic",), lambda *_: Did(20.0), 2, flows=(Flow("cbr"), Flow("cbr")))
    results = flows.build(tmp_path / "r", tmp_path / "s", made)
    assert {cell["subject"] for cell in report.summary(results)["cells"]} == {""}


def test_the_delay_of_greedy_flows_is_not_ranked_and_why_is_said(tmp_path: Path) -> None:
    def did(protocol: str, place: int, repetition: int, loss: float) -> Did:
        return Did(20.0, delay_s=0.1 * repetition, bytes_a_second=100_000 + repetition)

    made = Constructed(("tcp-cubic", "tcp-bbr"), did, 3, flows=(Flow("cbr"),))
    results = flows.build(tmp_path / "r", tmp_path / "s", made)
    text = answers(results)["Which is quickest?"]
    assert text.startswith("Not judged for TCP CUBIC and TCP BBR: they send all they can")
    assert "lowest" not in text


def test_nobody_is_quickest_where_all_are_alike(tmp_path: Path) -> None:
    def did(_protocol: str, _place: int, repetition: int, _loss: float) -> Did:
        return Did(20.0, delay_s=0.5 + 0.001 * repetition)

    made = Constructed(("tcp-cubic", "tcp-bbr"), did, 6, flows=(Flow("voip"),))
    text = answers(flows.build(tmp_path / "r", tmp_path / "s", made))["Which is quickest?"]
    assert " 503 ms [501 to 506] for TCP CUBIC and TCP BBR alike (n = 6)." in text
    assert "lowest" not in text


def test_who_brought_only_a_part_is_not_the_quickest(tmp_path: Path) -> None:
    """CUBIC is ended after two quick messages, UDP repeats nothing: what arrived makes neither quicker."""

    def did(protocol: str, place: int, repetition: int, loss: float) -> Did:
        if protocol == "tcp-cubic" and repetition == 2:
            return Did(2.0, whole=False, delay_s=0.001)
        return Did(
            20.0,
            delay_s={"udp": 0.01, "tcp-cubic": 0.02, "tcp-bbr": 0.5}.get(protocol, 0.6) + 0.001 * repetition,
        )

    made = Constructed(("tcp-cubic", "tcp-bbr", "sctp", "udp"), did, 6, flows=(Flow("web"),))
    results = flows.build(tmp_path / "r", tmp_path / "s", made)
    cell = cells(results, kpi="delay_p95_s", protocol="tcp-cubic")[0]
    assert (cell["completed"], cell["limit"], cell["worst"]) == (5, 100.0, 100.0)
    text = answers(results)["Which is quickest?"]
    assert "lowest for TCP BBR with 503 ms" in text
    assert "highest for SCTP with 603 ms" in text
    assert "the delay of what arrived, and the rest was lost: UDP 13.5 ms" in text
    assert "TCP CUBIC: flows failed, and what they did not bring is in no delay" in text
