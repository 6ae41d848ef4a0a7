"""A report opens with what was asked of its flows, in every form of it, and failures are late."""

import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from gauntlet import report
from gauntlet.report import terminal
from gauntlet.report.answer import asked, sentences
from gauntlet.report.tails import tables
from tests.report import factory, flows
from tests.report.factory import Campaign
from tests.report.flows import Constructed, Did, Done, Flow
from tests.report.test_report import Page

DEADLINE: Mapping[str, Any] = {"kpi": "delay_s", "quantile": 0.99, "at_most": 1.0}
ETCS = Flow("cbr", name="etcs", rate_bps=8000, judge=DEADLINE)
UPLOAD = Flow("bulk", background=True)
TWO = (0.0, 0.01)


def build(folder: Path, done: Done, **more: Any) -> Path:
    """A campaign of ETCS beside an upload."""
    given: dict[str, Any] = {"protocols": ("tcp-cubic", "sctp"), "flows": (ETCS, UPLOAD), "losses": TWO}
    made = Constructed(done=done, **{**given, **more})
    return flows.build(folder / "r", folder / "s", made)


def late_at_loss(protocol: str, place: int, repetition: int, loss: float) -> Did:
    """Of ETCS each message takes 0.2 s, over SCTP 2 s where packets are lost; repetitions differ by 2 ms."""
    delay_s = 2.0 if protocol == "sctp" and loss else 0.2
    return Did(20.0, delay_s=delay_s + 0.002 * repetition if place == 0 else 5.0)


def told(results: Path, width: int = 160) -> str:
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(terminal.summary(results))
    return console.export_text()


def answers(results: Path) -> list[tuple[str, str]]:
    return [(it.question, it.text) for it in asked(report.load(results))]


def test_the_report_opens_with_the_answer_to_what_was_asked(tmp_path: Path) -> None:
    results = build(tmp_path, late_at_loss, about='question = "Does ETCS keep its deadline?"\n')
    first, cubic, sctp = answers(results)
    assert first == (
        "etcs: 99 % of the messages within 1 s?",
        "TCP CUBIC keeps it under both conditions; SCTP at loss 0 % only.",
    )
    assert cubic[0] == "TCP CUBIC"
    assert re.match(
        r"p99 0\.211 s \[0\.20\d to 0\.21\d\]; the deadline of 1 s is kept under both", cubic[1]
    ), cubic
    assert cubic[1].endswith("; the deadline of 1 s is kept under both conditions; 20 of 20 finished.")
    assert re.match(r"p99 0\.211 s \[.*\] at loss 0 % to 2\.01 s.* at loss 1 %; ", sctp[1]), sctp
    assert sctp[1].endswith("; the deadline of 1 s is kept at loss 0 %, not at loss 1 %; 20 of 20 finished.")
    printed, page = told(results), Page(report.build(results).read_text())
    assert printed.startswith("Does ETCS keep its deadline?")
    assert printed.index("99 % of the messages") < printed.index("What should I use?")
    assert page.text.index("What was asked") < page.text.index("What should I use?")
    assert page.ids.index("opening") < page.ids.index("use")
    for said in (" ".join(printed.split()), page.text.replace("\N{NO-BREAK SPACE}", " ")):
        assert "the deadline of 1 s is kept at loss 0 %, not at loss 1 %; 20 of 20 finished." in said
    data = report.summary(results)
    assert data["answer"][0]["question"] == first[0]
    assert data["asked"] == [
        {
            "subject": "etcs",
            "question": "99 % of the messages within 1 s?",
            "kpi": "delay_s",
            "quantile": 0.99,
            "at_most": 1.0,
            "at_least": None,
        }
    ]


