"""A run: a fresh server, an honest client and an attacker, each where it belongs, and what is known of it.

The server has a share of the first core, the honest client the rest of it, the attacker the last core. So an
attacker that is cheaper than the server can begin more than it completes, and takes nothing from the client.
All are on loopback, of this machine or of a network namespace of the run's own. What the kernel does for a
packet there it does on the core of its sender.
"""

import math
import os
import re
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gauntlet.attack import certificates, counters, namespace, programs, share, sockets, unready
from gauntlet.attack.callgrind import self_instructions
from gauntlet.attack.certificates import Chain
from gauntlet.attack.loopback import free
from gauntlet.attack.namespace import Namespace
from gauntlet.attack.requests import OK, began_s, requests
from gauntlet.attack.run import Client, Outcome, Run, Sample
from gauntlet.attack.seconds import Second, seconds
from gauntlet.attack.servers.contract import Launch, Wanted
from gauntlet.attack.share import Share
from gauntlet.attack.stage import Actor, Stage
from gauntlet.engine.cores import on
from gauntlet.errors import RunError, UserError

_READY_S = 30.0
"""For how long a server may take to begin."""
_PROBE = Client(requests=1, interval_s=1.0, limit_s=1.0)
_SAMPLE_S = 0.5
_PATIENCE_S = 20.0
"""Beyond what client and attacker are asked for; then they are ended."""
_NS = 1e-9

CALLGRIND = ("valgrind", "--tool=callgrind")


@dataclass(frozen=True)
class Cores:
    """Who computes where."""

    server: int
    """The server's and the honest client's."""
    attacker: int


def cores() -> Cores:
    """The first and the last core that this process may use. Raises UserError where that is one."""
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        raise UserError(
            "Attacks need two cores, one for the server and one for the attacker, and this process may use "
            "one: on it the attacker would take from the server by computing alone."
        )
    return Cores(allowed[0], allowed[-1])


def ready(of_a_core: float | None = share.OF_A_CORE) -> None:
    """Raise UserError when something that every run needs is not here, with what would bring it."""
    programs.ready()
    cores()
    if of_a_core is not None:
        share.check(of_a_core)


def ready_to_count() -> None:
    """Raise UserError when what counts instructions is not here."""
    if shutil.which(CALLGRIND[0]) is None:
        raise UserError("valgrind is not installed, which counts instructions (Debian: valgrind).")


def play(run: Run, folder: Path | None = None) -> Outcome:
    """Do a run. `folder` keeps certificates for the next one; none: they are made anew.

    Raises UserError when something is missing, RunError when the server does not begin.
    """
    with ExitStack() as stack:
        here = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gauntlet-attack-")))
        # A server's worker may be nobody.
        here.chmod(0o755)
        where = cores()
        # Here this process mostly sleeps: it shall take nothing from the attacker.
        stack.enter_context(on({where.server}))
        held = None if run.of_a_core is None else stack.enter_context(share.share(run.of_a_core))
        chain = certificates.chain(run.certificate, (folder or here).resolve())
        stage = stack.enter_context(Stage(here))
        inside = None
        if run.cookies is not None:
            inside = namespace.make(stage, here, run.cookies, [where.server])
            stack.enter_context(inside.link)
        playing = _Playing(run, where=where, stage=stage, chain=chain, held=held, inside=inside, folder=here)
        return playing.outcome()


