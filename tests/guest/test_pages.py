"""Pages over HTTP in the guest: each version over each transport, its round trips, failures as sentences."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from gauntlet.experiment import pages
from tests.guest.conftest import Play, run_plan

RTT_S = 0.05

CUBIC = {"congestion_control": "cubic"}
OVER_SCTP = {"transport": "sctp"}
STREAMS = [("tcp", CUBIC), ("sctp", {}), ("tls", CUBIC), ("tls", OVER_SCTP)]
COMBINATIONS = [
    *((stack, params, http) for stack, params in STREAMS for http in ("1.1-fresh", "1.1", "2")),
    *(("quic-quinn", CUBIC, http) for http in ("3", "3-fresh")),
]

SMALL: pages.Page = tuple(pages.PageObject(f"file-{number}", 17_000 - 2_000 * number) for number in range(8))


def page_run(
    stack: str, stack_params: Mapping[str, Any], http: str, page: pages.Page = SMALL, **app: Any
) -> dict[str, Any]:
    """A run in which the client loads a page from the server."""
    objects = [{"object": file.name, "size_bytes": file.size_bytes} for file in page]
    total_bytes = sum(file.size_bytes for file in page)
    flow = {
        "id": "f0",
        "stack": stack,
        "stack_params": dict(stack_params),
        "app": "page",
        "app_params": {"http": http, "objects": objects, "size_bytes": total_bytes, **app},
        "from": "server",
        "to": "client",
        "start_s": 0.5,
    }
    name = "_".join([stack, *(str(value) for value in stack_params.values()), http])
    return run_plan(id=name, flows=[flow])


def rows(folder: Path) -> list[dict[str, Any]]:
    """The files of a page as the browser saw them."""
    with pa.OSFile(str(folder / "exchanges.arrow")) as file:
        table: list[dict[str, Any]] = pa.ipc.open_file(file).read_all().to_pylist()
    return table


def lossy(run: dict[str, Any], loss: float) -> dict[str, Any]:
    """The same run with loss both ways."""
    timeline = [{**entry, "loss": loss} if "delay_s" in entry else entry for entry in run["timeline"]]
    return {**run, "timeline": timeline}


def handshakes(stack: str) -> int:
    """Round trips before data can flow: SCTP has two, TLS one more than what it goes over, QUIC one."""
    return {"tcp": 1, "sctp": 2, "tls": 2, "quic-quinn": 1}[stack]


@pytest.mark.parametrize(("stack", "params", "http"), COMBINATIONS)
def test_every_version_takes_the_round_trips_that_it_must(
    stack: str, params: dict[str, Any], http: str, play: Play, tmp_path: Path
) -> None:
    run = page_run(stack, params, http)
    (record,) = play(run).values()
    (flow,) = record["flows"]
    assert (flow["outcome"], flow["reason"]) == ("ok", None)
    assert flow["received_bytes"] == flow["sent_bytes"] == sum(file.size_bytes for file in SMALL)
    loaded = rows(tmp_path / "out" / run["id"])
    assert [(row["object"], row["outcome"]) for row in loaded] == [(file.name, "ok") for file in SMALL]
    ways = handshakes(stack) + (1 if params == OVER_SCTP else 0)
    for row in loaded:
        if row["connected_ns"] is not None:
            set_up_s = ((row["secured_ns"] or row["connected_ns"]) - row["requested_ns"]) / 1e9
            assert ways <= set_up_s / RTT_S < ways + 1, row
    # Over SCTP a message is there when the whole of it is: what fits the first window tells the round trips.
    last_s = (loaded[-1]["first_byte_ns"] - loaded[-1]["requested_ns"]) / 1e9
    whole_s = (max(row["completed_ns"] for row in loaded) - loaded[0]["requested_ns"]) / 1e9
    if http.endswith("fresh"):
        assert all(row["connected_ns"] is not None for row in loaded)
        assert ways + 1 <= last_s / RTT_S < ways + 1.6
        assert whole_s > len(SMALL) * (ways + 1) * RTT_S
    else:
        assert whole_s < len(SMALL) * (ways + 1) * RTT_S / 2


@pytest.mark.parametrize(
    ("stack", "params", "http"),
    [
        ("tcp", CUBIC, "1.1-fresh"),
        ("sctp", {}, "1.1"),
        ("tls", CUBIC, "2"),
        ("tls", OVER_SCTP, "1.1-fresh"),
        ("quic-quinn", CUBIC, "3"),
        ("quic-quinn", CUBIC, "3-fresh"),
    ],
)
def test_the_same_seed_gives_the_same_bytes(
    stack: str, params: dict[str, Any], http: str, play: Play, tmp_path: Path
) -> None:
    def files(seed: int) -> dict[str, bytes]:
        run = lossy(page_run(stack, params, http), 0.02)
        play({**run, "seed": seed})
        folder = tmp_path / "out" / run["id"]
        return {name: (folder / name).read_bytes() for name in ("packets.bin", "exchanges.arrow")}

    first, again, other = files(5), files(5), files(6)
    assert first == again
    assert first["packets.bin"] != other["packets.bin"]


def test_a_line_that_is_cut_in_the_middle_of_a_file_ends_with_a_sentence(play: Play, tmp_path: Path) -> None:
    page = (pages.PageObject("index.htm", 2_000_000),)
    run = page_run("tcp", CUBIC, "1.1-fresh", page)
    cut = [{"at_s": 1.5, "link": link, "up": False} for link in ("mid>east", "mid>west")]
    run = {**run, "timeline": [*run["timeline"], *cut], "limit_s": 20.0}
    (record,) = play(run).values()
    (flow,) = record["flows"]
    assert flow["outcome"] == "failed"
    assert "limit of 20 s" in flow["reason"]
    (row,) = rows(tmp_path / "out" / run["id"])
    assert row["outcome"] == flow["reason"]
    assert row["first_byte_ns"] is not None
    assert row["completed_ns"] is None
    assert 0 < flow["received_bytes"] < 2_000_000
