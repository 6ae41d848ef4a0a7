"""What a report says first: what was played, held against its class of service, or why nothing is advised."""

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from rich.console import Console

from gauntlet import report
from gauntlet.advice.classes import Need
from gauntlet.cli import main
from gauntlet.errors import UserError
from gauntlet.report import terminal
from gauntlet.results import layout
from gauntlet.studies import study, use
from gauntlet.studies.advised import FromSummary
from gauntlet.studies.summary import Summary
from tests.report import committed, factory, flows
from tests.report.factory import Campaign
from tests.report.flows import Constructed, Did, Flow
from tests.report.test_report import Page

MB = 1_000_000
FILE = Flow(size_bytes=MB)


def file_of(**seconds: float | None) -> flows.Done:
    """Files that take so long by protocol (dashes are underscores here); None: nothing ever arrives."""
    taken = {name.replace("_", "-"): value for name, value in seconds.items()}
    return lambda protocol, place, repetition, loss: Did(taken[protocol])


@pytest.fixture
def made(tmp_path: Path) -> Any:
    """Makes results of a constructed campaign and says what is advised."""

    def make(campaign: Constructed, experiment: str = "", classes: Path | None = None) -> dict[str, Any]:
        results = flows.build(tmp_path / "r", tmp_path / "s", campaign)
        if experiment:
            (results / layout.EXPERIMENT).write_text(flows.EXPERIMENT + experiment)
        advice: dict[str, Any] = report.summary(results, classes)["advice"]
        return advice

    return make


def grades(cell: Mapping[str, Any]) -> dict[str, str]:
    return {it["protocol"]: it["grade"] for it in cell["transports"]}


def test_files_are_held_against_their_class(made: Any) -> None:
    """10 s and 12 s are within a minute and within a quarter of the best; 70 s are neither."""
    done = file_of(tcp_cubic=10, tcp_bbr=12, sctp=70)
    told = made(Constructed(("tcp-cubic", "tcp-bbr", "sctp"), done, flows=[FILE]))
    (files,) = told["classes"]
    assert files["class"] == "File (1 MB)"
    assert files["use"] == ["tcp-cubic", "tcp-bbr"]
    assert told["not_advised"] == []
    assert told["whose"] == "Gauntlet"
    (cell,) = files["cells"]
    assert grades(cell) == {"tcp-cubic": "serves", "tcp-bbr": "serves", "sctp": "fails"}
    assert (cell["delay_s"], cell["loss"], cell["queue"], cell["besides"]) == (None, 0.0, None, None)
    assert files["answer"] == (
        "TCP CUBIC and TCP BBR serve it at 0 % loss. Of these TCP CUBIC is the best (transfer time)."
    )
    of_sctp = next(it for it in cell["transports"] if it["protocol"] == "sctp")
    assert of_sctp["needs"][0]["times"] == pytest.approx(5.6), "the need that decides: 1.25 times 10 s"
    assert of_sctp["needs"][1]["times"] == pytest.approx(70 / 60)


def test_limits_say_their_source_or_that_they_are_assumed(made: Any) -> None:
    (files,) = made(Constructed(("tcp-cubic", "sctp"), file_of(tcp_cubic=1, sctp=1), flows=[FILE]))["classes"]
    minute, of_best = files["limits"]
    assert (minute["limit"], minute["of_best"], minute["assumed"]) == (60.0, None, None)
    assert minute["source"].startswith("ITU-T G.1010")
    assert (of_best["limit"], of_best["of_best"], of_best["source"]) == (None, 1.25, None)
    assert "D3.4" in of_best["assumed"]


def test_one_protocol_is_held_against_absolute_limits_only(made: Any) -> None:
    told = made(Constructed(("tcp-cubic",), file_of(tcp_cubic=15), flows=[FILE]))
    (files,) = told["classes"]
    assert files["needs"] == ["within 60 s"]
    assert files["answer"] == "TCP CUBIC serves it at 0 % loss. It has 75 % to spare (transfer time)."


def test_one_protocol_of_a_class_that_only_compares_is_no_advice(made: Any) -> None:
    stream = Flow(app="cbr", rate_bps=None)
    told = made(Constructed(("tcp-cubic",), lambda *_: Did(20), flows=[stream]))
    assert told["classes"] == []
    assert told["not_advised"] == [
        "Bulk data: only TCP CUBIC was played, and the class asks how far a transport is from the best one; "
        "play another beside it, or name a class with a limit of its own."
    ]