class _Playing:
    """A run under way."""

    def __init__(
        self,
        run: Run,
        *,
        where: Cores,
        stage: Stage,
        chain: Chain,
        held: Share | None,
        inside: Namespace | None,
        folder: Path,
    ) -> None:
        self._run = run
        self._stage = stage
        self._chain = chain
        self._share = held
        self._inside = inside
        self._folder = folder
        self._cores = where
        self._address = run.at or free()
        self._samples: list[Sample] = []
        self._probed: Mapping[str, Any] | None = None
        """What came of the last request that asked whether the server is ready."""

    def outcome(self) -> Outcome:
        """See `play`."""
        server = self._server()
        origin_s, busy_s, own_s = time.monotonic(), counters.busy_s(), time.process_time()
        retransmitted, tcp = self._retransmitted(), self._tcp()
        self._sample(server)
        client, attacker = self._both(server)
        _refuse_older(client, programs.CLIENT)
        if attacker:
            _refuse_older(attacker, programs.ATTACKER)
        self._sample(server)
        # While all are still there, what they have computed can be told apart from what others have.
        busy_s = counters.busy_s() - busy_s - (time.process_time() - own_s)
        elapsed_s = time.monotonic() - origin_s
        retransmitted = self._retransmitted() - retransmitted
        tcp = {name: count - tcp.get(name, 0) for name, count in self._tcp().items()}
        died = server.complaint() if server.died else ""
        throttled = self._share.throttled() if self._share else None
        self._stage.end(server)
        ours = [it for it in (client, attacker) if it is not None]
        for it in ours:
            self._stage.end(it)
        spent_s = [self._samples[-1].cpu_s - self._samples[0].cpu_s, *map(_cpu_s, ours)]
        done, totals = client.last("done"), attacker.last("done") if attacker else None
        counted = (server, client) if self._run.counted else ()
        asked = requests(client.all("request"))
        told = seconds(attacker.all("second")) if attacker else []
        return Outcome(
            run=self._run,
            requests=asked,
            client_began_s=began_s(client.all("request"), client.began_s),
            client_cpu_s=float(done["cpu_ns"]) * _NS if done else None,
            client_late_s=float(done.get("late_max_ns", 0)) * _NS if done else 0.0,
            attack_began_s=_began_s(attacker, told) if attacker else None,
            attack_ended_s=_ended_s(attacker, told, self._run) if attacker else None,
            seconds=told,
            attacker=totals,
            samples=tuple(self._samples),
            counted=server.last("done") or {},
            libraries=_libraries(server),
            died=died,
            complaints=[f"{it.name}: {it.complaint()}" for it in ours if it.last("done") is None],
            others_of_a_core=max(0.0, busy_s - math.fsum(spent_s)) / elapsed_s,
            retransmitted_segments=retransmitted,
            throttled=throttled,
            instructions={it.name: _collected(it) for it in counted},
            functions={it.name: self._functions(it.name) for it in counted},
            tcp=tcp,
        )

    def _retransmitted(self) -> int:
        return counters.retransmitted(of=self._inside.holder if self._inside else None)

    def _tcp(self) -> Mapping[str, int]:
        return self._inside.counted() if self._inside else {}

    def _server(self) -> Actor:
        """Start the server and wait until it serves."""
        run = self._run
        own = self._folder / "server"
        own.mkdir()
        launch = run.server.launch(
            Wanted(
                run.protocol, self._address, self._chain, own, run.defence, run.weakness, run.tight, run.more
            )
        )
        server = self._stage.start(
            "server",
            self._inside_of(self._counted("server", launch.command)),
            cores={self._cores.server},
            share=self._share,
            inside=launch.inside,
        )
        if not self._serves(server, launch):
            if launch.tells:
                _refuse_older(server, programs.SERVER)
            raise RunError(f"The server ({run.server.words}) {self._unready(server)}.")
        return server

    def _serves(self, server: Actor, launch: Launch) -> bool:
        if launch.tells:
            self._stage.listen(lambda: server.last("ready") is not None or not server.running, _READY_S)
            return server.last("ready") is not None
        until_s = time.monotonic() + _READY_S
        while server.running and time.monotonic() < until_s:
            probe = self._client(_PROBE)
            self._stage.ended(probe, _PROBE.limit_s + 5)
            self._stage.end(probe)
            self._probed = probe.last("request")
            if self._probed is not None and self._probed["outcome"] == OK:
                return True
            time.sleep(0.1)
        return False

    def _unready(self, server: Actor) -> str:
        """How it came that it does not serve."""
        if server.running:
            why = unready.why(self._probed, self._run.protocol, self._address, _PROBE.limit_s)
            return f"did not begin within {_READY_S:.0f} s: {why}"
        said = server.last_line() or "it wrote nothing to standard error"
        return f"ended with code {server.process.poll()} before it served: {said}"

    def _client(self, asked: Client) -> Actor:
        command = [
            str(programs.program(programs.CLIENT)),
            "--protocol", self._run.protocol,
            "--connect", str(self._address),
            "--ca", str(self._chain.authority),
            "--path", asked.path,
            "--count", str(asked.requests),
            "--interval-ms", str(round(asked.interval_s * 1e3)),
            "--timeout-ms", str(round(asked.limit_s * 1e3)),
            *asked.more,
        ]  # fmt: skip
        return self._stage.start(
            "client", self._inside_of(self._counted("client", command)), cores={self._cores.server}
        )

    def _counted(self, name: str, command: list[str]) -> list[str]:
        if not self._run.counted:
            return command
        return [*CALLGRIND, f"--callgrind-out-file={self._of_functions(name)}", *command]

    def _of_functions(self, name: str) -> Path:
        return self._folder / f"{name}.callgrind"

    def _functions(self, name: str) -> Mapping[str, int]:
        with self._of_functions(name).open(encoding="utf-8", errors="replace") as lines:
            return self_instructions(lines)

    def _inside_of(self, command: list[str]) -> list[str]:
        """The command in the run's own network namespace, where it has one."""
        return self._inside.command(command) if self._inside else command

    def _attacker(self) -> Actor:
        attack = self._run.attack
        assert attack is not None
        arguments = attack.kind.arguments(
            str(self._address), self._run.protocol, attack.dose, attack.seconds, self._run.long_path
        )
        command = [str(programs.program(programs.ATTACKER)), *arguments]
        return self._stage.start("attacker", self._inside_of(command), cores={self._cores.attacker})

    def _both(self, server: Actor) -> tuple[Actor, Actor | None]:
        """Client and attacker from their beginnings to their ends, the server counted meanwhile."""
        run, origin_s = self._run, time.monotonic()
        client: Actor | None = None
        attacker: Actor | None = None
        asked_s = run.client_at_s + run.client.sends_s + run.client.limit_s
        if run.attack is not None:
            asked_s = max(asked_s, run.attack_at_s + run.attack.seconds)
        next_s = origin_s + _SAMPLE_S
        while time.monotonic() < origin_s + asked_s + _PATIENCE_S:
            now_s = time.monotonic()
            if client is None and now_s >= origin_s + run.client_at_s:
                client = self._client(run.client)
            if run.attack is not None and attacker is None and now_s >= origin_s + run.attack_at_s:
                attacker = self._attacker()
            if now_s >= next_s:
                self._sample(server)
                next_s = max(next_s + _SAMPLE_S, now_s)
            if client and not client.running and (run.attack is None or (attacker and not attacker.running)):
                break
            self._stage.listen(lambda: False, 0.02)
        assert client is not None
        return client, attacker

    def _sample(self, server: Actor) -> None:
        pids = counters.session(server.process.pid)
        if not pids and self._samples:
            return
        self._samples.append(
            Sample(
                at_s=time.monotonic(),
                cpu_s=counters.cpu_s(pids),
                memory=counters.memory(pids),
                sockets=sockets.of_port(self._address.port, over=self._inside.link if self._inside else None),
            )
        )


