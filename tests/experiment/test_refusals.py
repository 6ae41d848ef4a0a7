"""What cannot be played is refused when an experiment is read, where that needs no guest."""

from pathlib import Path

import pytest

from gauntlet.errors import UserError
from gauntlet.experiment import expand, parse_experiment
from gauntlet.experiment.plans import plan_run
from gauntlet.experiment.runspec import RunSpec

EXPERIMENT = """
[experiment]
name = "refused"
repetitions = 1
limit = "10min"
[scenario]
name = "constant"
[link]
drop = "none"
[matrix]
protocols = ["tcp-cubic"]
[workload]
app = "ftp"
size = "20kB"
"""
OWN = '[stack.mine]\nclient = ["{client}"]\nserver = ["sh"]\n'


def read(*changes: tuple[str, str], further: str = "") -> list[RunSpec]:
    """The runs of the experiment with changes, each of which must change it."""
    text = EXPERIMENT
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    return expand(parse_experiment(text + further, "own.toml", Path(__file__).parent))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('"none"', '"both"'), ["[link] drop", "'ftp'", "tcp-cubic", "another application"]),
        (("20kB", '20kB"\nstart = "11min'), ["[experiment] limit", "600 s", "660 s", "longer limit"]),
        *(
            (
                ('"10min"', f'"10min"\nmemory = "{wrong}"'),
                ["[experiment] memory", wrong, "64MiB to 64GiB", "'1GiB'"],
            )
            for wrong in ("63MiB", "65GiB", "100MB")
        ),
    ],
)
def test_parts_that_do_not_fit(change: tuple[str, str], words: list[str]) -> None:
    read()
    with pytest.raises(UserError) as refused:
        read(change)
    assert str(refused.value).startswith("own.toml: ")
    assert [word for word in words if word not in str(refused.value)] == [], str(refused.value)


@pytest.mark.parametrize("client", ["no-such-program", "./no-such-program", "./test_refusals.py"])
def test_a_stack_whose_program_is_not_there(client: str) -> None:
    read(further=OWN.format(client="sh"))
    with pytest.raises(UserError, match=rf"own\.toml: \[stack\.mine\] client: .*'{client}'.*install it"):
        read(further=OWN.format(client=client))


WARMED = (
    ("tcp-cubic", "quic-quinn-cubic"),
    (
        '"ftp"\nsize = "20kB"',
        '"safety"\nkind = "position-report"\ninterval = "1s"\nbound = "1s"\nduration = "9s"',
    ),
)
"""Safety messages over QUIC."""


def test_a_session_before_needs_tickets_and_time() -> None:
    resumed = ('duration = "9s"', 'duration = "9s"\nresumption = true\nwarm_up = "1s"')
    read(*WARMED, resumed)
    with pytest.raises(UserError, match="warm_up needs resumption = true"):
        read(*WARMED, ('duration = "9s"', 'duration = "9s"\nwarm_up = "1s"'))
    with pytest.raises(UserError, match="give warm_up at most as start"):
        read(*WARMED, resumed, ('warm_up = "1s"', 'warm_up = "1.5s"'))
    with pytest.raises(UserError, match="'ftp' has no key 'warm_up'"):
        read(('size = "20kB"', 'size = "20kB"\nwarm_up = "1s"'))


def test_a_library_without_tickets_is_not_asked_to_resume() -> None:
    """s2n-quic takes them up only with a feature that it calls unstable."""
    resumed = ('size = "20kB"', 'size = "20kB"\nresumption = true')
    bulk = ('"ftp"', '"bulk"')
    read(bulk, resumed, ("tcp-cubic", "quic-quinn-cubic"))
    with pytest.raises(UserError, match="key 'resumption' means nothing to quic-s2n-cubic; leave it"):
        read(bulk, resumed, ("tcp-cubic", "quic-s2n-cubic"))


def test_a_bound_on_further_sessions_needs_them() -> None:
    more = 'duration = "9s"\nreopen_after = "1s"\nreopen_most = 2'
    (run,) = read(*WARMED, ('duration = "9s"', more))
    assert RunSpec.from_json(run.to_json()) == run
    params = plan_run(run)["flows"][0]["app_params"]
    assert (params["reopen_after_s"], params["reopen_most"]) == (1.0, 2)
    (without,) = read(*WARMED)
    assert "reopen_after_s" not in plan_run(without)["flows"][0]["app_params"]
    assert "reopen_after_s" not in without.to_json()["flows"][0]
    with pytest.raises(UserError, match="reopen_most needs reopen_after"):
        read(*WARMED, ('duration = "9s"', 'duration = "9s"\nreopen_most = 2'))
    with pytest.raises(UserError, match="'ftp' has no key 'reopen_after'"):
        read(('size = "20kB"', 'size = "20kB"\nreopen_after = "1s"'))


def test_a_load_needs_transports_that_hold_their_sender_back() -> None:
    app = '[workload]\napp = "ftp"\nsize = "20kB"\n'
    load = '[load]\ntest = "rrul"\nduration = "10s"\n'
    assert read((app, load), ('[link]\ndrop = "none"\n', ""))
    with pytest.raises(UserError, match=r"\[matrix\] protocols: 'udp' holds no sender back.*rrul.*tcp-cubic"):
        read((app, load), ('[link]\ndrop = "none"\n', ""), ('"tcp-cubic"', '"udp"'))


def test_a_number_out_of_range_is_told_with_the_range() -> None:
    with pytest.raises(UserError, match=r"repetitions: 0 is out of range; give 1 or more\."):
        read(("repetitions = 1", "repetitions = 0"))
