"""The laboratory's transfers as a table that `bursts page` reads.

Run it with `python crates/bursts/laboratory.py results/bursts results/bursts-quic > laboratory.csv`, where
the folders are what `gauntlet run` has made of experiments/bursts.toml and experiments/bursts-quic.toml. It
prints a line a run in the columns of `bursts transfers`; a transfer that did not end in time has no seconds.
"""

import argparse
import csv
import json
import sys
from pathlib import Path
from typing import Any

import gauntlet

HEAD = ("stack", "loss_percent", "burst_packets", "rtt_ms", "size_bytes", "seed", "seconds")
PERCENT = 100


def main() -> None:
    """Print the table of the results that are named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path, nargs="+", help="a folder of results")
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(HEAD)
    for results in map(gauntlet.load, parser.parse_args().results):
        for run in results.runs.arrow.to_pylist():
            if run["outcome"] != "ok" or not run["trusted"]:
                print(f"{run['run']} takes no part: {run['reason'] or run['verdict']}", file=sys.stderr)
        table.writerows(row(flow) for flow in results.flows.arrow.to_pylist() if flow["trusted"])


def row(flow: dict[str, Any]) -> tuple[object, ...]:
    """A flow of `flows.parquet` as a line of the table."""
    leave, end = (float(json.loads(flow["burst_loss"])[key].rstrip("%")) for key in ("p", "r"))
    loss_percent = round(PERCENT * leave / (leave + end))
    # With r = 1 - p losses are independent, and a burst is as long as chance makes it.
    burst_packets = 1 if round(leave + end) == PERCENT else round(PERCENT / end)
    rtt_ms = round(2e3 * flow["channel_delay_s"])
    seconds = f"{flow['download_time_s']:.6f}" if flow["completed"] else ""
    repetition = flow["repetition"]
    return flow["protocol"], loss_percent, burst_packets, rtt_ms, flow["size_bytes"], repetition, seconds


if __name__ == "__main__":
    main()
