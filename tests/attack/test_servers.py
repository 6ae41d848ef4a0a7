"""Servers: what they are started with, and that nginx and Caddy take it, where they are."""

import json
import re
import subprocess
import tomllib
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from gauntlet.attack import certificates
from gauntlet.attack.certificates import Chain
from gauntlet.attack.kinds import KINDS, LONG_BYTES, PROTOCOLS, STATE
from gauntlet.attack.loopback import free
from gauntlet.attack.programs import ATTACKER, CLIENT, SERVER, program
from gauntlet.attack.requests import OK
from gauntlet.attack.servers import caddy, command, nginx, quiche
from gauntlet.attack.servers.contract import DEFENCES, PAGE_BYTES, RETRY, Server, Wanted, write_files
from gauntlet.attack.servers.own import OWN, S2N_QUIC, WEAKNESSES
from gauntlet.attack.servers.registry import SERVERS
from gauntlet.errors import UserError


@pytest.fixture
def wanted(tmp_path: Path) -> Wanted:
    """A server over HTTP/3 in a folder of its own."""
    folder = tmp_path / "server"
    folder.mkdir()
    names = (tmp_path / name for name in ("ca.pem", "server.pem", "server.key"))
    return Wanted("h3", free(), Chain(*names), folder)


def after(words: list[str], option: str) -> str:
    """What stands behind an option."""
    return words[words.index(option) + 1]


@pytest.mark.usefixtures("programs")
def test_the_own_server_is_told_everything(wanted: Wanted) -> None:
    words = OWN.launch(replace(wanted, defence=RETRY, tight=True, more=("--early-data",))).command
    assert after(words, "--protocol") == "h3"
    assert after(words, "--listen") == str(wanted.address)
    assert after(words, "--retry") == "always"
    assert after(words, "--header-timeout-ms") == "2000"
    assert words[-1] == "--early-data"
    assert "--retry" not in OWN.launch(wanted).command


@pytest.mark.usefixtures("programs")
def test_the_own_server_over_s2n_quic_is_told_the_same_and_its_library(wanted: Wanted) -> None:
    asked = replace(wanted, defence=RETRY, tight=True)
    words = S2N_QUIC.launch(asked).command
    assert after(words, "--quic-library") == "s2n-quic"
    at = words.index("--quic-library")
    assert words[:at] + words[at + 2 :] == OWN.launch(asked).command


def test_an_own_server_that_lacks_s2n_quic_is_told_with_what_builds_it(programs: Path) -> None:
    program_ = programs / SERVER
    program_.write_text("#!/bin/sh\necho 'Usage: --protocol --listen'\n")
    with pytest.raises(UserError, match=r"does not know --quic-library.*`cargo build .*-p web"):
        S2N_QUIC.ready()
    program_.write_text("#!/bin/sh\necho 'Usage: --protocol --quic-library'\n")
    S2N_QUIC.ready()


def test_a_weakness_takes_the_server_that_was_built_for_it(wanted: Wanted, programs: Path) -> None:
    weak = replace(wanted, weakness="no-header-timeout")
    with pytest.raises(UserError, match="--features weak"):
        OWN.launch(weak)
    (programs / "gauntlet-web-server-weak").write_text("")
    words = OWN.launch(weak).command
    assert words[0].endswith("gauntlet-web-server-weak")
    assert after(words, "--weakness") == "no-header-timeout"
    both = OWN.launch(replace(wanted, weakness="keeps-bodies+no-idle-timeout")).command
    named = [word for before, word in pairwise(both) if before == "--weakness"]
    assert named == ["keeps-bodies", "no-idle-timeout"]


@pytest.mark.parametrize(
    ("protocol", "there", "absent"),
    [
        ("h1", ["ssl;", "http2 off;", "http3 off;"], [" quic;"]),
        ("h2", ["ssl;", "http2 on;", "http3 off;"], [" quic;"]),
        ("h3", [" quic;", "http3 on;", "http2 off;"], [" ssl;"]),
    ],
)
def test_nginx_listens_for_one_protocol(
    wanted: Wanted, protocol: str, there: list[str], absent: list[str]
) -> None:
    text = nginx.configuration(replace(wanted, protocol=protocol))
    assert all(word in text for word in there)
    assert not any(word in text for word in absent)
    assert f"listen {wanted.address}" in text


