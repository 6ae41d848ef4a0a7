"""Reading experiment files: a mistake is one sentence that names file, section, key, and what is right."""

from pathlib import Path
from typing import Any

import pytest

from gauntlet.errors import UserError
from gauntlet.experiment import expand, load_experiment, parse_experiment

from .conftest import CONSTANT, RAIL, Parse

MISTAKES = [
    # What is changed, into what, and the words that the sentence must have.
    ("name = ", "nane = ", ["[experiment]", "unknown key 'nane'", "did you mean 'name'"]),
    ('name = "small"\n', "", ["[experiment]", "'name'", "missing"]),
    ('name = "small"', 'name = "Sm all"', ["[experiment] name", "'Sm all'", "small letters"]),
    ("seed = 7", "seed = -1", ["[experiment] seed", "-1"]),
    ("seed = 7", 'seed = "x"', ["[experiment] seed", "'x'", "whole number"]),
    ("repetitions = 2", "repetitions = 0", ["[experiment] repetitions", "0"]),
    ("[workload]", "[workloads]", ["unknown key 'workloads'", "did you mean 'workload'"]),
    ("[matrix]", "[matrix", ["not valid TOML", "line 10"]),
    (
        '"tcp-cubic", "udp"',
        '"tcp-kubic"',
        ["[matrix] protocols, value 1", "'tcp-kubic'", "did you mean 'tcp-cubic'"],
    ),
    ('"tcp-cubic", "udp"', '"QUIC"', ["[matrix] protocols, value 1", "'QUIC'", "one of quic-quinn-cubic,"]),
    ('"tcp-cubic", "udp"', '"bbr"', ["'bbr'; write one of tcp-bbr, mptcp-bbr,"]),
    ('"tcp-cubic", "udp"', '"udp", "udp"', ["[matrix] protocols", "twice"]),
    ('["25ms", "50ms"]', '"25ms"', ["[matrix] channel_delay", "not a list", '["25ms"]']),
    ('["25ms", "50ms"]', "[]", ["[matrix] channel_delay", "empty"]),
    ('"25ms", "50ms"', '"25ms", "0.025s"', ["[matrix] channel_delay", "25 ms", "twice"]),
    ('"25ms", "50ms"', '"25ms", "50mm"', ["[matrix] channel_delay, value 2", "unknown unit 'mm'", "ms"]),
    ('"25ms", "50ms"', '"-25ms"', ["[matrix] channel_delay, value 1", "-25ms", "0 or more"]),
    ('"0%", "1%"', '"101%"', ["[matrix] loss, value 1", "101%", "0% to 100%"]),
    ("loss = [", "lost = [", ["[matrix]", "unknown key 'lost'", "did you mean 'loss'"]),
    ('rate = "max"', 'rate = "-1Mbit/s"', ["[workload] rate", "-1Mbit/s", "at least 1bit/s"]),
    ('rate = "max"', "rate = 5200000", ["[workload] rate", "5200000", "no unit"]),
    ('rate = "max"\n', "", ["[workload]", "'cbr' needs the key 'rate'"]),
    ('rate = "max"', 'rate = "max"\nsize = "1MB"', ["[workload]", "no key 'size'"]),
    ('app = "cbr"', 'app = "cbr"\nmean_on = "1s"', ["[workload]", "'cbr' has no key 'mean_on'"]),
    ('app = "cbr"', 'app = "vbr"\nmean_on = "1s"', ["[workload]", "'vbr' needs the key 'mean_off'"]),
    ('app = "cbr"', 'app = "cbt"', ["[workload] app", "'cbt'", "did you mean 'cbr'"]),
    (
        'app = "cbr"',
        'app = "cbr"\ndirection = "north"',
        ["[workload] direction", "'north'", "'up' or 'down'"],
    ),
    ('app = "cbr"', 'app = "cbr"\nprotocol = "quick"', ["[workload] protocol", "'quick'"]),
    ('app = "cbr"', 'app = "cbr"\nprotocol = "udp"', ["[matrix] protocols has no effect"]),
    ('app = "cbr"', 'app = "cbr"\ntunnel = "c"', ["'wire'", "no tunnel 'c'"]),
    ('app = "cbr"', 'app = "cbr"\nstreams = 4', ["'streams'", "tcp-cubic"]),
    ('protocols = ["tcp-cubic", "udp"]\n', "", ["no protocol is named"]),
    ('protocols = ["tcp-cubic", "udp"]', 'protocols = ["udp+sctp"]', ["'udp+sctp' names 2", "1 flow"]),
    ('[workload]\napp = "cbr"\nrate = "max"\nduration = "2min"\n', "", ["nothing is sent", "[workload]"]),
    ("[workload]", "[[flow]]\n[workload]", ["[workload] and [[flow]]"]),
    ('name = "constant"', 'name = "konstant"', ["'konstant'", "constant"]),
    ('rate = "5.2Mbit/s"', 'rate = "5.2Mbit/s"\nspeed = 3', ["speed"]),
    ('rate = "5.2Mbit/s"', 'rate = "-5.2Mbit/s"', ["-5.2Mbit/s"]),
    ('rate = "5.2Mbit/s"', "rate = 5200000", ["'rate'", "'5200000' has no unit", "'5.2Mbit/s'"]),
    ('rate = "5.2Mbit/s"', "loss = 1", ["'loss'", "'1' has no unit", "'1%'"]),
    ("[matrix]", '[matrix]\n"scenario.queue_limit" = [512000]', ["'queue_limit'", "'512000' has no unit"]),
    ('rate = "5.2Mbit/s"', 'delay = "25ms"', ["[scenario] delay", "channel_delay"]),
    ('rate = "5.2Mbit/s"', 'chunk = "1min"\nstart = "3s"', ["'chunk' and 'start'"]),
    ('rate = "5.2Mbit/s"', 'bearer = "lte"', ["[scenario] bearer", "link"]),
    ('rate = "5.2Mbit/s"', 'duration = "1min"\nstart = "2min"', ["[scenario] start", "120 s", "60 s"]),
    ("[workload]", '[record]\npackets = "some"\n[workload]', ["[record] packets", "'some'", "'headers'"]),
    ("[workload]", '[record]\nsockets = "10us"\n[workload]', ["[record] sockets", "too short", "1ms"]),
    ("[workload]", '[record]\nsockets = "fast"\n[workload]', ["[record] sockets", "'fast'"]),
    (
        "[workload]",
        '[sysctl]\n"net.core.rmem_max" = true\n[workload]',
        ["[sysctl] net.core.rmem_max", "True"],
    ),
    ("[workload]", '[link]\nqueue = "0B"\n[workload]', ["[link] queue", "above 0"]),
    ("[workload]", "[link]\nburst_loss = {p = 0.1}\n[workload]", ["[link] burst_loss", "'r'", "missing"]),
    ("[workload]", '[link]\nburst_loss = {p = "1%", r = "10%"}\n[workload]', ["burst_loss", "independent"]),
]