def test_a_loss_of_one_direction_is_told_with_it(made: Any) -> None:
    up = {loss: {"loss_direction": "up"} for loss in (0.0, 0.01)}
    done = file_of(tcp_cubic=10, sctp=70)
    campaign = Constructed(("tcp-cubic", "sctp"), done, flows=[FILE], losses=(0.0, 0.01), links=up)
    (files,) = made(campaign)["classes"]
    assert [(it["loss"], it["besides"]) for it in files["cells"]] == [
        (None, "0 % loss up"),
        (None, "1 % loss up"),
    ]


def test_losses_of_one_direction_and_of_both_stand_side_by_side(made: Any) -> None:
    """No cell is of a condition that nobody asked for, such as no loss in both with 1 % up."""
    down = {0.01: {"loss_direction": "down"}}
    done = file_of(tcp_cubic=10, sctp=70)
    campaign = Constructed(("tcp-cubic", "sctp"), done, flows=[FILE], losses=(0.0, 0.01), links=down)
    (files,) = made(campaign)["classes"]
    assert [(it["loss"], it["besides"]) for it in files["cells"]] == [(0.0, None), (None, "1 % loss down")]
    assert {grade for cell in files["cells"] for grade in grades(cell).values()} == {"serves", "fails"}


def test_the_loss_of_a_link_of_one_s_own_network_is_told_once(made: Any) -> None:
    campaign = Constructed(
        ["sctp"],
        lambda *_: Did(4.0),
        losses=(0.0, 0.01),
        factor="network.air.loss",
        flows=(FILE,),
        links={0.0: {}, 0.01: {}},
    )
    (files,) = made(campaign)["classes"]
    assert [it["loss"] for it in files["cells"]] == pytest.approx([0.0, 0.01])
    assert {it["besides"] for it in files["cells"]} == {None}


def test_what_loses_messages_does_not_serve_a_class_that_needs_all(made: Any) -> None:
    told = made(Constructed(("udp",), lambda *_: Did(20), flows=[FILE]))
    assert told["classes"] == []
    assert told["not_advised"] == [
        "File (1 MB): all that is sent must arrive, and UDP does not repeat what is lost."
    ]


def test_where_nothing_ever_arrives_none_is_praised(made: Any) -> None:
    done = file_of(tcp_cubic=None, sctp=None)
    (files,) = made(Constructed(("tcp-cubic", "sctp"), done, flows=[FILE], losses=(0.0, 0.01)))["classes"]
    assert files["use"] == []
    assert files["answer"] == "None serves it under any condition: with none does everything arrive."
    assert {grade for cell in files["cells"] for grade in grades(cell).values()} == {"nothing arrives"}


def test_files_that_never_end_are_not_the_best_of_each_other(made: Any) -> None:
    """All are cut off at the limit of their runs, so all are equally late."""
    (files,) = made(Constructed(("tcp-cubic", "sctp"), lambda *_: Did(50, whole=False), flows=[FILE]))[
        "classes"
    ]
    assert files["answer"] == "None serves it at 0 % loss: with none does everything arrive."


def test_some_files_that_did_not_end_are_counted(made: Any) -> None:
    def done(protocol: str, place: int, repetition: int, loss: float) -> Did:
        return Did(10, whole=protocol != "sctp" or repetition > 3)

    (files,) = made(Constructed(("tcp-cubic", "sctp"), done, flows=[FILE]))["classes"]
    of_sctp = next(it for it in files["cells"][0]["transports"] if it["protocol"] == "sctp")
    assert (of_sctp["completed"], of_sctp["flows"]) == (7, 10)
    assert of_sctp["grade"] != "serves"


def test_stacks_of_the_experiment_s_own_take_part(made: Any) -> None:
    told = made(Constructed(("example", "tcp-cubic"), file_of(example=10, tcp_cubic=20), flows=[FILE]))
    assert told["classes"][0]["use"] == ["example"]


