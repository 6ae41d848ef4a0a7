"""Before the first run a guest says what it cannot play: one sentence, and nothing is left behind."""

import re
from pathlib import Path

import pytest

from gauntlet.engine import guest, virtual
from gauntlet.engine.virtual import Virtual
from gauntlet.errors import UserError
from gauntlet.executor.planning import plans
from gauntlet.experiment import PROTOCOLS, RunSpec, expand, parse_experiment
from gauntlet.rehearsal import rehearse
from tests.guest.conftest import gauntlet

CBR = 'app = "cbr"\nrate = "100kbit/s"\nduration = "1min"\npacket = "1000B"\n'
BULK = 'app = "bulk"\nsize = "1MB"\n'
FRESH = 'app = "periodic"\nsize = "200B"\ninterval = "1s"\ncount = 3\nconnection = "fresh"\n'
WEB = 'app = "web"\n'
PAGE = 'app = "page"\npage = "kepler"\n'
OPTIONAL = "quic-quiche"
"""The stack that only some guests have."""


CONSTANT = '[scenario]\nname = "constant"\nrate = "5.2Mbit/s"\n'
PAIR = '[network]\npaths = [["train", "lte", "ground"], ["train", "leo", "ground"]]\n' + "".join(
    f'[[network.link]]\nbetween = ["{one}", "{other}"]\nrate = "5.2Mbit/s"\n'
    for bearer in ("lte", "leo")
    for one, other in (("train", bearer), (bearer, "ground"))
)
"""Two bearers: both ends have two addresses."""


def text(protocols: list[str], workload: str, further: str = "", network: str = CONSTANT) -> str:
    """An experiment over a constant link, or over another network."""
    return (
        f'[experiment]\nname = "tried"\nrepetitions = 2\n{network}'
        f"[matrix]\nprotocols = {protocols}\n[workload]\n{workload}{further}"
    )


def runs(protocols: list[str], workload: str, further: str = "", network: str = CONSTANT) -> list[RunSpec]:
    """The runs of such an experiment."""
    return expand(parse_experiment(text(protocols, workload, further, network), "own.toml", Path()))


def tried(specs: list[RunSpec], machine: guest.Machine) -> None:
    """Rehearse these runs."""
    rehearse(list(zip(specs, plans(specs), strict=True)), Virtual(machine), "own.toml")


@pytest.mark.parametrize(
    ("protocol", "workload", "further", "words"),
    [
        ("udp", FRESH, "", ["'udp'", "'periodic'", '"fresh"', '"kept"']),
        ("quic-quinn-datagram", BULK, "", ["'quic-quinn-datagram'", "'bulk'", "`cbr`"]),
        ("quic-quinn-datagram", CBR.replace("1000B", "1448B"), "", ["'cbr'", "too long for a QUIC datagram"]),
        ("restp-voice", CBR.replace("1000B", "1448B"), "", ["does not fit a ResTP packet", "smaller"]),
        ("tcp-bbr", CBR.replace("1000B", "4B"), "", ["played: `packet` is 4; ", "from 8 to"]),
        ("udp", FRESH.replace("fresh", "kept").replace("200B", "4B"), "", ["played: `size` is 4; "]),
        (
            "tls-bbr",
            PAGE + 'http = "2"\n',
            "resumption = true\nearly_data = true",
            ["leave `early_data` out."],
        ),
        ("sctp", BULK, "homes = 2", ["'sctp'", "`homes` is 2", "fewer homes"]),
        ("restp-file", BULK, 'congestion = "lia"', ["'restp-file'", "LIA", "several paths"]),
        ("udp", CBR, '[link]\ndrop = "first-syn"', ["'udp'", "SYN", "tcp, mptcp, sctp, tls and restp"]),
        ("tcp-bbr", CBR, '[sysctl]\n"net.ipv4.tcp_moon" = 1', ["sysctls", "net.ipv4.tcp_moon"]),
        (
            "mptcp-cubic",
            BULK,
            '[sysctl]\n"net.mptcp.scheduler" = "redundant"',
            ['sysctls: the kernel has no "redundant" for net.mptcp.scheduler'],
        ),
    ],
)
def test_what_does_not_go_together_is_one_sentence(
    machine: guest.Machine, protocol: str, workload: str, further: str, words: list[str]
) -> None:
    with pytest.raises(UserError) as refused:
        tried(runs([protocol], workload, further), machine)
    sentence = str(refused.value)
    assert re.fullmatch(r"own\.toml: '.*' with the application '.*' cannot be played: .*[^.]\.", sentence)
    assert [word for word in words if word not in sentence] == [], sentence


