"""The study's classes of service, for its figures."""

from gauntlet.advice import classes, serves
from gauntlet.studies import study
from gauntlet.studies.advised import advised
from gauntlet.studies.folders import known
from gauntlet.studies.summary import Summary

CLASSES = classes.load(known()["d35"] / classes.CLASSES).classes


def recommend(summary: Summary) -> list[serves.Recommendation]:
    """Every row of the study's table."""
    return advised(study("d35"), summary)