def test_the_slowest_messages_stand_in_terminal_page_and_json(tmp_path: Path) -> None:
    results = build(tmp_path, late_at_loss)
    rows = [row for row in report.summary(results)["tails"] if row["subject"] == "etcs"]
    (row,) = [it for it in rows if it["protocol"] == "sctp" and it["condition"] == {"loss": 0.01}]
    for name in ("p95_s", "p99_s", "p99_9_s", "value"):
        assert row[name]["mean"] == pytest.approx(2.011)
        assert row[name]["n"] == 10
    assert row["max_s"] == pytest.approx(2.02)
    assert (row["kept"], row["judged"], row["verdict"]) == (0, 10, "not")
    assert (row["completed"], row["flows"], row["without_value"]) == (10, 10, 0)
    heads = ("Kept by", "p95 (s)", "p99 (s)", "p99.9 (s)", "worst (s)", "Finished")
    for said in (told(results), Page(report.build(results).read_text()).text):
        assert [head for head in heads if head not in said] == []
        assert "0 of 10" in said


@pytest.mark.parametrize("width", [160, 80, 40])
def test_no_number_is_cut_in_the_terminal(tmp_path: Path, width: int) -> None:
    printed = told(build(tmp_path, late_at_loss), width)
    assert "…" not in printed
    assert printed.count("2.01") >= 2


def test_nothing_is_answered_about_the_background(tmp_path: Path) -> None:
    results = build(tmp_path, late_at_loss)
    found = report.load(results)
    etcs, upload = found.parts
    assert (etcs.background, upload.background) == (False, True)
    assert upload.ranked == []
    assert not [it for it in sentences(found) if "bulk" in it.question]
    advice = report.summary(results)["advice"]
    assert not [it for it in (*advice["not_advised"], str(advice["classes"])) if "bulk" in it]
    assert "bulk up (background): Transfer time" in told(results)
    standing = {it["standing"] for it in report.summary(results)["cells"] if it["subject"] == "bulk up"}
    assert standing == {None}


def test_a_flow_that_failed_has_not_kept_its_deadline(tmp_path: Path) -> None:
    """It brought a few quick messages; of ten flows three failed."""

    def done(protocol: str, place: int, repetition: int, loss: float) -> Did:
        cut = place == 0 and protocol == "sctp" and repetition <= 3
        return Did(5.0 if cut else 20.0, whole=not cut, delay_s=0.2)

    first, cubic, sctp = answers(build(tmp_path, done, losses=(0.0,)))
    assert first[1] == "TCP CUBIC keeps it; SCTP in some repetitions only."
    assert cubic[1] == "p99 0.200 s (deterministic); the deadline of 1 s is kept; 10 of 10 finished."
    assert sctp[1] == (
        "p99 none, since flows failed in 3 of 10 repetitions; the deadline of 1 s is kept in 7 of 10 flows; "
        "7 of 10 finished."
    )


def test_lost_messages_are_late_ones(tmp_path: Path) -> None:
    """UDP loses one of 201, then two of 22: of these no 99 % came, but 90 % did."""

    def done(protocol: str, place: int, repetition: int, loss: float) -> Did:
        return Did(20.0, delay_s=0.2, lost_messages=2 if loss else 0)

    lossy = build(tmp_path, done, protocols=("udp",), flows=(ETCS,))
    ((_, udp),) = answers(lossy)
    assert udp == (
        "In part. UDP: p99 0.200 s (deterministic) at loss 0 %, none under 1 of 2 conditions, since more "
        "than 1 % of the messages never came in 10 of 10 repetitions; the deadline of 1 s is kept at loss 0 "
        "%, not at loss 1 %; 20 of 20 finished."
    )
    nine = Flow("cbr", rate_bps=8000, judge={**DEADLINE, "quantile": 0.9})
    ((_, kept),) = answers(build(tmp_path / "nine", done, protocols=("udp",), flows=(nine,)))
    assert kept == (
        "Yes. UDP: p90 0.200 s (deterministic); the deadline of 1 s is kept under both conditions; 20 of 20 "
        "finished."
    )
    row = report.summary(lossy)["tails"][1]
    assert (row["p95_s"], row["max_s"], row["without_value"]) == (None, None, 10)


