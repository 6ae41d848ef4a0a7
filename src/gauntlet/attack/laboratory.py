"""One's own server, or one of those that are here, under one attack after the other: what came of each."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gauntlet.attack import arena, namespace, unattacked, verdict
from gauntlet.attack.kinds import HELD, Kind
from gauntlet.attack.measures import NUMBERS
from gauntlet.attack.requests import delays, failed_share, served_share, steps_of_served_s
from gauntlet.attack.run import Attack, Client, Outcome, Run
from gauntlet.attack.verdict import Verdict
from gauntlet.errors import UserError

Tell = Callable[[str], None]

MOST_PER_S, MOST_HELD, MOST_SECONDS = 20_000, 20_000, 600
"""What an attacker does at most, here as in `gauntlet-attacker`."""

AHEAD_S = 1.0
"""By so much the attack begins before the honest client, whose requests have to fall into it."""
LEAST_SECONDS = 2
_INTERVAL_S = 0.1
_LIMIT_S = 5.0
_ALONE = Client(20, _INTERVAL_S, _LIMIT_S)
_LONG_BYTES = 500_000
"""An answer that is shorter may be gone before anybody could withhold anything."""


@dataclass(frozen=True)
class Asked:
    """What is asked for: a run without its attack, and attacks."""

    server: Run
    """Server, protocol, certificate, defence, weakness, share of a core, and when there are SYN cookies under
    attacks with forged senders.
    """
    kinds: Sequence[Kind]
    protocols: Sequence[str]
    doses: Mapping[str, float | None]
    """How much, by what attacks are measured by (RATE, HELD); None: as much as is usual for each."""
    seconds: int


@dataclass(frozen=True)
class Found:
    """What came of one attack over one protocol."""

    kind: Kind
    protocol: str
    attacked: Outcome
    alone: Outcome
    verdict: Verdict

    def to_json(self) -> dict[str, Any]:
        """As data: verdict, numbers of the attacked server and of the same left alone, and curves."""
        attack = self.attacked.run.attack
        assert attack is not None
        return {
            "attack": self.kind.key,
            "protocol": self.protocol,
            self.kind.dose: attack.dose,
            "seconds": attack.seconds,
            "verdict": self.verdict.verdict,
            "why": list(self.verdict.why),
            "attacked": _numbers(self.attacked),
            "alone": _numbers(self.alone),
            "attacker": dict(self.attacked.attacker or {}),
            "server": dict(self.attacked.counted),
            "curve": _curve(self.attacked),
            "curve_alone": _curve(self.alone),
        }


def check(asked: Asked) -> None:
    """Raise UserError when more is asked for than is done, or over a protocol that no attack has."""
    if not LEAST_SECONDS <= asked.seconds <= MOST_SECONDS:
        raise UserError(
            f"--seconds: an attack lasts {LEAST_SECONDS} to {MOST_SECONDS} s, after the first of which the "
            f"honest client begins, and {asked.seconds} are asked for."
        )
    for kind in asked.kinds:
        dose, most = asked.doses[kind.dose], MOST_HELD if kind.dose == HELD else MOST_PER_S
        if dose is not None and not 0 < dose <= most:
            unit = "connections are held" if kind.dose == HELD else "beginnings a second are made"
            raise UserError(
                f"--{kind.dose}: more than 0 and at most {most} {unit}, and {dose:g} are asked for."
            )
        if not set(kind.protocols) & set(asked.protocols):
            raise UserError(
                f"The attack {kind.key} is there over {', '.join(kind.protocols)}, not over "
                f"{', '.join(asked.protocols)}."
            )
    asked.server.server.ready()
    arena.ready(asked.server.of_a_core)
    if any(it.forged for it in asked.kinds):
        namespace.check()


def attacks(asked: Asked, tell: Tell, folder: Path | None = None) -> Iterator[Found]:
    """Each attack over each protocol that it has and that is asked for; the server without one first.

    Raises what `gauntlet.attack.arena.play` does.
    """
    left: dict[tuple[str, bool], Outcome] = {}
    for protocol in asked.protocols:
        for kind in asked.kinds:
            if protocol not in kind.protocols:
                continue
            server = asked.server if kind.forged else replace(asked.server, cookies=None)
            if (protocol, kind.forged) not in left:
                tell(f"{protocol}: the server left alone")
                left[protocol, kind.forged] = unattacked.play(
                    replace(server, protocol=protocol), _ALONE, folder
                )
            alone = left[protocol, kind.forged]
            told = asked.doses[kind.dose]
            dose = kind.usual if told is None else told
            tell(f"{protocol}: {kind.key}, {dose:g} {'held' if kind.dose == HELD else 'a second'}")
            requests = max(5, round((asked.seconds - AHEAD_S) / _INTERVAL_S))
            path = kind.long_path(asked.server.long_path)
            run = replace(
                server,
                protocol=protocol,
                client=Client(requests, _INTERVAL_S, _LIMIT_S),
                attack=Attack(kind, dose, asked.seconds),
                tight=asked.server.tight and kind.timed,
                client_at_s=AHEAD_S,
            )
            if path and (probe := _without_it(asked, protocol, path, folder)):
                why = (
                    f"nothing as long as {_LONG_BYTES} bytes is at {path}, which this attack asks for: "
                    "--long PATH says where your server has it"
                )
                yield Found(kind, protocol, replace(probe, run=run), alone, Verdict(verdict.INVALID, (why,)))
                continue
            attacked = arena.play(run, folder)
            yield Found(kind, protocol, attacked, alone, verdict.judged(attacked, alone))


def _without_it(asked: Asked, protocol: str, path: str, folder: Path | None) -> Outcome | None:
    """What came of asking for a long answer, where there was none; none where there was one."""
    client = Client(1, 1.0, _LIMIT_S, path)
    found = arena.play(
        replace(asked.server, protocol=protocol, client=client, attack=None, of_a_core=None, cookies=None),
        folder,
    )
    served = any(it.took_s is not None and it.bytes >= _LONG_BYTES for it in found.requests)
    return None if served else found


_SHOWN = (
    "delay_restricted_mean_s",
    "delay_median_s",
    "server_cpu_of_a_core",
    "server_cpu_a_handshake_s",
    "attacker_cpu_a_handshake_s",
    "offered_per_s",
    "sent_per_s",
    "completed_per_s",
    "process_growth_bytes",
    "kernel_growth_bytes",
)


def _numbers(outcome: Outcome) -> Mapping[str, Any]:
    of = outcome.during_attack()
    if not of:
        return {"requests": 0}
    return {
        "requests": len(of),
        "served_share": served_share(of),
        "failed_share": failed_share(of),
        **steps_of_served_s(of),
        **{name: NUMBERS[name][1](outcome) for name in _SHOWN},
        "others_of_a_core": outcome.others_of_a_core,
    }


def _curve(outcome: Outcome) -> dict[str, Any] | None:
    """The survival curve of a run; None where nobody asked for anything meanwhile."""
    asked = outcome.during_attack()
    if not asked:
        return None
    of = delays(asked, outcome.run.client.limit_s)
    return {
        "requests": of.n,
        "served": of.served,
        "limit_s": of.limit_s,
        "time_s": [it.time_s for it in of.steps],
        "unserved": [it.unserved for it in of.steps],
        "low": [it.low for it in of.steps],
        "high": [it.high for it in of.steps],
    }
