"""What the benches of attacks have in common: names, order, the machine, and a run as a part that stays."""

import math
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from gauntlet.attack import arena, programs
from gauntlet.attack.certificates import KEYS
from gauntlet.attack.gates import DISTURBED
from gauntlet.attack.measures import row
from gauntlet.attack.run import Client, Outcome, Run
from gauntlet.attack.servers.contract import DEFENCES
from gauntlet.attack.servers.registry import SERVERS
from gauntlet.attack.share import OF_A_CORE, PERIOD_S
from gauntlet.attack.sockets import tells_objects
from gauntlet.benches.contract import REPETITION, SAMPLES, Measured, Plan, Tell
from gauntlet.benches.parts import Parts
from gauntlet.engine import cache_folder
from gauntlet.errors import UserError
from gauntlet.experiment.runspec import Factor
from gauntlet.space.machine import description

Condition = Mapping[str, Factor]

LABELS: dict[str, dict[Any, str]] = {
    "server": {key: it.words for key, it in SERVERS.items()},
    "over": {"h1": "HTTP/1.1", "h2": "HTTP/2", "h3": "HTTP/3"},
    "certificate": dict(KEYS),
    "defence": dict(DEFENCES),
}


def planned(asked: Sequence[Condition], repetitions: int, **details: Any) -> Plan:
    """The plan of these conditions, and what else decides how much is measured."""
    return Plan(
        {name: list(dict.fromkeys(it[name] for it in asked)) for name in asked[0]},
        repetitions,
        {"conditions": [list(it.values()) for it in asked], **details},
    )


def of_client(client: Client) -> dict[str, Any]:
    """What a plan says of honest requests."""
    return {"requests": client.requests, "interval_s": client.interval_s, "limit_s": client.limit_s}


def labels(plan: Plan, **own: Mapping[Any, str]) -> dict[str, Mapping[Any, str]]:
    """How the values of a plan's factors read: those that several benches have, and its own."""
    return {name: words for name, words in {**LABELS, **own}.items() if name in plan.factors}


EACH_SECOND = ("offered", "sent", "completed", "failed")
"""What an attacker tells each second, and is kept second by second."""

LISTS = {
    "connected_s": pa.float64(),
    "first_byte_s": pa.float64(),
    "delay_s": pa.float64(),
    "began_s": pa.float64(),
    "outcome": pa.string(),
    **{f"{name}_each_second": pa.int64() for name in EACH_SECOND},
    "lasted_s_each_second": pa.float64(),
}
"""Columns of a run's row that have a value for each honest request, or for each second of the attacker, of
which the last may be of less; they stay in `raw`.
"""

AGAIN = 2
"""So often a run that something else disturbed is played again."""
_DISTURBED = "disturbed"

COMPARED = ("own", "nginx")
"""Gauntlet's own server, and the study's."""


def ready() -> None:
    """Raise UserError when what every attack needs is not here."""
    arena.ready()
    SERVERS["own"].ready()


def there(server: str) -> bool:
    """Whether a server is here; without it its rows are left out."""
    try:
        SERVERS[server].ready()
    except UserError:
        return False
    return True


def machine() -> dict[str, Any]:
    """What runs are of, besides programs and servers: the machine, and who computes where on it."""
    where = arena.cores()
    return {**description(), "server_core": where.server, "attacker_core": where.attacker}


def facts() -> dict[str, Any]:
    """What runs of one bench have to share: machine, programs, servers, and who computes where."""
    return {
        **machine(),
        "server_of_a_core": OF_A_CORE,
        "quota_period_s": PERIOD_S,
        "programs": programs.hashes(),
        "servers": {key: it.version() for key, it in SERVERS.items() if there(key)},
    }


def in_turn(
    conditions: Sequence[Condition], repetitions: int, seed: int, *, beside: str = "over"
) -> Iterator[tuple[int, Condition]]:
    """Every condition in each repetition, in an order that is drawn: conditions that differ in `beside` alone
    come one after the other, in drawn order, so that what the machine does meanwhile meets them alike.
    """
    for repetition in range(1, repetitions + 1):
        draw = random.Random(f"{seed}/{repetition}")
        groups: dict[tuple[tuple[str, Factor], ...], list[Condition]] = {}
        for condition in conditions:
            key = tuple((name, value) for name, value in condition.items() if name != beside)
            groups.setdefault(key, []).append(condition)
        order = list(groups.values())
        draw.shuffle(order)
        for group in order:
            draw.shuffle(group)
            yield from ((repetition, condition) for condition in group)


def certificates_folder() -> Path:
    """Where the benches keep certificates, so that all runs have the same."""
    return cache_folder() / "attack-certificates"


