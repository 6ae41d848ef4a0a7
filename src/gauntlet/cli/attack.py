"""`gauntlet attack`: servers of one's own under attack, on this machine's loopback."""

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from gauntlet.attack.laboratory import Asked, Found
    from gauntlet.attack.servers.contract import Server

_PROTOCOLS = ("h1", "h2", "h3")
_certificate = click.option(
    "--certificate", type=click.Choice(("p-256", "ed25519", "rsa-2048", "rsa-4096")), default="p-256",
    show_default=True, help="The key of the certificate that is made for the server.",
)  # fmt: skip


def _protocols(words: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option("--protocol", "protocols", multiple=True, type=click.Choice(_PROTOCOLS), help=words)


@click.group(short_help="Attack a web server of your own, on this machine.")
def attack() -> None:
    """Attack a web server of your own, on this machine, and see whether it keeps serving.

    An honest client asks for a page all the while. Every process is on loopback: other addresses are
    refused, without a switch. What is sent is behaviour that standards and advisories describe, bounded in
    rate, number and time.

    \b
    Examples:
      gauntlet attack list
      gauntlet attack run flood --protocol h3
      gauntlet attack run --server './my-server --port {port} --cert {certificate} --key {key}'
    """


@attack.command("list", short_help="Say which attacks there are.")
@click.option("--json", "json_", is_flag=True, help="Write the answer as JSON.")
def list_(json_: bool) -> None:
    """Say which attacks there are, over which protocols, how much of each is usual, and where each is
    described.

    \b
    Examples:
      gauntlet attack list
      gauntlet attack list --json
    """
    from dataclasses import asdict

    from gauntlet.attack.kinds import ATTACKS
    from gauntlet.cli.output import console, print_json

    if json_:
        print_json([asdict(it) for it in ATTACKS.values()])
        return
    shown = console()
    for it in ATTACKS.values():
        usual = f"{it.usual} {'held' if it.dose == 'held' else 'a second'}"
        shown.print(f"[bold]{it.key}[/] over {' '.join(it.protocols)}, usually {usual}")
        words = f"{it.about} Source: {it.source}."
        click.echo(click.wrap_text(words, shown.width - 1, initial_indent="  ", subsequent_indent="  "))


@attack.command(short_help="Attack a server and see whether it holds.")
@click.argument("kinds", nargs=-1, metavar="[ATTACK]...")
@click.option(
    "--server", "command", metavar="CMD", help="What starts your own server; a command for the shell."
)
@click.option(
    "--listen",
    metavar="ADDRESS:PORT",
    help="Where it listens (default: a free port of 127.0.0.1, as {port}).",
)
@click.option(
    "--long", "long_path", default="", metavar="PATH",
    help="Where your server has an answer of 500000 bytes or more, for attacks that do not take it (default: "
    "/bytes/1048576 and /bytes/10000000).",
)  # fmt: skip
@click.option(
    "--builtin", type=click.Choice(("own", "s2n-quic", "nginx", "caddy", "aioquic", "quiche", "quiche-old")),
    help="Without --server: which server (default: own); s2n-quic is own over another QUIC library.",
)  # fmt: skip
@_protocols(
    "Can be repeated (default: h2 and h3, of a built-in server those that it speaks; a server of your own is "
    "not asked what it speaks)."
)
@_certificate
@click.option(
    "--defence", type=click.Choice(("off", "retry", "limit", "cookies")), default="off", show_default=True,
    help="Of the built-in servers; `cookies` are the kernel's, under syn-flood.",
)  # fmt: skip
@click.option(
    "--weakness", default="", metavar="NAME",
    help="A bound that the built-in server shall lack; several are joined by +. `gauntlet attack list "
    "--json` names that of each attack (weakness).",
)  # fmt: skip
@click.option("--rate", type=float, metavar="PER_S", help="Beginnings a second (default: as the list says).")
@click.option("--held", type=int, metavar="N", help="Connections held (default: as the list says).")
@click.option(
    "--seconds", type=int, default=10, show_default=True, help="How long each attack lasts, 2 to 600."
)
@click.option(
    "--quota", default="20%", show_default=True, metavar="SHARE",
    help="What the server may take of a core, 20% to 100%, by a control group; 100%: all, without one.",
)  # fmt: skip
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="DIR",
    help="Keep the answer there: a page (report.html) and everything as data (attacks.json).",
)  # fmt: skip
@click.option("--json", "json_", is_flag=True, help="Write everything as JSON, with survival curves.")
@click.pass_context
def run(ctx: click.Context, /, *, out: Path | None, json_: bool, **options: Any) -> None:
    """Attack a server, one ATTACK after the other (none: all but syn-flood), and say of each whether the
    server held.

    In CMD, {port}, {address}, {host}, {certificate}, {key} and {protocol} are replaced: the server has to
    listen there, for TCP or UDP as the protocol has it, with that certificate. It is started anew for every
    attack and ended after it. `held`: honest requests were served about as before, and memory stayed
    bounded; `broken`: not; `invalid`: the run tells nothing, since attacker, client or machine was at its
    limit. Ends with 1 when something was broken or invalid.

    \b
    Examples:
      gauntlet attack run flood --protocol h2 --protocol h3 --rate 400
      gauntlet attack run handshake-stall header-drip --held 1000 --seconds 20 --json
      gauntlet attack run amplification --certificate rsa-4096
      gauntlet attack run syn-flood --defence cookies
      gauntlet attack run rapid-reset --builtin nginx --out results/nginx
      gauntlet attack run --server 'caddy run --config my/Caddyfile' --listen 127.0.0.1:8443
    """
    from gauntlet.attack import laboratory, terminal
    from gauntlet.attack.verdict import HELD
    from gauntlet.benches import idle
    from gauntlet.cli.output import print_json

    asked = _asked(**options)
    laboratory.check(asked)
    if out is not None:
        _refuse_what_cannot_be_written(out)
    if words := idle.busy(patience_s=0):
        click.echo(f"This machine is at work, and runs may be invalid for it: {words}.", err=True)
    found: list[Found] = []
    try:
        for one in laboratory.attacks(asked, lambda words: click.echo(words, err=True)):
            found.append(one)
            if not json_:
                click.echo("\n".join(terminal.lines(one)))
    except BaseException:  # What was played is told and kept; of errors, the one that ended the rest counts.
        if found and json_:
            with suppress(Exception):
                print_json(_as_data(asked, found, whole=False))
        if found and out is not None:
            with suppress(Exception):
                _keep(asked, found, out, whole=False)
        raise
    if json_:
        print_json(_as_data(asked, found, whole=True))
    if out is not None:
        _keep(asked, found, out, whole=True)
    ctx.exit(0 if all(it.verdict.verdict == HELD for it in found) else 1)


