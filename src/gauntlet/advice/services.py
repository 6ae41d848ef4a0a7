"""Which class of service what was played is of: by the package's classes, an experiment's or a file's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from pydantic import Field

from gauntlet.errors import UserError
from gauntlet.experiment.services import Limit, Service, services_of
from gauntlet.experiment.strict import Strict
from gauntlet.experiment.tomlfile import checked, toml
from gauntlet.metrics.quantity import Quantity, shown

DEFAULT = "classes.toml"
"""Name of the package's own file, beside this one."""


class _File(Strict):
    """The whole of a file of classes for reports."""

    by: str = ""
    services: list[Service] = Field(alias="class", min_length=1)


@dataclass(frozen=True)
class Services:
    """Classes of service, and whose they are."""

    by: str
    services: tuple[Service, ...]


@dataclass(frozen=True)
class Work:
    """What flows have to do, whatever carries them."""

    app: str
    name: str | None = None
    size_bytes: float | None = None
    rate_bps: float | None = None
    greedy: bool = False
    interval_s: float | None = None
    page: str | None = None

    @classmethod
    def of(cls, flow: Mapping[str, Any], *, greedy: bool) -> "Work":
        """By a flow of a run's specification."""
        named = ("name", "size_bytes", "interval_s", "page")
        rate_bps = None if greedy else flow.get("rate_bps")
        return cls(
            app=str(flow.get("app", "")),
            rate_bps=rate_bps,
            greedy=greedy,
            **{name: flow.get(name) for name in named},
        )


def load(path: Path) -> Services:
    """Read a file of classes. Raises UserError with file, place and what would be right."""
    file = checked(_File, toml(path, "file of classes"), str(path))
    return Services(file.by or path.name, _sound(file.services, str(path)))


def of_experiment(text: str, source: str) -> Services:
    """The classes that an experiment's text names, if any. Raises UserError, which begins with `source`."""
    return Services("the experiment", _sound(services_of(text, source), source))


@cache
def default() -> Services:
    """The package's own."""
    with as_file(files("gauntlet.advice") / DEFAULT) as path:
        return load(path)


def fitting(work: Work, known: Sequence[Services]) -> tuple[Services, list[Service]] | None:
    """The classes that a work is of, by the first of `known` that has any; None where none has."""
    for each in known:
        found = [it for it in each.services if fits(it, work)]
        if found:
            return each, found
    return None


def fits(service: Service, work: Work) -> bool:
    """Whether a work is of a class. A size or a rate that the work does not have is within no range."""
    return (
        work.app in service.apps
        and (not service.flows or work.name in service.flows)
        and (service.greedy is None or service.greedy == work.greedy)
        and _within(work.size_bytes, service.size_above, service.size_up_to)
        and _within(work.rate_bps, service.rate_above, service.rate_up_to)
    )


def _within(value: float | None, above: float | None, up_to: float | None) -> bool:
    if above is None and up_to is None:
        return True
    if value is None:
        return False
    return (above is None or value > above) and (up_to is None or value <= up_to)


def _sound(services: Sequence[Service], source: str) -> tuple[Service, ...]:
    """The same, when all that they ask can be answered. Raises UserError otherwise."""
    for service in services:
        for limit in service.need:
            _check(limit, f"{source}: class '{service.name}', need '{limit.words}'")
    return tuple(services)


def _check(limit: Limit, where: str) -> None:
    try:
        kpi = shown(Quantity(limit.kpi, limit.quantile), {})
    except UserError as error:
        raise UserError(f"{where}: {error}") from None
    wanted = "least" if kpi.higher_is_better else "most"
    if limit.of_best is None and getattr(limit, wanted) is None:
        more = "more" if kpi.higher_is_better else "less"
        raise UserError(f"{where}: of {limit.kpi} {more} is better; give {wanted} or of_best.")
