"""Scenarios that several tests look at; loaded once, since nothing in them can change."""

import pytest

from gauntlet.scenario import Scenario, load_scenario


@pytest.fixture(scope="session")
def hsr() -> Scenario:
    return load_scenario("hsr", seed=7)


@pytest.fixture(scope="session")
def regional() -> Scenario:
    return load_scenario("regional", seed=7)


@pytest.fixture(scope="session")
def metro() -> Scenario:
    return load_scenario("metro-a", seed=7)


@pytest.fixture(scope="session", params=["hsr", "regional", "metro-a"])
def on_line(request: pytest.FixtureRequest) -> Scenario:
    return load_scenario(request.param, seed=7)