@attack.command(short_help="Say what a handshake's instructions are spent on.")
@_protocols("Can be repeated (default: all three).")
@_certificate
@click.option(
    "--of", "who", type=click.Choice(("server", "client")), default="server", show_default=True,
    help="At which end.",
)  # fmt: skip
@click.option(
    "--json", "json_", is_flag=True, help="Write both ends as JSON, with the functions that take most."
)
def instructions(protocols: tuple[str, ...], certificate: str, who: str, json_: bool) -> None:
    """Say what the instructions of a handshake with one request are spent on, of Gauntlet's own server and
    client, by valgrind's callgrind: the difference of twelve handshakes and two, so that nothing of the start
    is in it. The kernel's are not counted. Over TLS and TCP they repeat to a percent; over QUIC, where a
    connection that lasts longer sends more probes, not as closely.

    \b
    Examples:
      gauntlet attack instructions
      gauntlet attack instructions --protocol h3 --of client
      gauntlet attack instructions --certificate rsa-2048 --json
    """
    from gauntlet.attack import arena, functions, terminal
    from gauntlet.attack.servers.own import OWN
    from gauntlet.cli.output import console, print_json

    arena.ready(None)
    OWN.ready()
    arena.ready_to_count()
    found = {it: functions.handshake(it, certificate) for it in dict.fromkeys(protocols or _PROTOCOLS)}
    if json_:
        print_json({over: {end: it.to_json() for end, it in of.items()} for over, of in found.items()})
    else:
        console().print(terminal.spent(who, {over: of[who] for over, of in found.items()}))