@pytest.mark.parametrize(("before", "after", "words"), MISTAKES, ids=[words[0] for *_, words in MISTAKES])
def test_a_mistake_is_one_sentence(parse: Parse, before: str, after: str, words: list[str]) -> None:
    with pytest.raises(UserError) as caught:
        expand(parse(CONSTANT, (before, after)))
    sentence = str(caught.value)
    assert sentence.startswith("own.toml: ")
    assert sentence.endswith((".", "?"))
    assert "\n" not in sentence
    for word in words:
        assert word in sentence


def test_an_axis_is_named_when_its_value_does_not_fit(parse: Parse) -> None:
    with pytest.raises(UserError, match=r"\[matrix\] direction, value 'west': .*'up' or 'down'"):
        parse(CONSTANT, ('loss = ["0%", "1%"]', 'direction = ["up", "west"]'))


def test_a_channel_shorter_than_the_radio_is_refused(parse: Parse) -> None:
    with pytest.raises(UserError, match="10 ms is less than the 15 ms of the access"):
        expand(parse(RAIL, ('"25ms", "50ms"', '"10ms"')))


def test_a_trace_that_goes_back_in_time_is_refused(parse: Parse, tmp_path: Path) -> None:
    header = "t_s,rate_up_bps,rate_down_bps,delay_up_s,delay_down_s,loss_up,loss_down,queue_limit_bytes"
    rows = ["0,1e6,1e6,0.02,0.02,0,0,64000", "5,2e6,2e6,0.02,0.02,0,0,64000", "4,1e6,1e6,0.02,0.02,0,0,64000"]
    (tmp_path / "bad.csv").write_text("\n".join([header, *rows, "# end_s=60", ""]))
    with pytest.raises(UserError, match=r"bad\.csv.*t_s"):
        expand(parse(CONSTANT, ('"constant"\nrate = "5.2Mbit/s"', '"bad.csv"'), folder=tmp_path))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"absent\.toml: there is no such file"):
        load_experiment(tmp_path / "absent.toml")


def test_a_file_that_is_not_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "picture.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match=r"picture\.toml: the file cannot be read"):
        load_experiment(tmp_path / "picture.toml")


def test_seed_and_repetitions_can_be_replaced() -> None:
    experiment = parse_experiment(CONSTANT, "own.toml", Path(), seed=9, repetitions=5)
    assert experiment.about.seed == 9
    assert len(expand(experiment)) == 2 * 4 * 5


@pytest.mark.parametrize("changed", [{"seed": -1}, {"seed": 2**53}, {"repetitions": 0}])
def test_replacements_are_checked(changed: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="out of range"):
        parse_experiment(CONSTANT, "own.toml", Path(), **changed)