def test_a_page_has_one_percentile(tmp_path: Path) -> None:
    """Four of 25 messages never come in one repetition: of that no 95 % of what was due came, so there is no
    mean. Where nothing is asked it is said that it is what arrived.
    """

    def done(protocol: str, place: int, repetition: int, loss: float) -> Did:
        return Did(20.0, delay_s=0.2, lost_messages=4 if loss and repetition == 3 else 0)

    nine = Flow("cbr", rate_bps=8000, judge={**DEADLINE, "quantile": 0.95})
    asked_, free = (
        build(tmp_path / name, done, protocols=("udp",), flows=(flow,))
        for name, flow in (("asked", nine), ("free", Flow("cbr", rate_bps=8000)))
    )
    found = report.summary(asked_)
    rows = [it for it in found["cells"] if it["kpi"] == "delay_p95_s"]
    cells = {it["condition"]["loss"]: it["mean"] for it in rows}
    tails = {it["condition"]["loss"]: it["p95_s"] for it in found["tails"]}
    assert cells[0.0] == tails[0.0]["mean"] == pytest.approx(0.2)
    assert cells[0.01] is tails[0.01] is None, "nor a mean of the other repetitions"
    all_came, some_lost = (str(it) for it in found["advice"]["classes"][0]["cells"])
    assert ("p99" in all_came, "p99" in some_lost) == (True, False)
    assert "of what arrived" not in str([it.label for it in report.load(asked_).kpis])
    assert "One-way delay of what arrived, 95th percentile" in [it.label for it in report.load(free).kpis]


def test_of_none_it_is_said_that_none_keeps_it(tmp_path: Path) -> None:
    results = build(tmp_path, lambda *_: Did(20.0, delay_s=3.0), losses=(0.0,))
    first, cubic, _ = answers(results)
    assert first[1] == "No: none keeps it; TCP CUBIC comes nearest: p99 3.00 s (deterministic)."
    assert "the deadline of 1 s is not kept;" in cubic[1]


def test_a_rate_can_be_asked_too(tmp_path: Path) -> None:
    """800 kbit/s each second, of which 1 Mbit/s is the line."""
    rate = Flow("cbr", judge={"kpi": "throughput_bps", "at_least": 5e5})

    def done(protocol: str, place: int, repetition: int, loss: float) -> Did:
        return Did(20.0, bytes_a_second=100_000 if protocol == "sctp" else 50_000 + repetition)

    results = build(tmp_path, done, flows=(rate,), losses=(0.0,))
    first, sctp, cubic = answers(results)
    assert first == ("Throughput at least 500 kbit/s?", "SCTP keeps it; TCP CUBIC not at all.")
    assert sctp[1].startswith("throughput 0.800 Mbit/s (deterministic); the limit of at least 500 kbit/s is")
    assert "the limit of at least 500 kbit/s is not kept" in cubic[1]
    assert report.summary(results)["main_kpi"] == "throughput_bps"


def test_periodic_messages_are_asked_by_their_own_delay(tmp_path: Path) -> None:
    """Five one-way delays with set-up, one without: 25 ms each way."""
    campaign = Campaign(
        protocols=("tcp-cubic",), delays_s=(0.025,), losses=(0.0,), duration_s=30, periodic=True
    )
    results = factory.build(tmp_path / "r", tmp_path / "s", campaign)
    row = report.summary(results)["tails"][0]
    assert row["p99_9_s"]["mean"] == pytest.approx(0.125)
    assert "kept" not in row, "nothing was asked"
    table = report.load(results).results.table("flows")
    assert table.column("message_delay_p99_s").to_pylist() == pytest.approx([0.025] * 3)
    assert table.column("message_failure_ratio").to_pylist() == [0.0] * 3


