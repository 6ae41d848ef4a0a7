"""What rests on parameters that were chosen so that a printed value is met: [[calibrated]] of study.toml."""

from collections.abc import Iterable

from gauntlet.studies.model import Calibrated, Study
from gauntlet.studies.siblings import settings_of


def behind(study: Study, experiments: Iterable[str]) -> list[Calibrated]:
    """The calibrated parameters that these experiments were played with."""
    named = set(experiments)
    return [it for it in study.calibrated if named & _with(study, it)]


def idle(study: Study) -> list[Calibrated]:
    """Those that no experiment was played with."""
    return [it for it in study.calibrated if not _with(study, it)]


def _with(study: Study, parameter: Calibrated) -> set[str]:
    """The experiments that have a parameter: those that it names, and whose files set its key."""
    have = {it.name for it in study.experiments if parameter.key and parameter.key in settings_of(it.file)}
    return have | (set(parameter.experiments) & {it.name for it in study.experiments})