def test_an_unknown_work_says_so(made: Any) -> None:
    told = made(
        Constructed(("tcp-cubic", "sctp"), lambda *_: Did(20), flows=[Flow(app="periodic", size_bytes=MB)])
    )
    assert told["classes"] == []
    assert told["not_advised"] == [
        "periodic (1 MB): no class of service is of this application, size and rate; name one by [[class]] "
        "in the experiment or with --classes FILE."
    ]


def test_flows_with_different_work_have_each_their_class(made: Any) -> None:
    both = [FILE, Flow(app="cbr", rate_bps=500_000, name="camera")]
    told = made(Constructed(("tcp-cubic", "sctp"), lambda *_: Did(20, delay_s=0.3), flows=both))
    assert [it["class"] for it in told["classes"]] == [
        "bulk up: File (1 MB)",
        "camera: Video stream (500 kbit/s)",
    ]
    (cell,) = told["classes"][1]["cells"]
    assert {it["protocol"] for it in cell["transports"]} == {"tcp-cubic", "sctp"}
    assert cell["transports"][0]["needs"][0]["value"] == pytest.approx(0.3)


MESSAGES = Flow(
    app="cbr", rate_bps=8000, judge={"kpi": "delay_s", "quantile": 0.99, "at_most": 0.2}, name="etcs"
)


def test_what_is_asked_of_a_flow_is_what_it_is_advised_by(made: Any, tmp_path: Path) -> None:
    """0.3 s are well within what a speech stream needs, and beyond the flow's own deadline."""

    def done(protocol: str, place: int, repetition: int, loss: float) -> Did:
        return Did(20, delay_s=(0.1 if protocol == "sctp" else 0.3) + 0.001 * repetition)

    told = made(Constructed(("tcp-cubic", "sctp"), done, flows=[MESSAGES]))
    (only,) = told["classes"]
    assert (only["class"], only["limits_by"]) == ("As judged (8 kbit/s)", "the flow's own judge")
    assert [it["limit"] for it in only["limits"]] == [0.2]
    assert only["use"] == ["sctp"]
    screen = Console(width=200, record=True, file=io.StringIO())
    screen.print(terminal.summary(tmp_path / "r"))
    assert "Asked: 99 % of the messages within 200 ms (by the flow's own judge)." in screen.export_text()


def test_what_never_came_is_late_to_a_judge(made: Any) -> None:
    """Of 21 messages one is lost: there is no p99, however soon the others come."""
    told = made(Constructed(("udp",), lambda *_: Did(20, lost_messages=1), flows=[MESSAGES]))
    (only,) = told["classes"]
    assert only["use"] == []


def test_a_class_of_the_user_counts_before_the_judge(made: Any) -> None:
    own = OWN.replace('["bulk"]', '["cbr"]').replace("download_time_s", "delay_p95_s")
    told = made(Constructed(("sctp",), lambda *_: Did(20), flows=[MESSAGES]), own)
    assert [(it["class"], it["limits_by"]) for it in told["classes"]] == [
        ("Backup (8 kbit/s)", "the experiment")
    ]


OWN = """
[[class]]
name = "Backup"
apps = ["bulk"]
[[class.need]]
words = "within 11 s"
kpi = "download_time_s"
most = 11
"""


def test_the_experiment_s_own_classes_come_before_ours(made: Any) -> None:
    campaign = Constructed(("tcp-cubic", "sctp"), file_of(tcp_cubic=10, sctp=12), flows=[FILE])
    told = made(campaign, OWN)
    assert [it["class"] for it in told["classes"]] == ["Backup (1 MB)"]
    assert told["classes"][0]["use"] == ["tcp-cubic"]
    assert told["whose"] == "the experiment"