def test_flows_that_fill_their_own_buffer_have_no_slowest_messages(tmp_path: Path) -> None:
    results = build(tmp_path, lambda *_: Did(20.0), flows=(Flow("cbr"),))
    assert report.summary(results)["tails"] == []


def test_an_experiment_may_be_answered_by_another_kpi(tmp_path: Path) -> None:
    plain = build(tmp_path / "a", late_at_loss, flows=(Flow("cbr", rate_bps=8000),))
    other = build(
        tmp_path / "b", late_at_loss, flows=(Flow("cbr", rate_bps=8000),), about='answer_by = "delay_max_s"\n'
    )
    assert report.summary(plain)["main_kpi"] == "delay_p95_s"
    assert report.summary(other)["main_kpi"] == "delay_max_s"
    assert "One-way delay, worst" in told(other)


def test_what_is_too_small_to_matter_is_called_equal(tmp_path: Path) -> None:
    """CUBIC is 0.5 % behind in each repetition."""

    def done(protocol: str, place: int, repetition: int, loss: float) -> Did:
        return Did((20.0 if protocol == "sctp" else 20.1) + 0.1 * repetition)

    for about, word in (("", "worse"), ('matters = "2 %"\n', "equal")):
        results = build(tmp_path / word, done, flows=(Flow("bulk"),), losses=(0.0,), about=about)
        cells = report.summary(results)["cells"]
        standing = {it["protocol"]: it["standing"] for it in cells if it["kpi"] == "download_time_s"}
        assert standing == {"sctp": "best", "tcp-cubic": word}
    first = sentences(report.load(results))[0]
    assert first.lead == "SCTP and TCP CUBIC are equal: they differ by less than the 2 % that matter."
    printed = told(results)
    assert "= best together with others so marked" in printed
    assert "★" not in printed, "of equal ones none is the best"


def test_where_nothing_is_drawn_few_repetitions_of_equal_ones_are_not_too_few(tmp_path: Path) -> None:
    results = build(
        tmp_path,
        lambda *_: Did(20.0),
        flows=(Flow("bulk"),),
        losses=(0.0,),
        repetitions=3,
        about='matters = "2 %"\n',
    )
    said = sentences(report.load(results))[0].text
    assert said.startswith("SCTP and TCP CUBIC are equal")
    assert "Deterministic: nothing was drawn" in said
    assert "tell nothing from chance" not in said


def test_the_first_sentence_of_two_conditions_speaks_of_both(tmp_path: Path) -> None:
    def done(protocol: str, place: int, repetition: int, loss: float) -> Did:
        return Did((20.0 if protocol == "sctp" else 40.0) + 0.1 * repetition)

    one = build(tmp_path / "one", done, flows=(Flow("bulk"),), losses=(0.0,))
    two = build(tmp_path / "two", done, flows=(Flow("bulk"),))
    three = build(tmp_path / "three", done, flows=(Flow("bulk"),), losses=(0.0, 0.01, 0.02))
    said = [sentences(report.load(it))[0] for it in (one, two, three)]
    # 20.1 to 21 s against 40.1 to 41 s.
    margin = r"SCTP is best: transfer time 49\.3 % \[.*\] below that of TCP CUBIC\."
    assert re.fullmatch(margin, said[0].lead), said[0].lead
    assert [it.lead for it in said[1:]] == [
        "SCTP is best under both conditions.",
        "SCTP is best under all 3 conditions.",
    ]
    assert "conditions" not in said[0].text
    best = "(n = 10); best or not distinguishable from the best"
    assert "on average over both conditions" in said[1].rest
    assert f"{best} under both of the two." in said[1].rest
    assert f"{best} in 3 of 3." in said[2].rest