def test_nginx_has_retry_and_time_outs_on_request(wanted: Wanted) -> None:
    plain = nginx.configuration(wanted)
    asked = nginx.configuration(replace(wanted, defence=RETRY, tight=True))
    assert "quic_retry off;" in plain and "quic_retry on;" in asked
    assert "client_header_timeout 2s;" in asked and "client_header_timeout" not in plain


@pytest.mark.parametrize(
    ("protocol", "key"), [*((protocol, "p-256") for protocol in PROTOCOLS), ("h3", "ed25519")]
)
def test_nginx_takes_its_configuration_and_key(wanted: Wanted, protocol: str, key: str) -> None:
    try:
        nginx.program()
        chain = certificates.chain(key, wanted.folder.parent)
    except UserError as error:
        pytest.skip(str(error))
    asked = replace(wanted, protocol=protocol, chain=chain, defence=RETRY, tight=True)
    launch = nginx.NGINX.launch(asked)
    done = subprocess.run([*launch.command, "-t"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_servers_of_files_have_the_page_and_the_long_answers(tmp_path: Path) -> None:
    write_files(tmp_path / "files")
    found = {it.name: it.stat().st_size for it in (tmp_path / "files").rglob("*") if it.is_file()}
    assert found == {"index.html": PAGE_BYTES, **{str(length): length for length in LONG_BYTES}}
    assert {it.long_bytes for it in KINDS.values() if it.variant == "ack-withholding"} <= set(LONG_BYTES)


def test_an_nginx_without_http_3_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "nginx"
    old.write_text("#!/bin/sh\necho 'nginx version: nginx/1.22.1' >&2\n")
    old.chmod(0o755)
    monkeypatch.setenv("GAUNTLET_NGINX", str(old))
    with pytest.raises(UserError, match=r"has no HTTP/3 .*`scripts/nginx.sh` builds"):
        nginx.program()
    monkeypatch.setenv("GAUNTLET_NGINX", str(tmp_path / "nowhere"))
    with pytest.raises(UserError, match=r"nginx is not here"):
        nginx.program()


@pytest.mark.parametrize("tight", [False, True])
def test_caddy_takes_its_configuration(wanted: Wanted, tight: bool) -> None:
    text = caddy.configuration(replace(wanted, tight=tight))
    assert f"https://:{wanted.address.port} " in text
    assert ("read_header 2s" in text) == tight
    assert text.count("{") == text.count("}")
    try:
        caddy.CADDY.ready()
        chain = certificates.chain("p-256", wanted.folder.parent)
    except UserError as error:
        pytest.skip(str(error))
    launch = caddy.CADDY.launch(replace(wanted, chain=chain))
    file = launch.command[-1]
    validate = [*launch.command[: launch.command.index("run")], "validate", "--adapter", "caddyfile"]
    done = subprocess.run([*validate, "--config", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


CONTROLS = Path(__file__).parents[2] / "controls" / "quiche"


def test_a_quiche_that_is_not_built_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GAUNTLET_CACHE", str(tmp_path))
    with pytest.raises(UserError, match=r"`scripts/quiche.sh` builds it"):
        quiche.QUICHE_OLD.ready()


def test_quiche_tells_its_version_and_is_told_where_to_listen(
    wanted: Wanted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GAUNTLET_CACHE", str(tmp_path))
    (tmp_path / "quiche").mkdir()
    built = tmp_path / "quiche" / "old"
    built.write_text("#!/bin/sh\necho quiche 0.19.0\n")
    built.chmod(0o755)
    assert quiche.QUICHE_OLD.version() == "0.19.0"
    words = quiche.QUICHE_OLD.launch(wanted).command
    assert words[0] == str(built)
    assert after(words, "--listen") == str(wanted.address)
    assert after(words, "--key") == str(wanted.chain.key)


@pytest.mark.parametrize(
    ("build", "fixed"), [("old", False), ("later", True)], ids=["before its advisories", "after them"]
)
def test_a_control_tells_the_version_that_it_is_built_from(build: str, fixed: bool) -> None:
    """Its package has the version of its quiche, which is one alone, and the lock file has that."""
    told = tomllib.loads((CONTROLS / build / "Cargo.toml").read_text())
    version = told["package"]["version"]
    assert told["dependencies"]["quiche"] == f"={version}"
    locked = tomllib.loads((CONTROLS / "Cargo.lock").read_text())["package"]
    assert version in {it["version"] for it in locked if it["name"] == "quiche"}
    # CVE-2023-6193 ends with 0.19.1, CVE-2024-1410 and CVE-2024-1765 with 0.19.2 and 0.20.1.
    number = tuple(map(int, version.split(".")))
    assert (number >= (0, 20, 1)) == fixed
    assert fixed or number < (0, 19, 1)


def test_nothing_of_the_project_rests_on_the_old_one() -> None:
    roots = tomllib.loads((CONTROLS.parents[1] / "Cargo.toml").read_text())
    assert not any(it.startswith("controls") for it in roots["workspace"]["members"])
    locked = tomllib.loads((CONTROLS.parents[1] / "Cargo.lock").read_text())["package"]
    assert not any(it["name"] == "quiche" and it["version"].startswith("0.19.") for it in locked)


BUILDS = pytest.mark.parametrize("build", [quiche.QUICHE_OLD, quiche.QUICHE], ids=lambda it: it.key)


def control(build: Server, wanted: Wanted) -> list[str]:
    """What starts it; skips where it is not built."""
    try:
        build.ready()
    except UserError as error:
        pytest.skip(str(error))
    return build.launch(wanted).command


@BUILDS
def test_quiche_refuses_what_is_not_loopback(build: Server, wanted: Wanted) -> None:
    words = control(build, wanted)
    words[words.index("--listen") + 1] = "192.0.2.1:4433"
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=10)
    assert done.returncode != 0 and "is no address on loopback" in done.stderr


@BUILDS
def test_quiche_serves_its_page_and_long_answers(build: Server, wanted: Wanted) -> None:
    control(build, wanted)
    try:
        chain = certificates.chain("p-256", wanted.folder.parent)
        client = program(CLIENT)
    except UserError as error:
        pytest.skip(str(error))
    serves_page_and_long_answers(build, client, replace(wanted, chain=chain))


@pytest.mark.parametrize("defence", S2N_QUIC.defences)
def test_s2n_quic_serves_its_page_and_long_answers(wanted: Wanted, defence: str) -> None:
    try:
        S2N_QUIC.ready()
        chain = certificates.chain("p-256", wanted.folder.parent)
        client = program(CLIENT)
    except UserError as error:
        pytest.skip(str(error))
    serves_page_and_long_answers(S2N_QUIC, client, replace(wanted, chain=chain, defence=defence))


def serves_page_and_long_answers(build: Server, client: Path, wanted: Wanted) -> None:
    """That the page and the longest answer come whole, and the server goes on."""
    with subprocess.Popen(build.launch(wanted).command) as server:
        try:
            for path, length in (("/", PAGE_BYTES), (f"/bytes/{LONG_BYTES[-1]}", LONG_BYTES[-1])):
                assert served_bytes(client, wanted, path) == length
            assert server.poll() is None
        finally:
            server.terminate()


def served_bytes(client: Path, wanted: Wanted, path: str) -> int:
    """How long the answer at a path is. The server may not listen yet: the client asks again."""
    words = [
        str(client), "--protocol", "h3", "--connect", str(wanted.address),
        "--ca", str(wanted.chain.authority), "--path", path,
        "--count", "1", "--interval-ms", "1000", "--timeout-ms", "10000",
    ]  # fmt: skip
    said = ""
    for _ in range(5):
        said = subprocess.run(words, capture_output=True, text=True, check=False, timeout=30).stdout
        for line in said.splitlines():
            asked = json.loads(line).get("request")
            if asked and asked["outcome"] == OK:
                return int(asked["bytes"])
    raise AssertionError(said)


def test_names_in_a_command_are_replaced_as_words_of_the_shell(wanted: Wanted, tmp_path: Path) -> None:
    odd = replace(wanted.chain, key=tmp_path / "a key's file")
    text = command.named("serve --port {port} --key {key} '{protocol}' {other}", replace(wanted, chain=odd))
    assert text.startswith(f"serve --port {wanted.address.port} --key '")
    assert text.endswith("'h3' {other}")
    done = subprocess.run(
        ["sh", "-c", command.named("echo {key}", replace(wanted, chain=odd))],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == str(odd.key)


@pytest.mark.parametrize(
    "words",
    [
        "serve {port} ${PORT} ${X:-a}",
        "cp a.{pem,key}",
        """serve '{"tls": {"port": 1}}'""",
        "awk '{ print }' {key}",
        "serve {{foo}}",
    ],
)
def test_braces_of_the_shell_and_of_json_go_through(words: str) -> None:
    command.server(words, ["h2"]).ready()


@pytest.mark.parametrize("words", ["serve ${port}", "serve {{port}}", "cp a.{port,key}", "{ port }"])
def test_what_is_no_name_alone_in_braces_is_not_replaced(words: str, wanted: Wanted) -> None:
    assert command.named(words, wanted) == words


@pytest.mark.parametrize(
    "words", ["serve {foo}", "serve --port={Port}", "PORT={port} serve {a_b}", "awk '{print}'"]
)
def test_a_name_in_braces_that_stands_for_nothing_is_refused(words: str) -> None:
    with pytest.raises(UserError, match=r"\{(foo|Port|a_b|print)\} stands for nothing; there are \{port\}"):
        command.server(words, ["h2"]).ready()


@pytest.mark.parametrize("server", SERVERS.values(), ids=lambda it: it.key)
def test_a_server_has_defences_over_protocols_that_it_speaks(server: Server) -> None:
    assert set(server.defences) <= set(DEFENCES)
    for over in server.defences.values():
        assert set(over) <= set(server.protocols) <= set(PROTOCOLS)


def test_attacks_say_what_they_are() -> None:
    for it in KINDS.values():
        assert it.about.endswith(".") and it.source and it.invariants
        assert it.timed or STATE not in it.invariants, "the state is held against tight time-outs"
        assert set(it.protocols) <= set(PROTOCOLS)
        words = it.arguments("127.0.0.1:1", it.protocols[0], it.usual, 10)
        assert words[0] == it.kind
        assert after(words, f"--{it.dose}") == str(it.usual)
        assert after(words, "--target") == "127.0.0.1:1"
        assert it.long_bytes == 0 or after(words, "--path") == f"/bytes/{it.long_bytes}"


def test_what_a_control_lacks_is_what_the_server_can_be_made_to_lack() -> None:
    source = (Path(__file__).parents[2] / "crates" / "web" / "src" / "weakness.rs").read_text()
    there = set(re.findall(r'Weakness \{ name: "([a-z-]+)"', source))
    named = {name for it in KINDS.values() for name in it.weakness.split("+") if name}
    assert named and named <= there
    assert there == set(WEAKNESSES)
    # Bounds that no attack here comes near: connections are looked at at once, and bodies only drip.
    others = {"unbounded-handshakes", "unbounded-connections", "unbounded-incoming", "unbounded-bodies"}
    assert there - named == others


@pytest.mark.parametrize("key", KINDS)
def test_the_attacker_takes_what_it_is_told(key: str) -> None:
    try:
        attacker = program(ATTACKER)
    except UserError as error:
        pytest.skip(str(error))
    kind = KINDS[key]
    done = subprocess.run([str(attacker), kind.kind, "--help"], capture_output=True, text=True, check=True)
    for word in kind.arguments("127.0.0.1:1", kind.protocols[0], kind.usual, 10):
        assert not word.startswith("--") or re.search(rf"{word}\b", done.stdout), word
    assert kind.variant in done.stdout


def test_what_is_held_is_built_up_in_five_seconds() -> None:
    words = KINDS["header-drip"].arguments("127.0.0.1:1", "h1", 500, 10)
    assert (after(words, "--held"), after(words, "--rate")) == ("500", "100")
