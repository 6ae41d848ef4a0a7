"""What the kernel's stacks must reach on links whose capacity is known."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from tests.guest.conftest import LineCampaigns

IP_AND_TCP_HEADERS_BYTES = 52
"""IPv4 (20) and TCP with timestamps (32)."""
MTU_BYTES = 1500


def _mean_throughput_bps(results: Path, protocol: str, loss: float) -> float:
    runs = pq.read_table(results / "tables" / "runs.parquet").to_pylist()
    wanted = {row["run"] for row in runs if row["protocol"] == protocol and row["loss"] == loss}
    flows = pq.read_table(results / "tables" / "flows.parquet").to_pylist()
    chosen = [row["throughput_bps"] for row in flows if row["run"] in wanted]
    assert chosen
    return float(np.mean(chosen))


def test_cubic_and_bbr_fill_a_constant_link(constant_results: Path) -> None:
    usable_bps = 5_200_000 * (MTU_BYTES - IP_AND_TCP_HEADERS_BYTES) / MTU_BYTES
    for protocol in ("tcp-cubic", "tcp-bbr"):
        share = _mean_throughput_bps(constant_results, protocol, 0.0) / usable_bps
        assert 0.97 <= share <= 1.0, protocol


def test_bbr_keeps_its_level_at_one_percent_loss(constant_results: Path) -> None:
    clean = _mean_throughput_bps(constant_results, "tcp-bbr", 0.0)
    assert _mean_throughput_bps(constant_results, "tcp-bbr", 0.01) >= 0.9 * clean


def test_cubic_does_not(constant_results: Path) -> None:
    clean = _mean_throughput_bps(constant_results, "tcp-cubic", 0.0)
    assert _mean_throughput_bps(constant_results, "tcp-cubic", 0.01) < 0.7 * clean


def _ten_second_means(windows: list[float]) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """Means over ten windows of a second: in one, all that waited behind a lost packet may arrive at once."""
    whole = len(windows) // 10 * 10
    means: np.ndarray[tuple[int], np.dtype[np.float64]] = (
        np.array(windows[:whole]).reshape(-1, 10).mean(axis=1)
    )
    return means


def test_throughput_follows_the_capacity_of_the_line(line_campaigns: LineCampaigns) -> None:
    tables = line_campaigns.all_workers / "tables"
    windows = pq.read_table(tables / "windows.parquet").to_pylist()
    for protocol in ("tcp-cubic", "tcp-bbr"):
        run = f"{protocol}_delay-25ms_loss-0pct_rep-001"
        rows = [row for row in windows if row["run"] == run and row["capacity_bps"]]
        assert len(rows) > 60
        capacity = _ten_second_means([row["capacity_bps"] for row in rows])
        throughput = _ten_second_means([row["throughput_bps"] for row in rows])
        assert capacity.max() > 1.5 * capacity.min(), "this stretch does not vary: choose another seed"
        assert np.corrcoef(capacity, throughput)[0, 1] > 0.9, protocol
        assert np.median(throughput / capacity) > 0.9, protocol


def _untrusted(results: Path) -> list[str]:
    rows = pq.read_table(results / "tables" / "runs.parquet").to_pylist()
    assert rows
    return [row["run"] for row in rows if not row["trusted"]]


def test_every_run_on_the_line_is_trusted(line_campaigns: LineCampaigns) -> None:
    assert _untrusted(line_campaigns.all_workers) == []


def test_every_run_over_a_constant_link_is_trusted(constant_results: Path) -> None:
    assert _untrusted(constant_results) == []
