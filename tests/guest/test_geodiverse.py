"""Paths through a map under a challenge, played: what passes is what the paths that are up carry."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from gauntlet.certificate import certify
from gauntlet.experiment.expand import expand
from gauntlet.experiment.load import parse_experiment
from gauntlet.experiment.plans import plan_run
from tests.guest.conftest import EXPERIMENTS, Play

RATE_BPS = 1_000_000
CIRCLES_S = ((22, 40), (64, 80), (102, 120))


def carried_bps(record: Path, from_s: float, to_s: float) -> float:
    with pa.memory_map(str(record / "messages.arrow")) as file:
        table = pa.ipc.open_file(file).read_all()
    rows = table.select(["received_ns", "size_bytes"]).to_pylist()
    held = (row for row in rows if row["received_ns"] is not None)
    carried_bytes: int = sum(it["size_bytes"] for it in held if from_s <= it["received_ns"] / 1e9 < to_s)
    return 8 * carried_bytes / (to_s - from_s)


@pytest.mark.parametrize(("method", "up"), [("disjoint", (2, 1, 0)), ("iwpsp", (3, 1, 1))])
def test_what_passes_is_what_the_paths_that_are_up_carry(
    play: Play, tmp_path: Any, method: str, up: tuple[int, ...]
) -> None:
    text = (EXPERIMENTS / "geodiverse.toml").read_text(encoding="utf-8")
    for before, after in (("10Mbit/s", "1Mbit/s"), ('"disjoint", "iwpsp"', f'"{method}"')):
        assert before in text
        text = text.replace(before, after)
    spec = next(it for it in expand(parse_experiment(text, "geo.toml", Path())) if "mptcp" in it.id)
    run = {**plan_run(spec), "id": "run"}
    (flow,) = play(run)["run"]["flows"]
    assert (flow["outcome"], flow["subflows"]) == ("ok", 3)
    record = tmp_path / "out" / "run"
    assert certify(run, record)["trusted"]
    for (from_s, to_s), paths in zip(CIRCLES_S, up, strict=True):
        carried = carried_bps(record, from_s, to_s) / RATE_BPS
        assert 0.8 * paths <= carried <= paths, (from_s, carried)