def sample(outcome: Outcome, names: Sequence[str], lacks: Sequence[str] = ()) -> dict[str, Any]:
    """The row of a run (`row`), with its honest requests and the attacker's seconds as lists."""
    return {
        **row(outcome, tuple(names), lacks),
        "connected_s": [it.connected_s for it in outcome.requests],
        "first_byte_s": [it.first_byte_s for it in outcome.requests],
        "delay_s": [it.took_s for it in outcome.requests],
        "began_s": [it.began_s for it in outcome.requests],
        "outcome": [it.outcome for it in outcome.requests],
        **{f"{name}_each_second": [int(it.count(name)) for it in outcome.seconds] for name in EACH_SECOND},
        "lasted_s_each_second": [it.lasted_s for it in outcome.seconds],
    }


def measure(
    conditions: Sequence[Condition],
    repetitions: int,
    seed: int,
    tell: Tell,
    parts: Parts,
    *,
    of: Callable[[Condition], Mapping[str, Any]],
    same: Mapping[str, Any],
    samples: int,
    beside: str = "over",
) -> Measured:
    """Have every condition measured by `of` in every repetition, each a part that stays; `same` is what all
    parts share, `beside` as `in_turn` has it. Conditions of servers that are not here are left out, and said
    to be. A run that something else on the machine disturbed is played again at once, at most `AGAIN` times;
    how often is `disturbed` of the raw rows, and one that is disturbed to the end stays invalid.
    """
    asked = [it for it in conditions if there(str(it.get("server", "own")))]
    for lacking in sorted({str(it["server"]) for it in conditions if it not in asked}):
        tell(f"{SERVERS[lacking].words} is left out: {_why(lacking)}")
    todo = list(in_turn(asked, repetitions, seed, beside=beside))
    found = []
    began_s, played = time.monotonic(), 0
    for number, (repetition, condition) in enumerate(todo, 1):
        words = ", ".join(f"{name} {value}" for name, value in condition.items())
        left = _left(time.monotonic() - began_s, played, len(todo) - number + 1)
        tell(f"{number} of {len(todo)}{left}: {words}")
        name = re.sub(r"[^A-Za-z0-9.]+", "-", "-".join(map(str, (*condition.values(), repetition))))
        there_before = parts.found
        part = partial(_part, of, condition, repetition, samples)
        found.append(_undisturbed(parts, name, same, part, tell))
        played += parts.found == there_before
    whole = pa.concat_tables(found, promote_options="permissive")
    raw = [name for name in (*LISTS, "why_invalid", "why", _DISTURBED) if name in whole.column_names]
    table = whole.drop_columns(raw)
    return Measured(table, {**same, "socket_objects_counted": tells_objects()}, {"runs": whole})


def _undisturbed(
    parts: Parts, name: str, same: Mapping[str, Any], make: Callable[[], pa.Table], tell: Tell
) -> pa.Table:
    """The part of that name, taken again under further names while something else disturbs it."""
    part, again = parts.take(name, same, make), 0
    while again < AGAIN and _why_invalid(part).startswith(DISTURBED):
        again += 1
        tell(f"{name}: {_why_invalid(part)}; once more")
        part = parts.take(f"{name}-again-{again}", same, make)
    return part.append_column(_DISTURBED, pa.array([again], pa.int64()))


def _why_invalid(part: pa.Table) -> str:
    return str(part.column("why_invalid")[0].as_py()) if "why_invalid" in part.column_names else ""


def _left(spent_s: float, played: int, to_play: int) -> str:
    """How long the rest takes, if its runs take as long as those that were played; nothing before the first
    was.
    """
    return f" (about {math.ceil(spent_s / played * to_play / 60)} min left)" if played else ""


def _part(
    of: Callable[[Condition], Mapping[str, Any]], condition: Condition, repetition: int, samples: int
) -> pa.Table:
    whole = {**condition, REPETITION: repetition, SAMPLES: samples, **of(condition)}
    return pa.table({name: pa.array([value], _type(name, value)) for name, value in whole.items()})


def _type(name: str, value: Any) -> pa.DataType | None:
    """The type of a column: numbers that there are not are numbers too; None: as the value has it."""
    if name in LISTS:
        return pa.list_(LISTS[name])
    return pa.float64() if value is None or isinstance(value, float) else None


def _why(server: str) -> str:
    try:
        SERVERS[server].ready()
    except UserError as error:
        return str(error)
    return "it is here now; type the same command again."


def play(run: Run) -> Outcome:
    """Play a run with the certificates of all benches."""
    return arena.play(run, certificates_folder())


def played(run: Run, names: Sequence[str]) -> dict[str, Any]:
    """A run and its row."""
    return sample(play(run), names)
