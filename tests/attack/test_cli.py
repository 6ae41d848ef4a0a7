"""`gauntlet attack`: what it takes, what it refuses, and its answer, with stand-ins for the programs."""

import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from gauntlet.attack import arena, functions, gates, laboratory, unattacked, verdict
from gauntlet.attack.certificates import KEYS
from gauntlet.attack.functions import Spent
from gauntlet.attack.kinds import ATTACKS, KINDS, PROTOCOLS
from gauntlet.attack.laboratory import Asked, Found
from gauntlet.attack.programs import ATTACKER, CLIENT, SERVER
from gauntlet.attack.servers.contract import DEFENCES
from gauntlet.attack.servers.registry import SERVERS
from gauntlet.benches import idle
from gauntlet.cli import output
from gauntlet.cli.attack import run
from gauntlet.errors import RunError
from gauntlet.report import attacked
from tests.attack import factory
from tests.attack.conftest import FAKES, two_cores
from tests.cli.conftest import Gauntlet, gauntlet, refused

__all__ = ["gauntlet"]

QUICK = ("--protocol", "h1", "--seconds", "3", "--rate", "20", "--quota", "100%")


@pytest.fixture
def calm(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that are there, and a machine that may do something else."""
    monkeypatch.setattr(gates, "OTHERS_OF_A_CORE", float("inf"))
    monkeypatch.setattr(gates, "CLIENT_OF_A_CORE", float("inf"))
    monkeypatch.setattr(gates, "LATE_S", 5.0)
    monkeypatch.setattr(idle, "busy", lambda **_: "")


Ends = Callable[[BaseException | None], None]


@pytest.fixture
def played(calm: None, monkeypatch: pytest.MonkeyPatch) -> Ends:
    """Nothing runs: a flood is found to be held, and then what is given ends the run."""

    def ends(error: BaseException | None) -> None:
        def attacks(asked: Asked, tell: object) -> Iterator[Found]:
            hit, alone = (factory.outcome(factory.run(it), [0.01] * 10) for it in ("flood", None))
            yield Found(KINDS["flood"], "h3", hit, alone, verdict.judged(hit, alone))
            if error is not None:
                raise error

        monkeypatch.setattr(laboratory, "check", lambda _: None)
        monkeypatch.setattr(laboratory, "attacks", attacks)

    return ends


def test_the_list_has_every_attack(gauntlet: Gauntlet) -> None:
    shown = gauntlet("attack", "list")
    assert shown.exit_code == 0
    assert all(key in shown.stdout for key in ATTACKS)
    found = json.loads(gauntlet("attack", "list", "--json").stdout)
    assert [it["key"] for it in found] == list(ATTACKS)


def test_the_list_is_whole_where_the_terminal_is_narrow(
    gauntlet: Gauntlet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    lines = gauntlet("attack", "list").stdout.splitlines()
    assert max(map(len, lines)) <= 60
    words = " ".join(it.strip() for it in lines)
    assert all(it.about in words and it.source in words for it in ATTACKS.values())


def test_options_offer_what_there_is() -> None:
    """They stand in the command besides, so that it need not load what it may not use."""
    offered = {it.name: set(it.type.choices) for it in run.params if isinstance(it.type, click.Choice)}
    assert offered == {
        "builtin": set(SERVERS),
        "protocols": set(PROTOCOLS),
        "certificate": set(KEYS),
        "defence": set(DEFENCES),
    }


@two_cores
@pytest.mark.usefixtures("programs")
def test_instructions_are_shown_by_what_they_are_spent_on(
    gauntlet: Gauntlet, monkeypatch: pytest.MonkeyPatch
) -> None:
    def counted(protocol: str, certificate: str) -> dict[str, Spent]:
        assert certificate == "rsa-2048"
        return {"server": Spent({"memcpy": 3e6 if protocol == "h3" else 1e6}), "client": Spent({"send": 7e3})}

    monkeypatch.setattr(arena, "ready_to_count", lambda: None)
    monkeypatch.setattr(functions, "handshake", counted)
    words = ("attack", "instructions", "--certificate", "rsa-2048")
    rows = [
        line.split() for line in gauntlet(*words, "--protocol", "h2", "--protocol", "h3").stdout.splitlines()
    ]
    assert ["copies,", "allocation", "1,000", "3,000"] in rows
    assert ["all", "7"] in [
        line.split() for line in gauntlet(*words, "--protocol", "h1", "--of", "client").stdout.splitlines()
    ]
    found = json.loads(gauntlet(*words, "--json").stdout)
    assert list(found) == ["h1", "h2", "h3"]
    assert found["h3"]["server"]["groups"]["copies, allocation"] == 3e6


def test_instructions_need_what_counts_them(
    programs: Path, gauntlet: Gauntlet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    refused(gauntlet("attack", "instructions"), 2, "valgrind is not installed")


@two_cores
def test_instructions_need_gauntlets_own_server(
    programs: Path, gauntlet: Gauntlet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arena, "ready_to_count", lambda: None)
    monkeypatch.setattr(functions, "handshake", lambda *_: {"server": Spent({}), "client": Spent({})})
    (programs / SERVER).unlink()
    refused(gauntlet("attack", "instructions"), 2, SERVER)


@pytest.mark.parametrize("listen", ["192.0.2.1:443", "10.0.0.1:443", "0.0.0.0:443", "localhost:443"])
def test_addresses_outside_of_loopback_are_refused(gauntlet: Gauntlet, listen: str) -> None:
    result = gauntlet("attack", "run", "flood", "--server", "true", "--listen", listen)
    refused(result, 2, "--listen", "loopback")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("flod",), "did you mean 'flood'?"),
        (("flood", "--rate", "20001"), "at most 20000 beginnings a second"),
        (("handshake-stall", "--held", "20001"), "at most 20000 connections are held"),
        (("flood", "--seconds", "601"), "2 to 600 s"),
        (("flood", "--held", "5"), "none of these attacks is measured by it"),
        (("amplification", "--protocol", "h2"), "is there over h3, not over h2"),
        (("flood", "--listen", "127.0.0.1:1"), "--listen goes with --server"),
        (("flood", "--long", "/x"), "--long goes with --server"),
        (("flood", "--server", "x", "--long", "y"), "--long: 'y' is no path; write one that begins with /"),
        (("flood", "--seconds", "1"), "2 to 600 s"),
        (("flood", "--rate", "0"), "more than 0 and at most 20000"),
        (("flood", "--rate", "-5"), "more than 0 and at most 20000"),
        (("flood", "--server", "x", "--builtin", "own"), "name one of them"),
        (("flood", "--server", "serve {prot}"), "{prot} stands for nothing; there are {port}, {address}"),
        (("flood", "--weakness", "nonsense"), "'nonsense' is none; there are no-handshake-timeout, "),
        (("syn-flood", "--defence", "retry"), "it has off (h1 h2), limit (h1 h2), cookies (the kernel's)."),
        (("flood", "--quota", "150%"), "from 20% to 100%"),
        (("flood", "--quota", "0%"), "from 20% to 100%"),
        (("flood", "--server", "x", "--weakness", "y"), "are of the built-in servers"),
        (("flood", "--builtin", "nginx", "--defence", "limit"), "nginx has no defence limit over h2"),
        (("flood", "--builtin", "quiche", "--protocol", "h2"), "quiche 0.24.9 speaks h3, and not h2"),
        (("flood", "--builtin", "nginx", "--weakness", "y"), "is of Gauntlet's own server"),
        (("flood", "--quota", "5%"), "from 20% to 100%"),
        (("flood", "--quota", "1"), "--quota"),
    ],
)
@pytest.mark.usefixtures("calm")
def test_what_cannot_be_done_is_one_sentence(gauntlet: Gauntlet, words: tuple[str, ...], told: str) -> None:
    refused(gauntlet("attack", "run", *words), 2, told)


@two_cores
@pytest.mark.usefixtures("calm")
def test_a_server_that_holds(gauntlet: Gauntlet) -> None:
    result = gauntlet("attack", "run", "flood", *QUICK)
    assert result.exit_code == 0, result.output
    assert "flood over h1: held" in result.stdout
    assert re.search(r"honest clients +100.0% of \d+ requests served", result.stdout)
    assert "60 begun of 60, 60 completed" in result.stdout


@two_cores
@pytest.mark.usefixtures("calm")
def test_the_answer_as_data(gauntlet: Gauntlet) -> None:
    result = gauntlet("attack", "run", "flood", *QUICK, "--json")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    (found,) = answer["found"]
    assert (found["attack"], found["protocol"], found["rate"], found["verdict"]) == (
        "flood",
        "h1",
        20.0,
        "held",
    )
    assert found["attacked"]["served_share"] == 1.0
    assert found["attacker"]["completed"] == 60
    assert found["curve"]["unserved"][-1] == 0.0
    assert len(found["curve_alone"]["time_s"]) == len(found["curve_alone"]["low"])
    assert 0 < found["alone"]["connected_mean_s"] < found["alone"]["end_mean_s"]
    assert answer["server"]["libraries"] == {"hyper": "1.0"}
    assert answer["whole"] is True
    assert answer["asked"] == {
        "attacks": ["flood"],
        "command": None,
        "protocols": ["h1"],
        "certificate": "p-256",
        "defence": "off",
        "weakness": "",
        "rate": 20.0,
        "held": None,
        "seconds": 3,
        "long": None,
        "listen": None,
    }
    assert set(answer["machine"]["programs"]) == {CLIENT, ATTACKER}
    assert answer["machine"]["server_core"] != answer["machine"]["attacker_core"]


@two_cores
@pytest.mark.usefixtures("calm")
def test_the_answer_is_kept_as_a_page_and_as_data(gauntlet: Gauntlet) -> None:
    result = gauntlet("attack", "run", "flood", *QUICK, "--out", "kept")
    assert result.exit_code == 0, result.output
    assert result.stderr.endswith("Kept in kept.\n")
    kept, page = json.loads(Path("kept/attacks.json").read_text()), Path("kept/report.html").read_text()
    assert (kept["found"][0]["verdict"], kept["whole"]) == ("held", True)
    assert "1 of 1 attack held, 0 broken, 0 invalid." in page and "broken off" not in page


@two_cores
@pytest.mark.parametrize("error", [RunError("The server (x) is gone."), KeyboardInterrupt()])
def test_a_run_that_was_broken_off_says_so(gauntlet: Gauntlet, played: Ends, error: BaseException) -> None:
    played(error)
    result = gauntlet("attack", "run", "flood", "header-drip", "--out", "kept", "--json")
    assert result.exit_code != 0
    kept = json.loads(Path("kept/attacks.json").read_text())
    assert kept == json.loads(result.stdout)
    assert (kept["whole"], kept["asked"]["attacks"]) == (False, ["flood", "header-drip"])
    assert [it["attack"] for it in kept["found"]] == ["flood"]
    assert "1 of 1 attack held, 0 broken, 0 invalid. The run was broken off" in (
        Path("kept/report.html").read_text()
    )


@two_cores
@pytest.mark.parametrize("fails", ["print_json", "write"])
def test_an_error_of_keeping_does_not_hide_what_ended_the_run(
    gauntlet: Gauntlet, played: Ends, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    def full(*_: object) -> None:
        raise RunError("could not write: the disk is full")

    monkeypatch.setattr(output if fails == "print_json" else attacked, fails, full)
    played(RunError("The server (x) is gone."))
    result = gauntlet("attack", "run", "flood", "--out", "kept", "--json")
    assert result.exit_code == 1
    assert "The server (x) is gone." in result.stderr and "disk is full" not in result.stderr
    assert Path("kept/attacks.json").exists() == (fails == "print_json"), "what could be kept is"
    assert bool(result.stdout) == (fails == "write")
    played(None)
    whole = gauntlet("attack", "run", "flood", "--out", "kept", "--json")
    assert (whole.exit_code, "disk is full" in whole.stderr) == (1, True)


@two_cores
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("syn-flood", "--defence", "cookies"), {"defence": "cookies", "listen": None, "long": None}),
        (("flood", "--defence", "retry", "--protocol", "h3"), {"defence": "retry"}),
        (
            ("flood", "--server", "x", "--listen", "127.0.0.1:8443", "--long", "/long"),
            {"listen": "127.0.0.1:8443", "long": "/long", "command": "x", "protocols": ["h2", "h3"]},
        ),
    ],
)
def test_what_was_asked_for_stands_in_the_data(
    gauntlet: Gauntlet, played: Ends, words: tuple[str, ...], told: dict[str, object]
) -> None:
    played(None)
    result = gauntlet("attack", "run", *words, "--json")
    assert result.exit_code == 0, result.output
    asked = json.loads(result.stdout)["asked"]
    assert asked["attacks"] == [words[0]]
    assert {name: asked[name] for name in told} == told


def test_a_folder_in_which_nothing_can_be_made_is_refused_before_anything_runs(
    gauntlet: Gauntlet, played: Ends
) -> None:
    """It is there, and root may not write into it either."""
    played(AssertionError("it runs"))
    result = gauntlet("attack", "run", "flood", "--out", "/proc")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("could not write into the folder of --out (/proc")
    assert result.stderr.count("\n") == 1


@two_cores
@pytest.mark.usefixtures("calm")
def test_a_folder_that_cannot_be_written_is_refused_before_anything_runs(gauntlet: Gauntlet) -> None:
    Path("taken").write_text("a file")
    result = gauntlet("attack", "run", "flood", *QUICK, "--out", "taken")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "could not write into the folder of --out (taken): File exists\n"


@two_cores
@pytest.mark.usefixtures("calm")
def test_a_machine_at_work_is_told_of_before_the_first_run(
    gauntlet: Gauntlet, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[dict[str, float]] = []

    def busy(**more: float) -> str:
        waited.append(more)
        return "something else takes 182% of a core (cargo 180%)"

    monkeypatch.setattr(idle, "busy", busy)
    first, *_ = gauntlet("attack", "run", "flood", *QUICK).stderr.splitlines()
    assert first.startswith("This machine is at work")
    assert "182% of a core (cargo 180%)" in first
    assert waited == [{"patience_s": 0}], "nobody waits half a minute for a machine to be idle"


@two_cores
@pytest.mark.usefixtures("calm")
def test_ones_own_server_is_started_and_a_broken_one_ends_with_1(
    gauntlet: Gauntlet, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = f"exec {sys.executable} {FAKES / 'server.py'} --listen {{address}} --protocol {{protocol}}"
    (programs / SERVER).unlink()
    held = gauntlet("attack", "run", "flood", "--server", command, *QUICK, "--json")
    assert held.exit_code == 0, held.output
    assert json.loads(held.stdout)["asked"]["command"] == command
    monkeypatch.setenv("FAKE_DIES_AFTER", "30")
    broken = gauntlet("attack", "run", "flood", "--server", command, *QUICK)
    assert broken.exit_code == 1
    assert "flood over h1: BROKEN" in broken.stdout
    assert "the server died: too many connections" in broken.stdout


@two_cores
@pytest.mark.usefixtures("calm")
def test_what_was_played_stays_where_the_rest_cannot_be(gauntlet: Gauntlet) -> None:
    begun = f"exec {sys.executable} {FAKES / 'server.py'} --listen {{address}} --protocol h1"
    command = f"case {{protocol}} in h1) {begun} ;; esac; echo only h1 >&2; exit 3"
    words = ("--server", command, *QUICK, "--protocol", "h2", "--json", "--out", "kept")
    result = gauntlet("attack", "run", "flood", *words)
    assert result.exit_code != 0
    assert "ended with code 3 before it served: only h1" in result.stderr
    assert [it["protocol"] for it in json.loads(result.stdout)["found"]] == ["h1"]
    assert json.loads(Path("kept/attacks.json").read_text()) == json.loads(result.stdout)
    assert json.loads(result.stdout)["whole"] is False


@two_cores
@pytest.mark.usefixtures("calm")
def test_an_attack_on_a_long_answer_tells_nothing_of_a_server_that_has_none(gauntlet: Gauntlet) -> None:
    short = ("--protocol", "h1", "--seconds", "3", "--held", "5", "--quota", "100%", "--json")
    result = gauntlet("attack", "run", "window-starvation", *short)
    assert result.exit_code == 1
    (found,) = json.loads(result.stdout)["found"]
    assert found["verdict"] == "invalid"
    assert found["why"] == [
        "nothing as long as 500000 bytes is at /bytes/1048576, which this attack asks for: "
        "--long PATH says where your server has it"
    ]


@two_cores
@pytest.mark.usefixtures("calm")
def test_a_run_beside_something_else_says_what_to_do(
    gauntlet: Gauntlet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gates, "OTHERS_OF_A_CORE", -1.0)
    monkeypatch.setattr(unattacked, "TRIES", 1)
    shown = gauntlet("attack", "run", "flood", *QUICK).stdout
    assert re.search(r"something else on this machine took \d+% of a core, and -100% are allowed\n", shown)
    assert "run this again" in shown


@two_cores
@pytest.mark.usefixtures("calm")
def test_an_invalid_run_is_said_to_tell_nothing(gauntlet: Gauntlet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_MOST_PER_S", "5")
    result = gauntlet("attack", "run", "flood", *QUICK)
    assert result.exit_code == 1
    assert "invalid: this run tells nothing" in result.stdout
    assert "it could not keep up" in result.stdout
    assert "a handshake" not in result.stdout
