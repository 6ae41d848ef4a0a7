"""A flow whose session comes up when its time is over has failed: it did nothing of what it was to do."""

import pytest

from tests.guest.conftest import Play, run_plan, tcp_flow

ROUND_TRIP_S = 6.0


@pytest.mark.parametrize(("duration_s", "outcome"), [(4.0, "failed"), (8.0, "ok")])
def test_a_flow_that_came_too_late_to_send_has_failed(play: Play, duration_s: float, outcome: str) -> None:
    slow = [{"at_s": 0.0, "link": link, "delay_s": ROUND_TRIP_S / 2} for link in ("mid>east", "mid>west")]
    paced = {"rate_bps": 80_000.0, "message_size_bytes": 1000, "duration_s": duration_s}
    record = play(run_plan(flows=[tcp_flow(app="cbr", app_params=paced)], timeline=slow))["run"]
    flow = record["flows"][0]
    assert flow["outcome"] == outcome, flow["reason"]
    assert flow["established_s"] == pytest.approx(0.5 + ROUND_TRIP_S, abs=0.01)
    if outcome == "failed":
        assert (flow["sent_messages"], flow["received_messages"]) == (0, 0)
        assert "nothing was sent" in flow["reason"]
    else:
        assert flow["received_messages"] == flow["sent_messages"] > 0
