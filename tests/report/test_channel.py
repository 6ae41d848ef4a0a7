"""What a run's specification says of its channel."""

from typing import Any

import pytest

from gauntlet.report.channel import Channel, channel_of, common


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        (
            {"link": {"channel_delay_s": 0.025, "loss": 0.01, "queue_limit_bytes": 128_000}},
            Channel(0.025, 0.01, queue_bytes=128_000),
        ),
        ({"factors": {"channel_delay_s": 0.15, "loss": 0.0}}, Channel(0.15, 0.0)),
        # A drawn delay: the factor is the middle of the range.
        (
            {"factors": {"channel_delay_s": 0.025}, "link": {"channel_delay_s": 0.0263, "loss": 0.0}},
            Channel(0.025),
        ),
        # A constant link has its own delay, loss and queue; of the two losses either can take a packet.
        (
            {
                "scenario": {
                    "name": "constant",
                    "params": {"delay": "30ms", "loss": "2%", "queue_limit": "64kB", "rate": "5Mbit/s"},
                },
                "link": {"loss": 0.5},
            },
            Channel(0.03, 0.51, queue_bytes=64_000),
        ),
        # A scenario's own delay is its own affair; what it loses is lost, whatever a link adds.
        (
            {"scenario": {"name": "hsr", "params": {"latency": "9ms", "loss": "2%"}}, "link": {"loss": 0.0}},
            Channel(None, 0.02),
        ),
        # Nobody names a loss: 0 is what a specification has then, and no condition.
        ({"scenario": {"name": "hsr", "params": {}}, "link": {"loss": 0.0}}, Channel()),
        (
            {"factors": {"scenario.loss": 0.0}, "scenario": {"name": "hsr", "params": {"loss": 0}}},
            Channel(None, 0.0),
        ),
        # So may the loss of a link of one's own network be the one that is varied.
        (
            {"factors": {"network.air.loss": 0.0}, "scenario": {"name": "own", "params": {"loss": 0.0}}},
            Channel(None, 0.0),
        ),
        # A line of a file may lose packets itself: what is added is not all.
        ({"scenario": {"name": "ride.csv", "path": "ride.csv"}, "link": {"loss": 0.0}}, Channel()),
        (
            {
                "factors": {"loss": 0.0},
                "scenario": {"name": "ride.csv", "path": "ride.csv"},
                "link": {"loss": 0.0},
            },
            Channel(added="0 % loss added"),
        ),
        (
            {"scenario": {"name": "ride.csv", "path": "ride.csv"}, "link": {"loss": 0.01}},
            Channel(added="1 % loss added"),
        ),
        # What one direction loses is told with the direction, and what the other loses beside it.
        ({"link": {"loss": 0.01, "loss_direction": "up"}}, Channel(one_way="1 % loss up")),
        ({"link": {"loss": 0.01, "loss_direction": "both"}}, Channel(None, 0.01)),
        ({"link": {"loss": 0.0, "loss_direction": "up"}}, Channel()),
        (
            {"factors": {"loss": 0.0}, "link": {"loss": 0.0, "loss_direction": "down"}},
            Channel(one_way="0 % loss down"),
        ),
        (
            {
                "scenario": {"name": "constant", "params": {"loss": "2%", "rate": "5Mbit/s"}},
                "link": {"loss": 0.5, "loss_direction": "down"},
            },
            Channel(one_way="51 % loss down, 2 % up"),
        ),
        (
            {
                "scenario": {"name": "ride.csv", "path": "ride.csv"},
                "link": {"loss": 0.01, "loss_direction": "up"},
            },
            Channel(added="1 % loss up added"),
        ),
        (
            {
                "link": {
                    "loss": 0.0,
                    "loss_direction": "up",
                    "burst_loss": {"p": 0.01, "r": 0.19, "loss_bad": 0.5, "loss_good": 0.0},
                }
            },
            Channel(None, None, "2.5 % loss up in bursts of 5.26 packets"),
        ),
        # 0.01 / (0.01 + 0.19) of the time in the bad state, which loses half: 2.5 %; 1 / 0.19 packets long.
        (
            {
                "link": {
                    "loss": 0.0,
                    "burst_loss": {"p": 0.01, "r": 0.19, "loss_bad": 0.5, "loss_good": 0.0},
                }
            },
            Channel(None, None, "2.5 % loss in bursts of 5.26 packets"),
        ),
        ({}, Channel()),
    ],
)
def test_a_channel_is_read_from_link_scenario_and_factors(spec: dict[str, Any], wanted: Channel) -> None:
    found = channel_of(spec)
    told = [(it.delay_s, it.bursts, it.added, it.one_way, it.queue_bytes) for it in (found, wanted)]
    assert told[0] == told[1]
    assert found.loss == pytest.approx(wanted.loss)


def test_what_runs_differ_in_is_not_known_of_all() -> None:
    assert common([Channel(0.025, 0.01), Channel(0.026, 0.01)]) == Channel(None, 0.01)
    up = Channel(0.025, one_way="1 % loss up")
    assert common([up, up]) == up
    assert common([up, Channel(0.025, one_way="1 % loss down")]) == Channel(0.025)
