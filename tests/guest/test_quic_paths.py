"""QUIC over several bearers: quinn leaves one that is silent for the next, noq has a path over each."""

from typing import Any

import pytest

from tests.guest.conftest import Play
from tests.guest.test_own_network import LADDER, PATHS, planned, sent_bytes, trusted

FAILS = LADDER.replace('rate = "2Mbit/s"', 'rate = "2Mbit/s"\ndown = [["4s", "40s"]]')
"""The first of two ways is down for longer than QUIC's idle time-out of 30 s."""


def test_quic_that_does_not_migrate_ends_with_its_bearer(play: Play) -> None:
    (flow,) = play(planned("quic-quinn-cubic", FAILS))["run"]["flows"]
    assert flow["outcome"] != "ok"


def test_migration_goes_on_over_the_next_bearer_and_stays_there(play: Play, tmp_path: Any) -> None:
    run = planned("quic-quinn-migration", FAILS)
    record = play(run)["run"]
    (flow,) = record["flows"]
    assert flow["outcome"] == "ok", flow["reason"]
    assert len(record["paths"]) == 2
    sent = sent_bytes(record)
    assert sent["x"] + sent["y"] > 4_000_000
    assert sent["y"] > 2_500_000
    trusted(run, tmp_path / "out" / "run")


@pytest.mark.parametrize("migrate_after_s", [0.5, 4.0])
def test_a_bearer_is_left_after_the_silence_that_was_asked_for(play: Play, migrate_after_s: float) -> None:
    run = planned("quic-quinn-migration", FAILS)
    run["flows"][0]["stack_params"]["migrate_after_s"] = migrate_after_s
    run["record"]["messages"] = True
    record = play(run)["run"]
    (flow,) = record["flows"]
    assert flow["outcome"] == "ok", flow["reason"]
    # Two round trips over the second bearer, with their handshake of addresses, and what queued before it.
    whole_s = 8 * 4_000_000 / 1_000_000
    assert 4 + migrate_after_s + 0.6 * whole_s < flow["last_received_s"] < 6 + migrate_after_s + whole_s


def test_a_backup_path_of_noq_carries_data_only_when_the_first_is_given_up(play: Play, tmp_path: Any) -> None:
    whole = play(planned("quic-noq-backup", LADDER))["run"]
    assert whole["flows"][0]["outcome"] == "ok", whole["flows"][0]["reason"]
    assert sent_bytes(whole)["x"] > 4_000_000
    assert sent_bytes(whole)["y"] < 60_000
    run = planned("quic-noq-backup", FAILS)
    fails = play(run)["run"]
    assert fails["flows"][0]["outcome"] == "ok", fails["flows"][0]["reason"]
    assert sent_bytes(fails)["y"] > 2_500_000
    trusted(run, tmp_path / "out" / "run")


def test_a_path_of_noq_that_answers_again_is_used_again(play: Play) -> None:
    short = LADDER.replace('rate = "2Mbit/s"', 'rate = "2Mbit/s"\ndown = [["4s", "8s"]]')
    record = play(planned("quic-noq-backup", short))["run"]
    (flow,) = record["flows"]
    assert flow["outcome"] == "ok", flow["reason"]
    sent = sent_bytes(record)
    # Four seconds of the backup's 1 Mbit/s, and the time that it takes to notice either change.
    assert 200_000 < sent["y"] < 1_300_000
    assert sent["x"] > 2_700_000


def test_the_same_seed_gives_the_same_packets_over_several_paths(play: Play) -> None:
    runs = [planned("quic-noq-cubic", LADDER, PATHS, size="500kB") for _ in range(2)]
    first, second = (play(run)["run"] for run in runs)
    assert first["flows"] == second["flows"]
    assert sent_bytes(first) == sent_bytes(second)