def test_the_first_sentence_says_where_it_is_kept(tmp_path: Path) -> None:
    def done(protocol: str, place: int, repetition: int, loss: float) -> Did:
        late = {"sctp": repetition > 7, "tcp-cubic": loss > 0, "tcp-bbr": True}[protocol] and loss > 0
        return Did(20.0, delay_s=2.0 if late or protocol == "tcp-bbr" else 0.2)

    first = answers(build(tmp_path, done, protocols=("sctp", "tcp-cubic", "tcp-bbr"), flows=(ETCS,)))[0]
    assert first[1] == (
        "None keeps it throughout; SCTP keeps it at loss 0 %, in some repetitions at loss 1 %; TCP CUBIC at "
        "loss 0 % only; TCP BBR not at all."
    )


PINGS = tuple(
    Flow("cbr", name=name, rate_bps=8000, judge={**DEADLINE, "at_most": 0.1}) for name in ("be", "bk", "ef")
)


def pinged(protocol: str, place: int, repetition: int, loss: float) -> Did:
    """All in time without loss, with loss only the third; repetitions differ by 1 ms."""
    return Did(20.0, delay_s=0.05 + (0.1 * (2 - place) if loss else 0.01 * place) + 0.001 * repetition)


def test_flows_of_which_the_same_is_asked_are_answered_together(tmp_path: Path) -> None:
    results = build(tmp_path, pinged, protocols=("udp",), flows=(*PINGS, UPLOAD))
    first, without, lossy = answers(results)
    assert first == (
        "Each of 3 flows: 99 % of the messages within 100 ms?",
        "All 3 keep it at loss 0 %; only ef at loss 1 %.",
    )
    assert without[0] == "Loss 0 %"
    assert re.match(r"p99 55\.5 ms \[.*\] \(be\) to 75\.5 ms \[.*\] \(ef\); ", without[1]), without
    assert without[1].endswith(
        "the deadline of 100 ms is kept by 3 of 3 flows; 30 of 30 finished in 10 repetitions."
    )
    assert re.match(r"p99 55\.5 ms \[.*\] \(ef\) to 255 ms \[.*\] \(be\); ", lossy[1]), lossy
    assert "is kept by 1 of 3 flows" in lossy[1]
    printed, page = told(results), Page(report.build(results).read_text())
    for said in (printed, page.text):
        assert said.count("Who keeps it and the slowest messages") == 1, "one table, not one a flow"
    assert len([row for row in report.summary(results)["tails"] if row["subject"] in ("be", "bk", "ef")]) == 6


def test_a_flow_without_a_number_is_named_with_what_it_lacks(tmp_path: Path) -> None:
    """All flows finish; of one more than 1 % of the messages are lost, in one of two repetitions."""

    def done(protocol: str, place: int, repetition: int, loss: float) -> Did:
        return Did(20.0, delay_s=0.2, lost_messages=1 if place == 0 and repetition == 2 else 0)

    results = build(tmp_path, done, protocols=("udp",), flows=PINGS, losses=(0.0,), repetitions=2)
    (_, (_, said)) = answers(results)
    assert said == (
        "p99 200 ms (deterministic) (bk) to 200 ms (deterministic) (ef), none of be, since more than 1 % of "
        "the messages never came in 1 of 2 repetitions; the deadline of 100 ms is kept by 0 of 3 flows; 6 of "
        "6 finished in 2 repetitions."
    )
    printed = told(results)
    assert printed.count("no number: in some repetition the flow failed, or so many messages never came") == 1
    page = Page(report.build(results).read_text()).text
    assert "so many messages never came that the percentile is one of those" in page
    whole = build(tmp_path / "whole", lambda *_: Did(20.0), protocols=("udp",), flows=PINGS)
    assert "no number" not in told(whole), "where there is no dash none is explained"


