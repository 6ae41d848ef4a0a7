"""All scenarios by name. A new kind is one file in `kinds/` and one line here."""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path

from gauntlet.errors import UserError
from gauntlet.scenario.kinds import (
    constant,
    deep_space,
    fitted,
    metro_wifi,
    rail_lte,
    recorded,
    satellite,
)
from gauntlet.scenario.linefile import LineFile, read_builtin, read_line
from gauntlet.scenario.model import Build, Scenario, ScenarioInfo

LINES = ("hsr", "regional", "metro-a")
"""Lines that come with the package, as `data/NAME.toml`."""

LINE_KINDS: dict[str, Callable[[str, LineFile, Mapping[str, object] | None, int], Scenario]] = {
    "rail-lte": rail_lte.build,
    "metro-wifi": metro_wifi.build,
}
"""Kinds of line files, by the `kind` that the file states."""

KINDS: dict[str, Build] = {
    "constant": constant.build,
    **dict.fromkeys(satellite.ORBITS, satellite.build),
    **dict.fromkeys(deep_space.PLACES, deep_space.build),
}
"""Scenarios that need no file."""

FILE_KINDS: dict[str, Build] = {
    ".csv": recorded.build,
    ".parquet": recorded.build,
}
"""Scenarios read from a user's file, by the end of its name; `.toml` is a line file or a fitted link."""


def load_scenario(name_or_path: str, params: Mapping[str, object] | None = None, seed: int = 0) -> Scenario:
    """Load a scenario by name (see `available`), or from a trace (.csv, .parquet), line file or fitted link
    (.toml).

    `params` are its parameters, numbers or text with units. The same arguments give the same tables.
    Raises `UserError` with one sentence for anything that cannot be.
    """
    if not 0 <= seed < 2**63:
        raise UserError(f"Seed {seed} is not possible: it must be a whole number from 0 to 2^63 - 1.")
    if name_or_path in LINES:
        return _on_line(name_or_path, read_builtin(name_or_path, LineFile), params, seed)
    if name_or_path in KINDS:
        return KINDS[name_or_path](name_or_path, params, seed)
    suffix = Path(name_or_path).suffix
    if suffix == ".toml" and fitted.is_model(Path(name_or_path)):
        return fitted.build(name_or_path, params, seed)
    if suffix == ".toml":
        return _on_line(name_or_path, read_line(Path(name_or_path)), params, seed)
    if suffix in FILE_KINDS:
        return FILE_KINDS[suffix](name_or_path, params, seed)
    known = [*LINES, *KINDS]
    close = get_close_matches(name_or_path.lower(), known, n=1)
    hint = f"did you mean '{close[0]}'? Known are" if close else "known are"
    raise UserError(
        f"There is no scenario '{name_or_path}'; {hint} {', '.join(known)}, "
        "or give the path of a trace (.csv, .parquet), of a line file or of a fitted link (.toml)."
    )


def _on_line(name: str, line: LineFile, params: Mapping[str, object] | None, seed: int) -> Scenario:
    if line.kind not in LINE_KINDS:
        raise UserError(
            f"Line '{name}' is of unknown kind '{line.kind}'; known are: {', '.join(LINE_KINDS)}."
        )
    return LINE_KINDS[line.kind](name, line, params, seed)


def available() -> list[ScenarioInfo]:
    """The scenarios that come with the package, each with its parameters and their defaults."""
    loaded = (load_scenario(name) for name in (*LINES, *KINDS))
    return [ScenarioInfo(s.name, s.title, s.kind, s.params) for s in loaded]