def test_a_file_s_classes_come_before_the_experiment_s(made: Any, tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(f'by = "me"\n{OWN.replace("11", "13")}')
    campaign = Constructed(("tcp-cubic", "sctp"), file_of(tcp_cubic=10, sctp=12), flows=[FILE])
    told = made(campaign, OWN, file)
    assert told["classes"][0]["use"] == ["tcp-cubic", "sctp"]
    assert told["whose"] == "me"


def test_wrong_classes_of_an_experiment_are_refused(made: Any) -> None:
    campaign = Constructed(("tcp-cubic",), file_of(tcp_cubic=10), flows=[FILE])
    with pytest.raises(UserError, match=r"experiment\.toml: class, number 1.*unknown application 'bulky'"):
        made(campaign, OWN.replace('["bulk"]', '["bulky"]'))


def test_signalling_has_its_deadline_and_who_missed_it(tmp_path: Path) -> None:
    """Each message takes five one-way delays, set-up included: 125 ms, and 750 ms."""
    campaign = Campaign(
        protocols=("tcp-cubic", "sctp"), delays_s=(0.025, 0.15), losses=(0.0,), duration_s=30, periodic=True
    )
    results = factory.build(tmp_path / "r", tmp_path / "s", campaign)
    (messages,) = report.summary(results)["advice"]["classes"]
    assert messages["class"] == "Signalling message (200 B every 3 s)"
    near, far = messages["cells"]
    assert grades(near) == {"tcp-cubic": "serves", "sctp": "serves"}
    assert grades(far) == {"tcp-cubic": "fails", "sctp": "fails"}
    of_near, of_far = (it["transports"][0]["needs"][0] for it in (near, far))
    assert of_near["p99_s"] == of_near["p99_9_s"] == pytest.approx(0.125)
    assert (of_near["missed"], of_far["missed"]) == (0.0, 1.0)
    assert of_far["times"] == pytest.approx(1.5)
    assert [it["assumed"] is not None for it in messages["limits"]] == [True, True]


def test_without_a_trusted_run_nothing_is_advised(tmp_path: Path) -> None:
    small = Campaign(duration_s=5, delays_s=(0.025,), repetitions=1)
    runs = frozenset(place.run for place in factory.places(small))
    results = factory.build(tmp_path / "r", tmp_path / "s", Campaign(**vars(small) | {"untrusted": runs}))
    assert report.summary(results)["advice"] == {
        "whose": None,
        "classes": [],
        "not_advised": ["No run can be trusted: see Trust for the reasons."],
        "settings": [],
        "settings_not_varied": [],
        "settings_elsewhere": {},
        "without_class": [],
    }
    page = Page(report.build(results).read_text()).text
    first = page[page.index("What should I use?") : page.index("The numbers")]
    assert "No advice. No run can be trusted: see Trust for the reasons." in first
    assert "Under which condition" not in page


# Numbers of studies, as their summaries are committed.


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A steady source of 0.5 Mbit/s on the high-speed line."""
    return committed.results(tmp_path_factory.mktemp("video") / "r", "d34", "video-hsr")


def test_a_report_and_a_study_read_the_same_numbers(video: Path) -> None:
    """Each mean and tail of the report is what the study's own code says of the summary."""
    chosen = study("d34")
    source = FromSummary(chosen, Summary.load(chosen.summary, chosen.home))
    (told,) = report.summary(video)["advice"]["classes"]
    assert len(told["cells"]) == 6
    for cell in told["cells"]:
        place = (cell["delay_s"], cell["loss"])
        for transport in cell["transports"]:
            for it in transport["needs"]:
                need = Need(
                    words=it["need"],
                    experiment="video-hsr",
                    kpi=it["kpi"],
                    losses=[place[1]],
                    delays_s=[place[0]],
                    most=it["limit"],
                )
                sample = source.sample(need, transport["protocol"], place)
                assert sample is not None
                assert it["value"] == pytest.approx(sample.mean.value, rel=1e-12)
                assert (it["low"], it["n"]) == (pytest.approx(sample.mean.low, rel=1e-9), sample.mean.n)
                tail = source.tail(need, transport["protocol"], place, it["limit"])
                assert (it["missed"] is None) == (tail is None)
                if tail is not None and tail.missed is not None:
                    assert it["missed"] == pytest.approx(tail.missed.value, abs=1e-12)
                    assert it["p99_s"] == pytest.approx(tail.quantiles_s[0.99].value, rel=1e-9)


def test_behind_the_answer_the_page_says_what_to_use(video: Path) -> None:
    """By hand, from the summary: at 25 and 50 ms UDP loses just below 1 %, TCP's slowest come in time."""
    page = Page(report.build(video).read_text())
    text = page.text.replace("\N{NO-BREAK SPACE}", " ")
    assert text.index("The answer") < text.index("What should I use?") < text.index("The numbers")
    assert [it for it in page.ids if it in ("use", "answer", "link", "evidence", "trust", "provenance")] == [
        "use",
        "answer",
        "link",
        "evidence",
        "trust",
        "provenance",
    ]
    assert "Video stream (500 kbit/s)" in text
    assert "6 conditions: 25, 50 and 150 ms one way; 0 and 1 % loss (✓) UDP 1 % to spare, at 50 ms" in text
    assert "95 % of messages within 400 ms; at most 1 % of them lost (by Gauntlet)." in text
    assert "25 ms one way 50 ms one way 150 ms one way" in text
    assert "0 % loss" in text
    assert "Where the limits are from" in text
    assert (
        "Video stream (500 kbit/s), at most 1 % of them lost: ITU-T G.1010 (11/2001), Table I.1: videophone"
        in text
    )
    assert "says" not in page.classes, "no study says anything"


def test_terminal_and_json_say_the_same(video: Path) -> None:
    screen = Console(width=500, record=True, file=io.StringIO())
    screen.print(terminal.summary(video))
    printed = " ".join(screen.export_text().split())
    told = json.loads(json.dumps(report.summary(video), allow_nan=False))["advice"]
    assert "What should I use? Video stream" in printed
    for it in told["classes"]:
        assert it["answer"] in printed


def test_a_report_and_a_study_have_one_shape(video: Path) -> None:
    chosen = study("d34")
    of_study = use.advice(chosen, Summary.load(chosen.summary, chosen.home)).to_json()
    of_report = report.summary(video)["advice"]

    def shape(it: Any) -> Any:
        if isinstance(it, dict):
            return {key: shape(value) for key, value in it.items() if key not in ("p99_s", "p99_9_s")}
        if isinstance(it, list):
            return shape(it[0]) if it else None
        return None

    assert shape(of_report["classes"]) == shape(of_study["classes"])
    assert of_report.keys() == of_study.keys()


def test_settings_that_the_matrix_varies_are_told(tmp_path: Path) -> None:
    """As the study itself says it of the same runs; it names the loss too, which does not vary."""
    results = committed.results(tmp_path / "r", "d34", "narrow-hsr-20mhz")
    chosen = study("d34")
    wanted = [
        it
        for it in use.advice(chosen, Summary.load(chosen.summary, chosen.home)).settings
        if it.where == "narrow-hsr-20mhz"
    ]
    told = report.summary(results)["advice"]
    found = {
        (title["title"], it["protocol"], it["kpi"]): it["words"]
        for title in told["settings"]
        for it in title["effects"]
    }
    assert found == {
        (it.title, it.protocol, it.kpi.name): it.words.replace(", 0 % loss", "") for it in wanted
    }
    assert "Send buffer 2 MiB instead of 104 KiB (queue before the line 512 kB)" in {
        title for title, *_ in found
    }
    (data,) = told["classes"]
    assert {it["queue"] for it in data["cells"]} == {"128 kB", "512 kB"}
    assert {it["besides"] for it in data["cells"]} == {"send buffer 104 KiB", "send buffer 2 MiB"}
    assert "150 ms, 0 % loss, queue 128 kB, send buffer 2 MiB" in data["answer"]


def test_each_size_is_a_row_of_its_own(tmp_path: Path) -> None:
    results = committed.results(
        tmp_path / "r", "d34", "files-hsr", lambda row: row["repetition"] <= 3 and row["loss"] == 0
    )
    told = report.summary(results)["advice"]
    assert [it["class"] for it in told["classes"]] == ["File (1 MB)", "File (10 MB)"]
    assert all(len(it["cells"]) == 3 for it in told["classes"])


def test_the_command_line_takes_a_file_of_classes(video: Path, tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(
        'by = "me"\n[[class]]\nname = "Strict"\napps = ["cbr"]\n[[class.need]]\n'
        'words = "95 % within 1 s"\nkpi = "delay_p95_s"\nmost = 1.0\n'
    )
    out = tmp_path / "page.html"
    arguments = ["report", str(video), "--out", str(out), "--classes", str(file)]
    said = CliRunner().invoke(main, [*arguments, "--json"])
    told = json.loads(said.stdout)["answer"]["advice"]
    assert (told["whose"], [it["class"] for it in told["classes"]]) == ("me", ["Strict (500 kbit/s)"])
    assert "Classes and limits by me." in Page(out.read_text()).text
    assert "Strict (500" in CliRunner().invoke(main, arguments).stdout
