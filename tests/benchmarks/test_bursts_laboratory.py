"""The burst-loss experiment of the laboratory, told in the columns of the simulator's table."""

import itertools
import json
import tomllib
from pathlib import Path
from typing import Any

from crates.bursts.laboratory import HEAD, row

ROOT = Path(__file__).parents[2]


def _toml(path: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / path).read_text())


def _flows() -> list[dict[str, Any]]:
    matrix = _toml("experiments/bursts.toml")["matrix"]
    cells = itertools.product(matrix["size"], matrix["channel_delay"], matrix["burst_loss"])
    bytes_of = {"10kB": 10_000, "500kB": 500_000, "10MB": 10_000_000}
    return [
        {
            "protocol": "sctp",
            "burst_loss": json.dumps(loss),
            "channel_delay_s": float(delay.removesuffix("ms")) / 1e3,
            "size_bytes": bytes_of[size],
            "repetition": 2,
            "completed": True,
            "download_time_s": 1.25,
        }
        for size, delay, loss in cells
    ]


def test_its_conditions_are_72_cells_of_the_registered_grid() -> None:
    grid = _toml("crates/bursts/grid.toml")
    link = grid["link"]
    registered = set(
        itertools.product(
            link["loss_percent"], link["burst_packets"], link["rtt_ms"], grid["transfers"]["size_bytes"]
        )
    )
    cells = {tuple(row(flow)[1:5]) for flow in _flows()}
    assert len(cells) == 72
    assert cells <= registered
    assert {cell[:2] for cell in cells} == {(loss, burst) for loss in (5, 20) for burst in (1, 5, 20)}


def test_quic_meets_the_losses_of_the_others() -> None:
    others, quic = _toml("experiments/bursts.toml"), _toml("experiments/bursts-quic.toml")
    protocols = [*others["matrix"].pop("protocols"), *quic["matrix"].pop("protocols")]
    assert len(set(protocols)) == len(protocols) == 7
    assert quic["workload"].pop("idle_timeout") == "4min"
    for experiment in others, quic:
        for word in "name", "title", "question":
            del experiment["experiment"][word]
    assert quic == others


def test_a_transfer_that_did_not_end_has_no_seconds() -> None:
    flow = _flows()[0]
    assert dict(zip(HEAD, row(flow), strict=True))["seconds"] == "1.250000"
    late = flow | {"completed": False, "download_time_s": None}
    assert dict(zip(HEAD, row(late), strict=True))["seconds"] == ""
