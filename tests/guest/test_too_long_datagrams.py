"""A datagram that is too long for a router further on is lost; that the kernel is told of it ends no flow."""

from tests.guest.conftest import Play, run_plan, tcp_flow
from tests.guest.test_dtls import NARROW


def test_udp_loses_the_one_that_a_router_reports_and_has_the_next_ones_cut(play: Play) -> None:
    source = {"message_size_bytes": 1400, "interval_s": 1.0, "duration_s": 10.0}
    flow = tcp_flow(stack="udp", stack_params={}, app="periodic", app_params=source)
    (told,) = play(run_plan(network=NARROW, timeline=[], flows=[flow]))["run"]["flows"]
    assert told["outcome"] == "ok", told["reason"]
    assert (told["sent_messages"], told["received_messages"]) == (10, 9)
    assert told["sender_dropped_messages"] == 0
