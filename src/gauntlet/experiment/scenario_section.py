"""What a file says of a scenario that is to be ridden: its name, its parameters, and which stretch of it."""

from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict

from gauntlet.experiment.quantities import Duration, Time
from gauntlet.experiment.strict import Strict


class FollowedSection(Strict):
    """Which link over time, and which stretch. Further keys are the scenario's own parameters."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    name: str
    chunk: Duration | None = None
    """Length of a stretch whose beginning is drawn anew for each repetition."""
    start: Time | None = None
    """A fixed beginning instead."""
    bearer: str | None = None
    """Which bearer, where the scenario has several."""

    @property
    def params(self) -> dict[str, Any]:
        """The scenario's own parameters as written."""
        return dict(self.model_extra or {})


def _named(given: Any) -> Any:
    return {"name": given} if isinstance(given, str) else given


Followed = Annotated[FollowedSection, BeforeValidator(_named, json_schema_input_type=str | FollowedSection)]
"""Its name alone says it where nothing else is to be said."""


class ScenarioSection(FollowedSection):
    """[scenario] of an experiment."""

    stratified: bool = False
    """Whether each repetition begins in a part of its own, of as many equal ones as there are."""
