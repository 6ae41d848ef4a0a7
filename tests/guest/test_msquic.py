"""MsQuic as a stack of one's own, where scripts/msquic.sh has built it (docs/guide/recipes.md)."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from gauntlet.experiment import expand, parse_experiment, plan_run
from tests.guest.conftest import EXPERIMENTS, ROOT, Play, gauntlet, run_plan
from tests.guest.test_external_stacks import exchanges

pytestmark = pytest.mark.skipif(
    not (ROOT / "target" / "msquic" / "release" / "msquic-transfer").exists(),
    reason="MsQuic is not built: scripts/msquic.sh",
)


def msquic(app: str, size_bytes: int, congestion: str = "cubic", **params: Any) -> dict[str, Any]:
    """A flow over MsQuic, as an experiment makes it; `params` are further ones of the stack."""
    text = f"""
        [experiment]
        name = "msquic"
        [scenario]
        name = "constant"
        [stack.msquic]
        client = ["sh", "recipes/msquic.sh"]
        server = ["sh", "recipes/msquic.sh"]
        parameters = {{ congestion = "{congestion}" }}
        [matrix]
        protocols = ["msquic"]
        [workload]
        app = "{app}"
        size = "{size_bytes}B"
        direction = "{"down" if app == "files" else "up"}"
    """
    (planned,) = plan_run(expand(parse_experiment(text, "msquic", EXPERIMENTS))[0])["flows"]
    return {**planned, "stack_params": {**planned["stack_params"], **params}}


@pytest.mark.parametrize("congestion", ["cubic", "bbr"])
def test_an_upload_gives_the_same_bytes_for_the_same_seed(
    congestion: str, play: Play, tmp_path: Path
) -> None:
    seen = []
    for seed in (1, 1, 2):
        up = msquic("bulk", 200_000, congestion)
        (found,) = play(run_plan(seed=seed, flows=[up]))["run"]["flows"]
        assert (found["outcome"], found["reason"], found["received_bytes"]) == ("ok", None, 200_000)
        # One round trip of 50 ms for transport and TLS together (RFC 9001).
        assert found["established_s"] - found["start_s"] == pytest.approx(0.05, abs=3e-3)
        out = tmp_path / "out" / "run"
        seen.append([(out / name).read_bytes() for name in ("packets.bin", "messages.arrow")])
    assert seen[0] == seen[1]
    assert seen[0][0] != seen[2][0]


def test_a_file_is_fetched(play: Play, tmp_path: Path) -> None:
    (found,) = play(run_plan(flows=[msquic("files", 300_000)]))["run"]["flows"]
    assert (found["outcome"], found["from"], found["to"]) == ("ok", "server", "client")
    (row,) = exchanges(tmp_path)
    assert (row["object"], row["size_bytes"], row["outcome"]) == ("file", 300_000, "ok")
    assert row["requested_ns"] < row["secured_ns"] < row["first_byte_ns"] < row["completed_ns"]
    # Not faster than the link of 5.2 Mbit/s.
    assert (row["completed_ns"] - row["first_byte_ns"]) / 1e9 > 0.9 * 300_000 * 8 / 5.2e6


def test_files_are_fetched_one_after_the_other(play: Play, tmp_path: Path) -> None:
    several = msquic("files", 30_000)
    objects = [{"object": f"file-{number}", "size_bytes": 30_000} for number in range(3)]
    several["app_params"] = {**several["app_params"], "objects": objects, "size_bytes": 90_000}
    (found,) = play(run_plan(flows=[several]))["run"]["flows"]
    assert (found["outcome"], found["received_bytes"]) == ("ok", 90_000)
    rows = exchanges(tmp_path)
    assert [row["object"] for row in rows] == ["file-0", "file-1", "file-2"]
    for before, after in pairwise(rows):
        # The next stream is there at once: a round trip of 50 ms and what the packet takes.
        assert after["requested_ns"] >= before["completed_ns"]
        assert (after["first_byte_ns"] - after["requested_ns"]) / 1e9 == pytest.approx(0.053, abs=5e-3)


def test_a_certificate_of_another_authority_is_refused(play: Play) -> None:
    (found,) = play(run_plan(flows=[msquic("bulk", 1000, fault="wrong_ca")]))["run"]["flows"]
    assert found["outcome"] == "failed"
    # Its status for an alert of TLS: 0xbebc300 and the number, here 48, unknown_ca (RFC 8446, section 6).
    assert "the connection was lost: 0xbebc330" in found["reason"]


def test_what_it_does_not_have_is_unsupported(play: Play) -> None:
    (found,) = play(run_plan(flows=[msquic("bulk", 1000, "reno")]))["run"]["flows"]
    assert found["outcome"] == "unsupported"
    assert "MsQuic has no congestion control 'reno'; it has cubic and bbr" in found["reason"]


def test_it_is_measured_beside_other_stacks(tmp_path: Path) -> None:
    out = tmp_path / "results"
    answer = gauntlet("run", EXPERIMENTS / "msquic.toml", "--repetitions", "1", "--out", out, "--quiet")
    assert answer.code == 0, answer.err
    rows = pq.read_table(out / "tables" / "flows.parquet").to_pylist()
    assert {row["protocol"] for row in rows} == {
        "msquic-cubic", "msquic-bbr", "quic-quinn-cubic", "quic-quinn-bbr", "tcp-cubic",
    }  # fmt: skip
    assert [row["reason"] for row in rows if row["outcome"] != "ok"] == []
    # 500 kB at 5.2 Mbit/s take 0.77 s at the very least.
    assert all(row["received_bytes"] == 500_000 and 0.77 < row["download_time_s"] < 10 for row in rows)
    assert all(row["trusted"] for row in pq.read_table(out / "tables" / "runs.parquet").to_pylist())