def _as_data(asked: "Asked", found: "Sequence[Found]", *, whole: bool) -> dict[str, Any]:
    from gauntlet.attack import programs
    from gauntlet.attack.namespace import WHEN_FULL
    from gauntlet.attack.servers.command import KEY
    from gauntlet.attack.servers.contract import COOKIES
    from gauntlet.benches import attack_common

    run, server = asked.server, asked.server.server
    return {
        "server": {"name": server.words, "version": server.version(), "libraries": _libraries(found)},
        "of_a_core": run.of_a_core,
        "asked": {
            "attacks": [it.key for it in asked.kinds],
            "command": server.words if server.key == KEY else None,
            "protocols": list(asked.protocols),
            "certificate": run.certificate,
            "defence": COOKIES if run.cookies == WHEN_FULL else run.defence,
            "weakness": run.weakness,
            **asked.doses,
            "seconds": asked.seconds,
            "long": run.long_path or None,
            "listen": None if run.at is None else str(run.at),
        },
        "machine": {
            **attack_common.machine(),
            "programs": programs.hashes((programs.CLIENT, programs.ATTACKER)),
        },
        "whole": whole,
        "found": [it.to_json() for it in found],
    }


def _libraries(found: "Sequence[Found]") -> dict[str, str]:
    return dict(found[0].attacked.libraries) if found else {}


def _refuse_what_cannot_be_written(folder: Path) -> None:
    """Raise RunError when nothing can be kept in a folder, which is made."""
    from tempfile import TemporaryFile

    from gauntlet.results.files import failures_named

    with failures_named("write into the folder of --out"):
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass


def _keep(asked: "Asked", found: "Sequence[Found]", folder: Path, *, whole: bool) -> None:
    """Page and data, which is said. Raises RunError when they cannot be written."""
    from gauntlet.report import attacked
    from gauntlet.results.files import failures_named, json_bytes, write_whole
    from gauntlet.space.machine import description

    server = asked.server.server
    about = attacked.About(
        command=["gauntlet", *sys.argv[1:]],
        server=server.words,
        version=server.version(),
        libraries=_libraries(found),
        of_a_core=asked.server.of_a_core,
        machine=description(),
        whole=whole,
    )
    attacked.write(found, folder, about)
    with failures_named(f"write the data {folder}"):
        write_whole(folder / "attacks.json", json_bytes(_as_data(asked, found, whole=whole)))
    click.echo(f"Kept in {folder}.", err=True)


