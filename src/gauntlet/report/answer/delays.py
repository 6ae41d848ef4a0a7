"""Which is quickest? Delays where an application feels them."""

from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.observation import State
from gauntlet.report.answer.ranking import overall
from gauntlet.report.answer.wording import Sentence
from gauntlet.report.campaign import Campaign
from gauntlet.report.numbers import listed, with_unit


def quickest(campaign: Campaign, kpi: Kpi) -> list[Sentence]:
    """Who has the lowest and the highest delay over all conditions, where the application feels it: a flow
    that sends all it can fills its own sender's buffer, and its delay is how large that is.
    """
    greedy = {row.protocol for row in campaign.rows if row.greedy}
    means = overall(campaign, kpi)
    dead = {
        key
        for key in (style.key for style in campaign.styles)
        for condition in campaign.conditions
        if any(it.state == State.NEVER for it in campaign.values(kpi, key, condition).values())
    }
    felt = {key: it for key, it in means.items() if key not in greedy and key not in dead}
    buffered = [campaign.style(key).label for key in means if key in greedy]
    parts = []
    n = ""
    if len(felt) > 1:
        low, high = min(felt, key=lambda key: felt[key].value), max(felt, key=lambda key: felt[key].value)
        n = f" (n = {felt[low].n})"
        parts.append(
            f"{kpi.label}, over all conditions: lowest for {campaign.style(low).label} with "
            f"{with_unit(kpi, felt[low])}, highest for {campaign.style(high).label} with "
            f"{with_unit(kpi, felt[high])}{n}."
        )
    if dead:
        named = listed([style.label for style in campaign.styles if style.key in dead])
        parts.append(f"{named}: in some repetitions nothing arrived, so there is no delay to rank.")
    if buffered:
        parts.append(
            f"Not judged for {listed(buffered)}: they send all they can, so a message waits in its own "
            "sender's buffer, and its delay measures that. Give the flow a rate below the line's to see what "
            "an application feels."
        )
    return [Sentence("Which is quickest?", " ".join(parts))] if parts else []
