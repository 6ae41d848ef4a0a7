"""Visits to sites in the guest: what an observer beside the browser sees, from the first packet on."""

import json
from pathlib import Path

import numpy as np
import pytest

from gauntlet.experiment import sites
from gauntlet.traffic import padding
from gauntlet.traffic import visits as visiting
from gauntlet.traffic.sequences import (
    KINDS,
    QUIC_DATA,
    QUIC_HANDSHAKE,
    TCP_CONTROL,
    TCP_DATA,
    Ints,
    Sequences,
)
from gauntlet.traffic.visits import VERSIONS, Line, Visits, played
from tests.guest.conftest import Play, gauntlet
from tests.guest.test_pages import CUBIC, RTT_S, page_run, rows

SITES = (3, 4)
CLEAN = Line(delay="20ms", jitter="0ms", loss="0%")


def asked(version: str, *, seed: int = 1, line: Line = CLEAN, sessions: int = 2) -> Visits:
    return Visits(SITES, sessions, 2, version, seed, line)


@pytest.fixture(scope="module")
def seen() -> dict[str, Sequences]:
    """The same visits over every version."""
    return {version: played(asked(version), workers=1) for version in VERSIONS}


def firsts(visits: Sequences, values: Ints) -> list[int]:
    """Of each visit the value of the first packet."""
    return [int(value) for value in values[visits.starts[:-1]]]


def test_every_visit_is_there_from_its_first_packet_on(seen: dict[str, Sequences]) -> None:
    for version, visits in seen.items():
        assert len(visits) == 8, version
        assert sorted(zip(visits.site, visits.session, visits.visit, strict=True)) == [
            (site, session, place) for site in SITES for session in (1, 2) for place in (0, 1)
        ]
        assert firsts(visits, visits.time_ns) == [0] * 8
    syn, initial = seen["h2"], seen["h3"]
    assert firsts(syn, syn.signed_bytes) == [60] * 8
    assert firsts(syn, syn.kind) == [TCP_CONTROL] * 8
    assert firsts(initial, initial.signed_bytes) == [20 + 8 + 1200] * 8
    assert firsts(initial, initial.kind) == [QUIC_HANDSHAKE] * 8


def test_packets_are_of_the_version_and_bring_the_site(seen: dict[str, Sequences]) -> None:
    present = {
        "h2": {TCP_CONTROL, TCP_DATA},
        "h3": {QUIC_HANDSHAKE, QUIC_DATA},
        "h3-padded": {QUIC_HANDSHAKE, QUIC_DATA},
    }
    for version, visits in seen.items():
        assert set(visits.kind.tolist()) == present[version], [KINDS[kind] for kind in set(visits.kind)]
        arrived = -np.minimum(visits.signed_bytes, 0)
        for visit in range(len(visits)):
            own = slice(visits.starts[visit], visits.starts[visit + 1])
            usual = sum(file.size_bytes for file in sites.usual(int(visits.site[visit])))
            assert 0.5 * usual < arrived[own].sum() < 2 * usual, (version, visit)
            assert visits.time_ns[own].max() < 15e9


def test_every_version_has_the_same_visits(seen: dict[str, Sequences]) -> None:
    """What arrives differs by headers only, and from visit to visit by more."""
    totals = {
        version: [
            int(-np.minimum(visits.signed_bytes[begin:end], 0).sum())
            for begin, end in zip(visits.starts[:-1], visits.starts[1:], strict=True)
        ]
        for version, visits in seen.items()
    }
    for one, other in zip(totals["h2"], totals["h3"], strict=True):
        assert one == pytest.approx(other, rel=0.06)
    assert len(set(totals["h2"])) == 8


def test_padding_by_the_stack_leaves_no_short_packet_and_costs_bytes(seen: dict[str, Sequences]) -> None:
    """That these visits come to their end at all takes PINGs: without them half of them stood still."""
    plain, padded = seen["h3"], seen["h3-padded"]
    short = [np.abs(it.signed_bytes[it.kind == QUIC_DATA]) < 1228 for it in (plain, padded)]
    assert short[0].mean() > 0.1
    assert short[1].sum() == 0
    assert padding.byte_overhead(plain, padded) > 0.05


def test_the_same_seed_gives_the_same_packets_and_another_one_others() -> None:
    line = Line(loss="1%")
    first, again, other = (
        played(asked("h3", seed=seed, line=line, sessions=1), workers=1) for seed in (5, 5, 6)
    )
    assert first.to_table().equals(again.to_table())
    assert not first.to_table().equals(other.to_table())


def test_an_experiment_of_one_s_own_is_read_from_its_results(tmp_path: Path) -> None:
    (tmp_path / "visits.toml").write_text(asked("h2", sessions=1).experiment())
    done = gauntlet("run", "visits.toml", "--capture", "--out", "results", cwd=tmp_path)
    assert done.code == 0, done.err
    visits = visiting.load(tmp_path / "results")
    assert visits.to_table().equals(played(asked("h2", sessions=1), workers=1).to_table())


def test_a_graph_takes_a_round_trip_for_each_step(play: Play, tmp_path: Path) -> None:
    """A chain of four small files after the document: each is asked for when the one before it is there."""
    for stack, http in (("tls", "2"), ("quic-quinn", "3")):
        run = page_run(stack, CUBIC, http)
        objects = run["flows"][0]["app_params"]["objects"]
        for place, it in enumerate(objects):
            it["size_bytes"] = 500
            it["after"] = place - 1 if 1 <= place <= 4 else 0
        run["flows"][0]["app_params"]["size_bytes"] = 500 * len(objects)
        (record,) = play(run).values()
        assert record["flows"][0]["outcome"] == "ok", json.dumps(record["flows"])
        loaded = {row["object"]: row for row in rows(tmp_path / "out" / run["id"])}
        asked_s = [loaded[f"file-{place}"]["requested_ns"] / 1e9 for place in range(8)]
        for place in range(2, 5):
            assert 1 <= (asked_s[place] - asked_s[place - 1]) / RTT_S < 1.2, (stack, place)
        assert asked_s[5] == asked_s[6] == asked_s[7] == asked_s[1], stack
