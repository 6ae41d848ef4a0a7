"""What is still queued when the last flow ends arrives before its run does."""

from tests.guest.conftest import Play, run_plan, tcp_flow


def test_the_last_packets_of_a_run_arrive_before_it_ends(play: Play) -> None:
    """A sender of TCP is over when the receiver has closed; its last acknowledgement is then on the line."""
    record = play(run_plan(flows=[tcp_flow(200_000)]))["run"]
    assert record["flows"][0]["outcome"] == "ok"
    assert {
        link["link"]: link["backlog_packets"] for link in record["links"] if link["backlog_packets"]
    } == {}
    captured = {tap["link"]: tap["captured_packets"] for tap in record["taps"]}
    forward = record["paths"][0]["forward"]
    assert len(forward) > 1
    assert len({captured[link] for link in forward}) == 1