def test_too_few_repetitions_are_said_first(tmp_path: Path) -> None:
    """Two repetitions call nothing equal, nor better, whatever they say."""

    def done(protocol: str, place: int, repetition: int, loss: float) -> Did:
        return Did((20.0 if protocol == "sctp" else 20.1) + 0.1 * repetition)

    about = 'matters = "2 %"\n'
    results = build(tmp_path, done, flows=(Flow("bulk"),), losses=(0.0,), about=about, repetitions=2)
    first = sentences(report.load(results))[0]
    assert first.lead == "SCTP has the best mean, but 2 repetitions tell nothing from chance: that takes 6."
    cells = report.summary(results)["cells"]
    standing = {it["protocol"]: it["standing"] for it in cells if it["kpi"] == "download_time_s"}
    assert standing == {"sctp": "best", "tcp-cubic": None}


def test_one_answer_for_all_flows_says_yes_or_no(tmp_path: Path) -> None:
    def both(name: str, delay_s: float) -> tuple[str, str]:
        done = build(tmp_path / name, lambda *_: Did(20.0, delay_s=delay_s), protocols=("udp",), flows=PINGS)
        return answers(done)[0]

    assert both("in-time", 0.05)[1] == "Yes: all 3 keep it under both conditions."
    assert both("late", 0.5)[1] == "No: none of the 3 keeps it under any condition."


def test_a_report_that_was_asked_nothing_opens_with_who_is_best(tmp_path: Path) -> None:
    def done(protocol: str, place: int, repetition: int, loss: float) -> Did:
        return Did((20.0 if protocol == "sctp" else 40.0) + 0.1 * repetition)

    results = build(tmp_path, done, flows=(Flow("bulk"),), about='question = "Which is faster?"\n')
    whole = sentences(report.load(results))
    data = report.summary(results)["answer"]
    assert [it["text"] for it in data] == [it.text for it in whole], "nothing is lost, nothing is there twice"
    printed, page = told(results), Page(report.build(results).read_text())
    assert printed.startswith("Which is faster?\nWhich protocol? SCTP is best under both conditions.")
    assert page.ids.index("opening") < page.ids.index("use") < page.ids.index("answer")
    assert page.text.count("SCTP is best under both conditions.") == 1


def test_of_one_protocol_it_opens_with_what_was_measured(tmp_path: Path) -> None:
    def done(protocol: str, place: int, repetition: int, loss: float) -> Did:
        return Did((40.0 if loss else 20.0) + 0.1 * repetition)

    results = build(tmp_path, done, protocols=("sctp",), flows=(Flow("bulk", name="file"), UPLOAD))
    first = report.summary(results)["answer"][0]
    assert first["question"] == "What was measured? (file)"
    assert re.fullmatch(
        r"Transfer time over SCTP: 20\.6 s \[.*\] at loss 0 % to 40\.5 s \[.*\] at loss 1 % "
        r"\(10 repetitions, 20 of 20 flows completed\)\.",
        first["text"],
    ), first
    assert told(results).startswith("What was measured? (file) Transfer time over SCTP")


def once_late(protocol: str, place: int, repetition: int, loss: float) -> Did:
    """TCP CUBIC has the better mean, and misses the deadline of 1 s once."""
    delay_s = (1.5 if repetition == 1 else 0.2) if protocol == "tcp-cubic" else 0.8
    return Did(20.0, delay_s=delay_s + 0.002 * repetition if place == 0 else 5.0)


def test_one_rule_says_who_keeps_it_who_serves_and_who_has_the_star(tmp_path: Path) -> None:
    results = build(tmp_path, once_late, losses=(0.0,))
    first = answers(results)[0]
    assert first[1] == "SCTP keeps it; TCP CUBIC in some repetitions only."
    data = report.summary(results)
    (served,) = data["advice"]["classes"]
    assert served["use"] == ["sctp"]
    sctp, cubic = served["cells"][0]["transports"]
    assert (sctp["protocol"], sctp["grade"], cubic["grade"]) == ("sctp", "serves", "kept in part")
    assert (cubic["needs"][0]["kept"], cubic["needs"][0]["judged"]) == (9, 10)
    assert cubic["needs"][0]["decided_by"] == "flows"
    of_p99 = [it for it in data["cells"] if it["kpi"] == "message_delay_p99_s" or it["kpi"] == "delay_p99_s"]
    means = {it["protocol"]: it["mean"] for it in of_p99 if it["subject"] == "etcs"}
    standing = {it["protocol"]: it["standing"] for it in of_p99 if it["subject"] == "etcs"}
    assert means["tcp-cubic"] < means["sctp"]
    assert standing["sctp"] == "best"
    assert not [it for it in data["answer"] if it["question"].startswith("Which protocol?")]
    assert "TCP CUBIC kept by 9 of 10 flows" in Page(report.build(results).read_text()).text


