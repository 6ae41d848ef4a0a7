"""Sites: drawn once, visited anew each time, and the same for every protocol."""

from math import log
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

import pytest

from gauntlet.errors import UserError
from gauntlet.experiment import pages, sites
from gauntlet.experiment.expand import expand
from gauntlet.experiment.load import parse_experiment
from gauntlet.experiment.plans import plan_run

MANY = range(300)


def of_kind(site: int, kind: str) -> list[sites.Resource]:
    return [it for it in sites.resources(site) if it.kind == kind]


def test_names_mean_sites_or_nothing() -> None:
    assert [sites.number(name) for name in ("site-0", "site-12", "site-999999")] == [0, 12, 999_999]
    for name in ("site-", "site-01", "site-1000000", "site-x", "kepler", "site-3.csv"):
        assert sites.number(name) is None


@pytest.mark.parametrize("site", [0, 7, 123])
def test_every_file_stands_behind_the_one_that_names_it(site: int) -> None:
    for page in (sites.usual(site), *(sites.visit(site, session, 0) for session in range(20))):
        assert (page[0].after, page[0].origin) == (0, 0)
        assert all(file.after < place for place, file in enumerate(page) if place)
        assert len({file.name for file in page}) == len(page)
        for place, file in enumerate(page[1:], start=1):
            kind, by = file.name.partition("-")[0], page[file.after].name.partition("-")[0]
            assert by in (sites.DOCUMENT, *sites.KINDS[kind].named_by), (place, file)


def test_numbers_and_sizes_are_those_of_the_table() -> None:
    for name, kind in sites.KINDS.items():
        counts = [len(of_kind(site, name)) for site in MANY]
        assert median(counts) == pytest.approx(kind.count, abs=max(1, 0.15 * kind.count)), name
        drawn = [it for site in MANY for it in of_kind(site, name)]
        assert median(it.size_bytes for it in drawn) == pytest.approx(kind.size_bytes, rel=0.12), name
        assert fmean(it.origin > 0 for it in drawn) == pytest.approx(kind.foreign, abs=0.06), name
        assert fmean(it.change == 1 for it in drawn) == pytest.approx(kind.changing, abs=0.06), name
        assert fmean(it.after > 0 for it in drawn) == pytest.approx(kind.deep, abs=0.08), name


def test_a_site_is_always_the_same_and_sites_differ() -> None:
    sites.resources.cache_clear()
    first = sites.resources(5)
    sites.resources.cache_clear()
    assert sites.resources(5) == first
    assert len({sites.usual(site) for site in MANY}) == len(MANY)


def test_a_visit_follows_from_session_and_place_and_changes_only_what_changes() -> None:
    assert sites.visit(5, 77, 1) == sites.visit(5, 77, 1)
    assert sites.visit(5, 77, 1) != sites.visit(5, 77, 0)
    assert sites.visit(5, 77, 1) != sites.visit(5, 78, 1)
    fixed = {
        f"{it.kind}-{place}": round(it.size_bytes)
        for place, it in enumerate(sites.resources(5))
        if not it.change
    }
    for session in range(30):
        for file in sites.visit(5, session, 0):
            assert fixed.get(file.name, file.size_bytes) == file.size_bytes


def test_a_file_that_changes_is_missing_now_and_then_with_what_it_names() -> None:
    found = sites.resources(5)
    changing = [f"{it.kind}-{place}" for place, it in enumerate(found) if it.change == 1 and it.after == 0]
    visits = [{file.name for file in sites.visit(5, session, 0)} for session in range(400)]
    assert changing
    for name in changing:
        assert fmean(name not in visit for visit in visits) == pytest.approx(sites.ABSENT, abs=0.07)
    named = {f"{it.kind}-{place}": found[it.after] for place, it in enumerate(found) if it.after}
    for visit in visits:
        for name in visit & named.keys():
            assert f"{named[name].kind}-{found.index(named[name])}" in visit


def test_sizes_of_a_session_are_nearer_to_each_other_than_to_another_session_s() -> None:
    """The spread of a file that changes: 0.15 between visits of a session, and with 0.3 between sessions."""
    found = sites.resources(5)
    place = next(place for place, it in enumerate(found) if it.change == 1 and it.size_bytes > 2_000)
    name = f"{found[place].kind}-{place}"

    def sizes(session: int, visit: int) -> list[float]:
        return [log(file.size_bytes) for file in sites.visit(5, session, visit) if file.name == name]

    within = stdev(size for visit in range(300) for size in sizes(1, visit))
    across = stdev(size for session in range(300) for size in sizes(session, 0))
    assert within == pytest.approx(sites.VISIT_SPREAD, rel=0.15)
    assert across == pytest.approx((sites.VISIT_SPREAD**2 + sites.SESSION_SPREAD**2) ** 0.5, rel=0.15)


def planned(protocol: str, http: str, workload: str = "") -> list[list[dict[str, Any]]]:
    text = (
        f'[experiment]\nname = "x"\nrepetitions = 2\n[scenario]\nname = "constant"\n'
        f'[matrix]\nprotocols = ["{protocol}"]\n'
        + f'[[flow]]\napp = "page"\npage = "site-3"\nhttp = "{http}"\n{workload}\n'
        * 2
    )
    runs = expand(parse_experiment(text, "x.toml", Path()))
    return [[flow["app_params"] for flow in plan_run(spec)["flows"]] for spec in runs]


def test_visits_differ_by_repetition_and_flow_and_not_by_protocol() -> None:
    over_tls, over_quic = planned("tls-cubic", "2"), planned("quic-quinn-cubic", "3")
    for one, other in zip(over_tls, over_quic, strict=True):
        for mine, theirs in zip(one, other, strict=True):
            assert mine["objects"] == theirs["objects"]
            assert mine["size_bytes"] == sum(it["size_bytes"] for it in mine["objects"])
    every = [flow["objects"] for run in over_tls for flow in run]
    assert len(every) == 4
    assert all(one != other for place, one in enumerate(every) for other in every[:place])
    assert any("after" in it for it in every[0])
    assert any("origin" in it for it in every[0])


def test_a_graph_needs_a_connection_that_takes_many_requests() -> None:
    with pytest.raises(UserError, match='choose http = "2" or "3"'):
        planned("tls-cubic", "1.1")


def test_a_list_of_one_s_own_can_be_a_graph(tmp_path: Path) -> None:
    text = """
[[object]]
name = "index.htm"
size_bytes = 17
[[object]]
name = "app.js"
size_bytes = 5
origin = 2
[[object]]
name = "data"
size_bytes = 6
after = "app.js"
"""
    (tmp_path / "a.toml").write_text(text)
    assert pages.load("a.toml", tmp_path) == (
        pages.PageObject("index.htm", 17),
        pages.PageObject("app.js", 5, origin=2),
        pages.PageObject("data", 6, after=1),
    )
    (tmp_path / "b.toml").write_text(text.replace('after = "app.js"', 'after = "data"'))
    with pytest.raises(UserError, match=r"entry 3 \(data\): there is no file 'data' before it"):
        pages.load("b.toml", tmp_path)