def _began_s(attacker: Actor, told: Sequence[Second]) -> float:
    """When its first second began; one that told of none: when it was started."""
    return told[0].began_s if told else attacker.began_s


def _ended_s(attacker: Actor, told: Sequence[Second], run: Run) -> float:
    """When it began nothing more: after its time, or at the end of the last second that it told of."""
    assert run.attack is not None
    began_s = _began_s(attacker, told)
    return min(began_s + run.attack.seconds, told[-1].ended_s if told else began_s)


def _refuse_older(actor: Actor, name: str) -> None:
    """Raise RunError when a program does not know what it is asked for: a run of it tells nothing."""
    if unknown := re.search(r"unexpected argument '([^']+)'", actor.complaint()):
        raise RunError(programs.older(name, unknown[1]))


def _collected(actor: Actor) -> int:
    """How many instructions callgrind says that it has collected."""
    found = re.search(r"Collected : (\d+)", actor.errors.read_text(encoding="utf-8", errors="replace"))
    if found is None:
        raise RunError(f"valgrind's callgrind did not say how many instructions the {actor.name} took.")
    return int(found[1])


def _libraries(server: Actor) -> Mapping[str, str]:
    """What it says that it is built of, where it does."""
    versions = (server.last("ready") or {}).get("versions", {})
    return {name: str(version) for name, version in versions.items()}


def _cpu_s(actor: Actor) -> float:
    done = actor.last("done")
    return float(done["cpu_ns"]) * _NS if done else 0.0
