"""A run of which a part cannot be started: nothing of it goes on in the runs behind it."""

from collections.abc import Mapping
from typing import Any

from tests.guest.conftest import Play, run_plan, tcp_flow


def _program(script: str, **changes: Any) -> dict[str, Any]:
    return {"id": "program", "node": "client", "argv": ["/bin/sh", "-c", script], **changes}


def test_what_was_started_before_an_error_is_ended(play: Play) -> None:
    talk = ["/bin/sh", "-c", "while :; do echo still here; sleep 1; done"]
    programs = {"name": "talk", "server": talk, "client": talk}
    external = tcp_flow(id="f1", stack="external", stack_params=programs)
    # A flow that is under way ends with its network; one that waits for its start would wait on.
    broken = run_plan(
        id="broken",
        flows=[tcp_flow(start_s=30.0), external],
        programs=[_program("echo still here", id="early"), _program("echo {address:moon}")],
    )
    # The threads of the guest by name, while the second run is under way.
    look = run_plan(id="next", programs=[_program("sleep 3; cat /proc/1/task/*/comm")])
    events: list[Mapping[str, Any]] = []
    records = play(broken, look, events=events)
    assert records["broken"]["outcome"] == "failed"
    assert "moon" in records["broken"]["reason"]
    assert records["next"]["outcome"] == "ok", records["next"]["reason"]
    output = [event for event in events if event["event"] == "output"]
    assert {event["run"] for event in output} == {"next"}
    threads = "".join(event["text"] for event in output).split()
    assert "program" in threads
    assert not {"receiver", "sender", "server", "client"} & set(threads)
