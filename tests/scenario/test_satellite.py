"""Satellite access: delays follow from geometry, spells from text, rates from rain."""

import itertools
from pathlib import Path

import pytest

from gauntlet.errors import UserError
from gauntlet.scenario import load_scenario
from gauntlet.scenario.kinds import satellite_rain as rain
from gauntlet.scenario.kinds.satellite_data import hop_delay_s, satellite_data
from gauntlet.scenario.kinds.satellite_spells import Spell, parse
from gauntlet.scenario.trace_files import write_csv


@pytest.mark.parametrize(
    ("altitude_km", "published_ms"),
    # 3GPP TR 38.821, Table 4.2-2: longest delay of both hops there and back, at 10 degrees.
    [(35_786, 541.46), (600, 25.77), (1200, 41.77)],
)
def test_delays_are_those_that_3gpp_publishes(altitude_km: float, published_ms: float) -> None:
    assert 4e3 * hop_delay_s(altitude_km, 10) == pytest.approx(published_ms, abs=0.02)


@pytest.mark.parametrize(
    ("name", "round_trip_ms", "spread_ms"), [("geo", 600, 2), ("meo", 140, 12), ("leo", 50, 8)]
)
def test_round_trips_are_those_of_the_sources(name: str, round_trip_ms: float, spread_ms: float) -> None:
    trace = load_scenario(name, seed=3).trace
    for up_s, down_s in zip(trace.column("delay_up_s"), trace.column("delay_down_s"), strict=True):
        assert 1e3 * (up_s + down_s) == pytest.approx(round_trip_ms, abs=spread_ms)


def test_outages_lose_everything_and_leave_the_rest_alone() -> None:
    link = load_scenario("geo", {"outages": "20-30s, 200-300s, 600-650s", "duration": "1000s"})
    for t_s, loss in [(0, 0), (19.9, 0), (20, 1), (29.9, 1), (30, 0), (250, 1), (300, 0), (649, 1), (999, 0)]:
        row = link.trace.at(t_s)
        assert (row.loss_up, row.loss_down) == (loss, loss), t_s
        assert (row.rate_up_bps, row.delay_up_s) == (10e6, link.trace.at(0).delay_up_s)
    assert link.trace.mean("loss_up") == pytest.approx(0.16)


def test_loss_outside_of_outages_is_what_was_asked() -> None:
    link = load_scenario("geo", {"outages": "20-30s", "loss": "1%", "elevation": 90, "ground_delay": 0})
    assert [link.trace.at(t_s).loss_up for t_s in (0, 25, 40)] == [0.01, 1, 0.01]
    assert 2 * link.trace.at(0).delay_up_s == pytest.approx(0.4775, abs=1e-3)


def test_low_satellites_take_turns() -> None:
    link = load_scenario("leo", {"duration": "10min"}, seed=5)
    begins = link.trace.column("t_s")
    assert link.trace.at(14.9).cell == "satellite 1"
    assert link.trace.at(15).cell == link.trace.at(29.9).cell == "satellite 2"
    assert [link.trace.at(t_s).loss_up for t_s in (14.99, 15.05, 15.11)] == [0, 1, 0]
    assert len(begins) == 1 + 2 * 39
    delays = {round(delay, 9) for delay in link.trace.column("delay_up_s")}
    assert len(delays) == 40


def test_satellites_follow_from_the_seed() -> None:
    first, again, other = (load_scenario("leo", seed=seed).trace.table for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)


def test_handovers_can_be_switched_off() -> None:
    assert load_scenario("leo", {"handover_interval": 0}).trace.table.num_rows == 1
    seamless = load_scenario("leo", {"handover_outage": 0, "duration": "1min"}).trace
    assert seamless.table.num_rows == 4
    assert seamless.column("loss_up").max() == 0


def test_the_clear_sky_gives_the_whole_rate() -> None:
    assert rain.rate_share(0.0) == 1
    clear = rain.waveform(0.0)
    assert clear is not None and clear.name == "16APSK 8/9"


def test_more_rain_leaves_less() -> None:
    band = satellite_data().rain.down
    faded = [rain.attenuation_db(band, rain_mmh, 40) for rain_mmh in (0, 1, 5, 10, 25, 50, 100)]
    assert faded[0] == 0
    assert all(less < more for less, more in itertools.pairwise(faded))
    shares = [rain.rate_share(db) for db in faded]
    assert shares == sorted(shares, reverse=True)
    assert rain.attenuation_db(satellite_data().rain.up, 25, 40) > rain.attenuation_db(band, 25, 40)
    assert rain.attenuation_db(band, 25, 20) > rain.attenuation_db(band, 25, 40)


def test_what_rain_takes_by_the_kilometre() -> None:
    # By hand from ITU-R P.838-3, eqs. 1, 4 and 5: k = 0.093875 and alpha = 1.01989 at 20 GHz.
    assert rain._specific_db_km(satellite_data().rain.down, 25) == pytest.approx(2.502, abs=2e-3)


def test_a_link_that_rain_breaks_loses_everything() -> None:
    assert rain.waveform(20.0) is None
    link = load_scenario("geo", {"rain": "100-400s", "rain_rate": 60, "elevation": 15})
    assert link.trace.at(250).loss_down == 1
    assert link.trace.at(401).loss_down == 0


def test_a_shower_comes_and_goes() -> None:
    link = load_scenario("geo", {"rain": "100-400s", "rain_rate": 8})
    down = [link.trace.at(t_s).rate_down_bps for t_s in (0, 150, 250, 350, 401)]
    assert down[0] == down[4] == 100e6
    assert down[2] < down[1] < down[0]
    assert down[2] < down[3] < down[4]
    assert link.trace.at(0).mcs == "16APSK 8/9"


def test_modcods_stand_in_order() -> None:
    known = satellite_data().waveform.modcod
    for less, more in itertools.pairwise(known):
        assert (less.needs_db, less.efficiency) < (more.needs_db, more.efficiency)
        assert less.efficiency < more.efficiency


@pytest.mark.parametrize(
    ("text", "spells"),
    [
        ("20-30s", (Spell(20, 30),)),
        ("500ms-1.5s", (Spell(0.5, 1.5),)),
        ("1-2min, 5 - 6 h", (Spell(60, 120), Spell(18_000, 21_600))),
    ],
)
def test_spells(text: str, spells: tuple[Spell, ...]) -> None:
    assert parse(text) == spells


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no spell"),
        ("20s", "'20s' is no spell"),
        ("20-30", "unit"),
        ("30-20s", "ends before it begins"),
        ("20-30s, 25-40s", "before the one before it has ended"),
        ("20-30 parsecs", "parsecs"),
    ],
)
def test_a_bad_spell_is_named(text: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        parse(text)
    with pytest.raises(UserError, match=r"'outages' of scenario 'geo'"):
        load_scenario("geo", {"outages": text})


def test_a_satellite_goes_to_a_file_and_comes_back(tmp_path: Path) -> None:
    link = load_scenario("leo", {"duration": "2min", "outages": "20-30s"})
    write_csv(link.trace, tmp_path / "leo.csv")
    assert load_scenario(str(tmp_path / "leo.csv")).trace.table.equals(link.trace.table)
