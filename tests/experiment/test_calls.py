"""Calls and video in experiments: what the plan gets, and which keys are whose."""

from typing import Any

import pytest

from gauntlet.errors import UserError
from gauntlet.experiment import expand, plan_run

from .conftest import CONSTANT, Parse


def _flow(parse: Parse, app: str, *, protocol: str = "udp") -> dict[str, Any]:
    head = CONSTANT.partition("[matrix]")[0]
    text = f'{head}[matrix]\nprotocols = ["{protocol}"]\n[workload]\n{app}\n'
    (run, *_) = expand(parse(text))
    flow: dict[str, Any] = plan_run(run)["flows"][0]
    return flow


def test_video_has_all_that_its_reader_needs_in_the_plan(parse: Parse) -> None:
    usual = _flow(parse, 'app = "video"\nrate = "1Mbit/s"\nduration = "30s"')
    assert usual["app_params"] == {
        "rate_bps": 1_000_000,
        "duration_s": 30.0,
        "frame_rate_hz": 25.0,
        "packet_bytes": 1100,
        "playout_s": 0.16,
    }
    given = 'app = "video"\nrate = "1Mbit/s"\nduration = "30s"\nframe_rate = 30\ngop = 60\nplayout = "100ms"'
    params = _flow(parse, given)["app_params"]
    assert (params["frame_rate_hz"], params["gop_frames"], params["playout_s"]) == (30, 60, 0.1)


def test_a_call_is_as_it_was_unless_it_names_a_codec(parse: Parse) -> None:
    assert _flow(parse, 'app = "voip"\nduration = "30s"')["app_params"] == {"duration_s": 30.0}
    opus = _flow(parse, 'app = "voip"\nduration = "30s"\ncodec = "opus"')["app_params"]
    assert opus == {"duration_s": 30.0, "codec": "opus"}


def test_video_keeps_its_rate_over_what_holds_the_sender_back(parse: Parse) -> None:
    fast = 'app = "video"\nrate = "50Mbit/s"\nduration = "30s"'
    assert _flow(parse, fast, protocol="tcp-cubic")["app_params"]["rate_bps"] == 50_000_000


@pytest.mark.parametrize(
    ("app", "word"),
    [
        ('app = "video"\nduration = "30s"', "needs the key 'rate'"),
        ('app = "video"\nduration = "30s"\nrate = "max"', "needs a number for its 'rate'"),
        ('app = "cbr"\nduration = "30s"\nrate = "1Mbit/s"\ncodec = "opus"', "has no key 'codec'"),
        ('app = "voip"\nduration = "30s"\ncodec = "g729"', "codec"),
    ],
)
def test_what_does_not_go_together_is_refused(parse: Parse, app: str, word: str) -> None:
    with pytest.raises(UserError, match=word):
        _flow(parse, app)


def test_sctp_can_give_up_what_is_too_old(parse: Parse) -> None:
    flow = _flow(parse, 'app = "voip"\nduration = "30s"\ncodec = "g711"', protocol="sctp-partial")
    assert (flow["stack"], flow["stack_params"]) == ("sctp", {"lifetime_s": 0.16})