def test_where_all_keep_it_alike_the_better_mean_is_told(tmp_path: Path) -> None:
    def kept(protocol: str, place: int, repetition: int, loss: float) -> Did:
        return Did(20.0, delay_s=(0.2 if protocol == "sctp" else 0.3) + 0.002 * repetition)

    results = build(tmp_path, kept, losses=(0.0,))
    (which,) = [it["text"] for it in report.summary(results)["answer"] if "Which protocol?" in it["question"]]
    assert which.startswith("SCTP is best")


def test_all_that_keep_it_under_the_same_conditions_are_told_in_one_sentence(tmp_path: Path) -> None:
    def late(protocol: str, place: int, repetition: int, loss: float) -> Did:
        return Did(20.0, delay_s=(2.0 if loss else 0.2) + 0.002 * repetition)

    assert answers(build(tmp_path, late))[0][1] == "TCP CUBIC and SCTP keep it at loss 0 % only."

    def late_at_most(protocol: str, place: int, repetition: int, loss: float) -> Did:
        late = loss > 0.01 or (loss and repetition > 5)
        return Did(20.0, delay_s=(2.0 if late else 0.2) + 0.002 * repetition)

    assert answers(build(tmp_path / "three", late_at_most, losses=(0.0, 0.01, 0.02)))[0][1] == (
        "TCP CUBIC and SCTP keep it at loss 0 %, in some repetitions at loss 1 %, not at loss 2 %."
    )


@pytest.mark.parametrize(("repetitions", "said"), [(3, True), (6, False)])
def test_what_so_few_repetitions_are_worth_stands_behind_the_answer(
    tmp_path: Path, repetitions: int, said: bool
) -> None:
    results = build(tmp_path, once_late, losses=(0.0,), repetitions=repetitions)
    few = "3 repetitions tell nothing from chance: that takes 6."
    assert (report.summary(results)["answer"][1]["text"] == few) == said
    opening = told(results).split("What should I use?")[0]
    assert (few in " ".join(opening.split())) == said
    page = Page(report.build(results).read_text()).text.split("What should I use?")[0]
    assert (few in page.replace("\N{NO-BREAK SPACE}", " ")) == said


def test_what_stands_beside_all_is_not_named_and_what_varies_beside_is_warned_of(tmp_path: Path) -> None:
    fixed = build(tmp_path, once_late, losses=(0.0,), protocols=("tcp-cubic+tcp-cubic", "sctp+tcp-cubic"))
    assert [it[0] for it in answers(fixed)[1:]] == ["SCTP", "TCP CUBIC"]
    assert "TCP CUBIC beside SCTP" in told(fixed), "of the upload it is told beside what it was"
    varied = build(tmp_path / "varied", once_late, losses=(0.0,))
    of_fixed, of_varied = (" ".join(report.summary(it)["trust"]["warnings"]) for it in (fixed, varied))
    assert "in the background" not in of_fixed
    assert "flow in the background (bulk) changes its protocol" in of_varied


def test_a_narrow_terminal_has_the_percentile_that_is_asked_in_a_line(tmp_path: Path) -> None:
    printed = told(build(tmp_path, late_at_loss), 70)
    assert "p99 (s)" in printed
    assert "p99.9 (s)" not in printed
    assert re.search(r"SCTP\s+loss 1 %\s+0 of 10\s+2\.01", printed), printed


