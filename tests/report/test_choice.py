"""Which queue to take: of settings that are varied for flows of which something is asked."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gauntlet import report
from gauntlet.report.answer import further, opening
from tests.report import flows
from tests.report.flows import Constructed, Did, Done, Flow

DEADLINE = {"kpi": "delay_s", "quantile": 0.99, "at_most": 0.1}
FLOWS = (
    Flow("cbr", name="ping-up", rate_bps=8000, judge=DEADLINE),
    Flow("cbr", "down", name="ping-down", rate_bps=8000, judge=DEADLINE),
    Flow("cbr", name="upload", background=True),
)
QUEUES = {0.0: "FIFO of 512 kB", 0.01: "CAKE"}


def build(
    folder: Path, done: Done, factor: str = "queue", queues: Mapping[float, str] = QUEUES, **more: Any
) -> Path:
    """A campaign over queues: those of losses, each under the name of its queue."""
    given: dict[str, Any] = {"protocols": ("udp",), "losses": tuple(QUEUES), "flows": FLOWS, "repetitions": 6}
    made = Constructed(done=done, **{**given, **more})
    results = flows.build(folder / "r", folder / "s", made)
    for file in sorted(results.glob("runs/*/spec.json")):
        spec = json.loads(file.read_text())
        queue = queues[spec["factors"].pop("loss")]
        spec["labels"][factor] = spec["factors"][factor] = queue
        file.write_text(json.dumps(spec))
    return results


def pinged(protocol: str, place: int, repetition: int, cake: float) -> Did:
    """Pings up wait in the plain queue alone; the upload has a tenth less with CAKE."""
    if place == 2:
        return Did(20.0, bytes_a_second=(90_000 if cake else 100_000) + 100 * repetition)
    return Did(20.0, delay_s=0.02 + (0.5 if place == 0 and not cake else 0.0) + 0.001 * repetition)


def first(results: Path) -> tuple[str, str]:
    sentence = opening(report.load(results), None)[0]
    return sentence.question, sentence.text


def test_the_queue_to_take_is_named_with_what_it_costs(tmp_path: Path) -> None:
    question, said = first(build(tmp_path, pinged))
    assert question == "Which queue?"
    assert re.fullmatch(
        r"Take CAKE: 2 of 2 flows keep the deadline of 100 ms, p99 at worst 23\.5 ms \[.*\]\. FIFO of 512 kB "
        r"\(drop-tail\): 1 of 2, 52[34] ms \[.*\]\. It costs the upload 9\.97 % \[.*\] of its throughput: "
        r"0\.7\d\d Mbit/s; with FIFO of 512 kB \(drop-tail\) 0\.8\d\d\.",
        said,
    ), said


def test_of_several_flows_beside_the_sum_is_called_one(tmp_path: Path) -> None:
    """With CAKE the second upload has five times as much and the first less: all together have more."""
    beside = (*FLOWS, Flow("cbr", name="upload-2", background=True))

    def shared(protocol: str, place: int, repetition: int, cake: float) -> Did:
        if place == 3:
            return Did(20.0, bytes_a_second=(100_000 if cake else 20_000) + 100 * repetition)
        return pinged(protocol, place, repetition, cake)

    _, said = first(build(tmp_path, shared, flows=beside))
    assert re.search(
        r"It costs the uploads nothing in sum: 1\.5\d Mbit/s together, the most of all\.", said
    ), said


def test_few_repetitions_say_what_was_seen_and_how_many_would_tell(tmp_path: Path) -> None:
    _, said = first(build(tmp_path, pinged, repetitions=2))
    assert said.startswith("Take CAKE: 2 of 2 flows keep the deadline of 100 ms")
    assert "It costs" not in said
    assert said.endswith("less. 2 repetitions tell nothing from chance: that takes 6.")


def test_where_none_is_good_enough_the_nearest_is_named(tmp_path: Path) -> None:
    def late(protocol: str, place: int, repetition: int, cake: float) -> Did:
        return Did(20.0, delay_s=(0.2 if cake else 0.5) + 0.001 * repetition)

    _, said = first(build(tmp_path, late))
    assert said.startswith("None is good enough; nearest is CAKE: 0 of 2 flows keep the deadline of 100 ms")


@pytest.mark.parametrize("more", [{"factor": "scenario.bandwidth"}, {"protocols": ("udp", "sctp")}])
def test_nobody_takes_a_line_and_several_protocols_are_answered_one_by_one(
    tmp_path: Path, more: dict[str, Any]
) -> None:
    assert first(build(tmp_path, pinged, **more))[0] == "Each of 2 flows: 99 % of the messages within 100 ms?"


def test_what_cannot_be_told_from_it_is_said(tmp_path: Path) -> None:
    def alike(protocol: str, place: int, repetition: int, cake: float) -> Did:
        sign = 1 if (repetition % 2) == bool(cake) else -1
        return Did(20.0, delay_s=0.05 + 0.001 * sign + 0.0001 * repetition)

    _, said = first(build(tmp_path, alike))
    assert "cannot be told from it" in said
    assert said.endswith("By p99 FIFO of 512 kB (drop-tail) cannot be told from it.") or said.endswith(
        "By p99 CAKE cannot be told from it."
    ), said


def test_who_keeps_less_is_no_equal_and_a_setting_with_more_flows_that_keep_it_comes_first(
    tmp_path: Path,
) -> None:
    """With CAKE one flow always keeps it and the other never; without, each keeps it but once."""

    def often(protocol: str, place: int, repetition: int, cake: float) -> Did:
        late = place == 0 if cake else repetition == 1 + place
        return Did(20.0, delay_s=(0.5 if late else 0.02) + 0.001 * repetition)

    _, said = first(build(tmp_path, often))
    assert said.startswith("Take CAKE: 1 of 2 flows keep the deadline of 100 ms"), said
    assert "cannot be told" not in said


def test_why_ef_comes_later_than_best_effort_with_cake_is_said(tmp_path: Path) -> None:
    """With CAKE by 7 ms, with FIFO not at all: nobody takes it for a mistake."""
    pings = tuple(Flow("cbr", name=f"ping-{it}-up", rate_bps=8000, judge=DEADLINE) for it in ("be", "ef"))
    upload = Flow("cbr", name="up-be", background=True)

    def done(protocol: str, place: int, repetition: int, cake: float) -> Did:
        return Did(20.0, delay_s=0.02 + (0.007 if place == 1 and cake else 0.0) + 0.0001 * repetition)

    queues = {0.0: "FIFO of 512 kB", 0.01: "CAKE (diffserv4)"}
    loaded = '[load]\ntest = "rrul"\n'
    results = build(tmp_path, done, queues=queues, flows=(*pings, upload), about=loaded)
    (why,) = [it for it in further(report.load(results)) if it.question.startswith("Why")]
    assert why.lead.startswith("At queue CAKE (diffserv4): CAKE has no rate of its own here")
    assert re.fullmatch(r"ping-ef-up p99 27\.4 ms \[.*\], ping-be-up 20\.4 ms \[.*\]\.", why.rest), why.rest

    queues[0.01] = "CAKE (besteffort)"
    plain = build(tmp_path / "plain", done, queues=queues, flows=(*pings, upload), about=loaded)
    assert not [it for it in further(report.load(plain)) if it.question.startswith("Why")]