def _asked(
    *,
    kinds: tuple[str, ...],
    command: str | None,
    listen: str | None,
    long_path: str,
    builtin: str | None,
    protocols: tuple[str, ...],
    certificate: str,
    defence: str,
    weakness: str,
    rate: float | None,
    held: int | None,
    seconds: int,
    quota: str,
) -> "Asked":
    """What the options ask for. Raises UserError where they do not go together."""
    from gauntlet.attack.kinds import HELD, KINDS, RATE, kind
    from gauntlet.attack.laboratory import AHEAD_S, Asked
    from gauntlet.attack.loopback import address
    from gauntlet.attack.namespace import OFF, WHEN_FULL
    from gauntlet.attack.run import Client, Run
    from gauntlet.attack.servers import command as own_command
    from gauntlet.attack.servers.contract import COOKIES
    from gauntlet.attack.servers.registry import SERVERS
    from gauntlet.attack.share import LEAST
    from gauntlet.errors import UserError
    from gauntlet.units import fraction

    if command is not None and builtin is not None:
        raise UserError("--server is a server of your own and --builtin one of those here; name one of them.")
    builtin = builtin or "own"
    usual = ("h2", "h3") if command is not None else SERVERS[builtin].protocols
    spoken = protocols or tuple(it for it in ("h2", "h3") if it in usual)
    chosen = [kind(name) for name in dict.fromkeys(kinds)] or [
        it for it in KINDS.values() if set(it.protocols) & set(spoken)
    ]
    if listen is not None and command is None:
        raise UserError("--listen goes with --server; a built-in server listens at a port that is free.")
    if long_path and command is None:
        raise UserError("--long goes with --server; the built-in servers have long answers.")
    if long_path and not long_path.startswith("/"):
        raise UserError(f"--long: '{long_path}' is no path; write one that begins with /.")
    cookies = WHEN_FULL if defence == COOKIES else OFF
    if defence == COOKIES:
        if not all(it.forged for it in chosen):
            raise UserError("--defence cookies is against syn-flood alone: name that attack and no other.")
        # They are the kernel's, whatever the server is.
        defence = "off"
    if command is not None and (defence != "off" or weakness):
        raise UserError("--defence and --weakness are of the built-in servers; leave them out with --server.")
    server = own_command.server(command, spoken) if command is not None else SERVERS[builtin]
    if server.key == "nginx" and any(it.forged for it in chosen):
        raise UserError(
            "nginx's workers change their user, and the namespace of syn-flood has one user: attack another "
            "server, or your own nginx with 'user root;' (--server)."
        )
    _refuse_what_it_lacks(server, defence, weakness, spoken, forged=all(it.forged for it in chosen))
    for option, dose, value in (("--rate", RATE, rate), ("--held", HELD, held)):
        if value is not None and not any(it.dose == dose for it in chosen):
            raise UserError(
                f"{option}: none of these attacks is measured by it; `gauntlet attack list` says by what."
            )
    share = fraction(quota, "--quota", least=LEAST)
    plain = Run(
        server,
        spoken[0],
        certificate,
        Client(1, AHEAD_S, AHEAD_S),
        None,
        defence=defence,
        weakness=weakness,
        tight=server.tightens,
        of_a_core=None if share == 1 else share,
        long_path=long_path,
        at=None if listen is None else address(listen),
        cookies=cookies,
    )
    return Asked(plain, chosen, spoken, {RATE: rate, HELD: held}, seconds)


def _refuse_what_it_lacks(
    server: "Server", defence: str, weakness: str, protocols: tuple[str, ...], *, forged: bool
) -> None:
    """Raise UserError for a defence or a weakness that a server does not have over one of the protocols."""
    from gauntlet.attack.kinds import SYN_FLOOD
    from gauntlet.attack.servers.contract import COOKIES
    from gauntlet.attack.servers.own import WEAKNESSES
    from gauntlet.errors import UserError

    for protocol in protocols:
        if protocol not in server.protocols:
            raise UserError(f"{server.words} speaks {' '.join(server.protocols)}, and not {protocol}.")
        if protocol not in server.defences.get(defence, ()):
            has = {
                name: [it for it in over if not forged or it in SYN_FLOOD.protocols]
                for name, over in server.defences.items()
            }
            names = [f"{name} ({' '.join(over)})" for name, over in has.items() if over]
            there = ", ".join([*names, f"{COOKIES} (the kernel's)"] if forged else names)
            raise UserError(f"{server.words} has no defence {defence} over {protocol}; it has {there}.")
    if weakness and server.key != "own":
        raise UserError(f"--weakness is of Gauntlet's own server, and {server.words} is asked for.")
    if unknown := next((it for it in weakness.split("+") if weakness and it not in WEAKNESSES), None):
        raise UserError(f"--weakness: '{unknown}' is none; there are {', '.join(WEAKNESSES)}.")