def test_tables_of_the_page_scroll_in_frames_of_their_own(tmp_path: Path) -> None:
    page = report.build(build(tmp_path, late_at_loss)).read_text()
    assert page.count('<table class="plain') == page.count('<div class="wide"><table class="plain') > 3


def test_rows_stand_in_the_order_of_the_sentences_and_protocols_in_that_of_the_file(tmp_path: Path) -> None:
    matrix = '[matrix]\nprotocols = ["sctp", "tcp-cubic", "tcp-bbr"]\n'

    def done(protocol: str, place: int, repetition: int, loss: float) -> Did:
        delay_s = {"sctp": 3.0, "tcp-cubic": 2.0, "tcp-bbr": 0.2}[protocol]
        return Did(20.0, delay_s=delay_s + 0.002 * repetition)

    results = build(
        tmp_path, done, protocols=("sctp", "tcp-cubic", "tcp-bbr"), flows=(ETCS,), losses=(0.0,), about=matrix
    )
    found = report.load(results)
    assert [style.key for style in found.styles] == ["sctp", "tcp-cubic", "tcp-bbr"]
    (of,) = tables(found.parts)
    assert [protocol for protocol, *_ in of.rows] == ["TCP BBR", "TCP CUBIC", "SCTP"]
    assert [question for question, _ in answers(results)][1:] == ["TCP BBR", "TCP CUBIC", "SCTP"]


def test_of_few_repetitions_an_interval_is_the_range_of_what_was_seen(tmp_path: Path) -> None:
    """Ten times as long at worst, three times at best: of two repetitions nothing beyond is told."""

    def done(protocol: str, place: int, repetition: int, loss: float) -> Did:
        return Did(20.0 * (1 if not loss else 1.5 if repetition == 1 else 3.0) + 0.1 * repetition)

    results = build(tmp_path, done, flows=(Flow("bulk"),), protocols=("tcp-cubic",), repetitions=2)
    (cost,) = [it.text for it in sentences(report.load(results)) if it.question == "What does loss cost?"]
    found = re.search(r"\[([\d.]+) to ([\d.]+)\]", cost)
    assert found is not None
    low, high = map(float, found.groups())
    assert (low, high) == pytest.approx((1.5, 2.98), abs=0.02)
    printed = told(results)
    assert "[ ] range of what was seen" in printed
    assert "95 % interval" not in printed


def test_what_always_has_one_transport_is_called_by_what_is_beside_it(tmp_path: Path) -> None:
    """A call over UDP beside an upload: the transport of the upload is what is chosen."""
    call = Flow("cbr", name="call", rate_bps=8000, judge=DEADLINE)
    upload = Flow("bulk", name="upload", background=True)

    def done(protocol: str, place: int, repetition: int, loss: float) -> Did:
        return Did(20.0, delay_s=0.2)

    results = build(
        tmp_path, done, protocols=("udp+tcp-cubic", "udp+tcp-bbr"), flows=(call, upload), losses=(0.0,)
    )
    assert answers(results)[0][1] == "Yes: call beside TCP BBR and call beside TCP CUBIC keep it."
    printed = told(results)
    assert "Call beside TCP BBR and call beside TCP CUBIC serve it" in printed
    assert "UDP" not in printed
    assert "call: call beside" not in report.build(results).read_text()


def test_what_is_said_of_the_slowest_stands_where_there_are_some(tmp_path: Path) -> None:
    rate = Flow("cbr", judge={"kpi": "throughput_bps", "at_least": 5e5})
    results = build(tmp_path, lambda *_: Did(20.0), flows=(rate,), losses=(0.0,))
    assert "the slowest message of all repetitions" not in report.build(results).read_text()
    late = build(tmp_path / "late", late_at_loss)
    assert "the slowest message of all repetitions" in report.build(late).read_text()
