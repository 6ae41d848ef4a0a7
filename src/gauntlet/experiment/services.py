"""Classes of service as files name them: of which work each is, and what it needs of a transport."""

import tomllib
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from gauntlet.errors import UserError
from gauntlet.experiment import workloads
from gauntlet.experiment.quantities import Rate, Size
from gauntlet.experiment.strict import Strict
from gauntlet.experiment.tomlfile import checked


def _known(name: str) -> str:
    try:
        return workloads.app(name).name
    except UserError as error:
        raise ValueError(str(error)) from None


class Limit(Strict):
    """What a class asks: a KPI, or a quantile of a distribution, and how far it may go."""

    words: str = Field(min_length=1)
    """What people read: 99 % of messages within 0.5 s."""
    kpi: str
    """A KPI, or a distribution of which `quantile` is asked."""
    quantile: float | None = Field(default=None, gt=0, lt=1)
    """Of the distribution that `kpi` names."""
    most: float | None = None
    """The largest value that will do, in SI units."""
    least: float | None = None
    """The smallest value that will do, in SI units."""
    of_best: float | None = Field(default=None, ge=1)
    """How far from the best of the class's transports it may be, as a factor."""
    above_channel: bool = False
    """Whether the channel's own delay is taken off first."""
    source: str = ""
    """Where the limit stands: standard, section, table."""
    assumed: str = ""
    """Why this limit, where no source has it."""

    @model_validator(mode="after")
    def _one_limit(self) -> Self:
        if [self.most, self.least, self.of_best].count(None) != 2:
            raise ValueError("there must be one limit; give one of most, least and of_best.")
        return self

    @property
    def bound(self) -> float | None:
        """The absolute limit; None where it is one against the best."""
        return self.least if self.most is None else self.most


class Service(Strict):
    """[[class]]: a class of service, by what an application sends."""

    name: str = Field(min_length=1)
    apps: list[Annotated[str, AfterValidator(_known)]] = Field(min_length=1)
    """The applications that it is of."""
    flows: list[str] = Field(default_factory=list)
    """Only flows of these names; empty: of any."""
    greedy: bool | None = None
    """Only flows that send all they can, or only those that do not; None: both."""
    size_above: Size | None = None
    """Only what is larger: a transfer, or each message."""
    size_up_to: Size | None = None
    """Only what is as large at most."""
    rate_above: Rate | None = None
    """Only what is sent faster."""
    rate_up_to: Rate | None = None
    """Only what is sent as fast at most."""
    reliable: bool = True
    """Whether all that is sent must arrive: then transports that do not repeat what is lost take no part."""
    need: list[Limit] = Field(min_length=1)
    """What it needs; a transport serves it when it keeps every limit."""


class _Named(Strict):
    """The classes of an experiment's text, whatever else stands in it."""

    services: list[Service] = Field(alias="class", default_factory=list)


def services_of(text: str, source: str) -> tuple[Service, ...]:
    """The classes that an experiment's text names; `source` is what it is called.

    Raises UserError, which begins with `source`.
    """
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{source}: not valid TOML: {error}.") from None
    return tuple(checked(_Named, {"class": given.get("class", [])}, source).services)