def test_whatever_can_be_played_is_let_through(machine: guest.Machine) -> None:
    every = [protocol for protocol in PROTOCOLS.values() if protocol.stack != OPTIONAL]
    homes = [protocol.key for protocol in every if "homes" in protocol.stack_params]
    known = [protocol.key for protocol in every if protocol.key not in homes]
    reliable = [key for key in known if PROTOCOLS[key].reliable]
    http = [f"tls-{name}" for name in ("cubic", "sctp")]
    late = CBR + 'start = "30s"\n'
    specs = [
        *runs(known, late),
        *runs(homes, late, network=PAIR),
        *runs(reliable, FRESH),
        *runs(["tcp-cubic", "quic-quinn-bbr"], WEB),
    ]
    specs += [*runs(http, PAGE + 'http = "1.1"\n'), *runs(["quic-quinn-cubic"], PAGE + 'http = "3-fresh"\n')]
    tried(specs, machine)


MALLORY = '[[in_path]]\nplace = "train"\n[[in_path.rule]]\nname = "r"\nmatch = { direction = "up" }\n'
"""A node beside the client, and a rule for what the client sends."""


def test_a_flow_that_a_rule_ends_can_be_played(machine: guest.Machine) -> None:
    """An echo ends the sessions of a page at their beginning: it was refused for what it is played for."""
    echo = MALLORY + 'do = { action = "reflect", keep = true }\n'
    tried(runs(["tls-cubic"], PAGE + 'http = "2"\n', echo), machine)


def test_a_rule_that_does_nothing_yet_is_read(machine: guest.Machine) -> None:
    with pytest.raises(UserError) as refused:
        nothing = MALLORY + 'do = { action = "alter", within = "payload", bits = 0 }\n'
        tried(runs(["udp"], CBR, nothing), machine)
    sentence = str(refused.value)
    assert sentence.startswith("own.toml: [[in_path]] in-path, rule 'r': "), sentence
    assert "0 for `bits`" in sentence


READY = "echo GAUNTLET READY; exec sleep 1000"
"""A server that waits for its end."""


def own_stack(folder: Path, client: str, server: str = READY) -> list[RunSpec]:
    """An experiment with a stack of one's own whose programs are two lines of shell."""
    for name, script in (("client.sh", client), ("server.sh", server)):
        (folder / name).write_text(f"{script}\n")
    section = '[stack.mine]\nclient = ["sh", "client.sh"]\nserver = ["sh", "server.sh"]\n'
    return expand(parse_experiment(text(["mine"], BULK, section), "own.toml", folder))


@pytest.mark.parametrize(
    ("client", "server", "words"),
    [
        ("echo no bulk >&2; exit 127", READY, "does not do this: no bulk"),
        ("echo bad luck >&2; exit 3", READY, "client failed: bad luck"),
        ("exec sleep 1000", "echo no library >&2; exit 1", "server failed: no library"),
    ],
)
def test_programs_of_ones_own_are_tried_before_the_first_run(
    machine: guest.Machine, tmp_path: Path, client: str, server: str, words: str
) -> None:
    specs = own_stack(tmp_path, client, server)
    with pytest.raises(UserError, match=rf"'mine' with the application 'bulk' cannot be played: .*{words}"):
        tried(specs, machine)
    planned = list(zip(specs, plans(specs), strict=True))
    rehearse(planned, Virtual(machine), "own.toml", programs=False)


@pytest.mark.parametrize("client", ["exec sleep 1000", "sleep 0.97; echo no time left >&2; exit 1"])
def test_programs_that_need_longer_than_a_rehearsal_can_be_played(
    machine: guest.Machine, tmp_path: Path, client: str
) -> None:
    tried(own_stack(tmp_path, client), machine)


def test_an_optional_stack_is_there_or_said_to_be_missing(machine: guest.Machine) -> None:
    try:
        tried(runs(["tcp-cubic", "quic-quiche-cubic"], BULK), machine)
    except UserError as refused:
        assert "'quic-quiche-cubic' with the application 'bulk' cannot be played" in str(refused)
        assert "GAUNTLET_FEATURES=quiche make setup" in str(refused)


def test_run_refuses_before_it_plays_or_writes_anything(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(text(["tcp-cubic", "udp"], FRESH))
    answer = gauntlet("run", "own.toml", cwd=tmp_path)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.splitlines()[-1].startswith("own.toml: 'udp' with the application 'periodic' cannot be")
    assert not (tmp_path / "results").exists()


def test_more_runs_than_a_guest_holds_are_rehearsed_by_several(
    machine: guest.Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All plans of a guest lie in its memory at once: a study of 5,880 runs of 25 sessions had no room."""
    specs = [
        *runs(["tcp-cubic", "tcp-bbr"], CBR),
        *runs(["udp"], CBR.replace("1000B", "4B")),
    ]
    booted: list[int] = []
    boot = guest.boot

    def counted(some: list[dict[str, object]], *rest: object, **more: object) -> object:
        booted.append(len(some))
        return boot(some, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(guest, "boot", counted)
    monkeypatch.setattr(virtual, "_REHEARSED_BYTES", 1)
    with pytest.raises(UserError, match=r"own\.toml: 'udp' .* `packet` is 4"):
        tried(specs, machine)
    assert booted == [1, 1, 1], "a guest for each of three cells, whatever their repetitions"
