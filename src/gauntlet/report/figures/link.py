"""The link of a report over the whole line, with the stretches that runs rode."""

from gauntlet.figures.link import link as picture
from gauntlet.figures.link_view import Stretch, View
from gauntlet.report.evaluation import Evaluation
from gauntlet.report.figures.figure import Figure, figure

MOST_NUMBERED_STRETCHES = 12


def link(evaluation: Evaluation) -> list[Figure]:
    """One picture a bearer; none for a link that never changes or when runs rode different scenarios."""
    scenario = evaluation.results.scenario
    if scenario is None:
        return []
    found = []
    for bearer, columns in sorted(scenario.get("bearers", {}).items()):
        if len(columns["t_s"]) < 2:
            continue
        end_s = columns.get("end_s") or scenario.get("duration_s") or columns["t_s"][-1]
        stretches = _stretches(evaluation, end_s)
        over, rode = ("the journey", "rode") if scenario.get("line") else ("its time", "met")
        marked = f"Marked: the stretches that runs {rode}, numbered by repetition. " if stretches else ""
        found.append(
            figure(
                name=f"link-{bearer}",
                title=f"{scenario.get('title', 'The link')} (bearer {bearer})",
                caption=f"IP-layer rate, one-way delay and loss of the bearer over {over}. {marked}"
                f"Every protocol {rode} the same stretches.",
                chart=picture(scenario, bearer=bearer, end_s=end_s, stretches=stretches),
                columns=View(scenario, columns, 0.0, end_s).rows(),
            )
        )
    return found


def _stretches(evaluation: Evaluation, end_s: float) -> list[Stretch]:
    """Stretches of the line that runs rode, by where they start; none when they are the whole of it."""
    ends_s: dict[float, float] = {}
    repetitions: dict[float, set[int]] = {}
    for row in evaluation.rows:
        start_s = row.start_s
        if start_s is None or row.observed_until_s is None:
            continue
        stop_s = min(start_s + row.observed_until_s, end_s)
        if stop_s - start_s < 0.98 * end_s:
            ends_s[start_s] = max(stop_s, ends_s.get(start_s, 0.0))
            repetitions.setdefault(start_s, set()).add(row.repetition)
    numbered = len(ends_s) <= MOST_NUMBERED_STRETCHES
    return [
        Stretch(start_s, stop_s, ", ".join(map(str, sorted(repetitions[start_s]))) if numbered else "")
        for start_s, stop_s in sorted(ends_s.items())
    ]
