"""Does every flow do its work? Who failed, and under which condition most."""

from gauntlet.metrics.numbers import counted, listed
from gauntlet.report.answer.wording import Sentence, completed_of
from gauntlet.report.axes import Condition
from gauntlet.report.campaign import Campaign


def failures(campaign: Campaign) -> list[Sentence]:
    """Which flows did not do what they were to do, by protocol, and under which condition most."""
    counts = {style.key: completed_of(campaign, style.key) for style in campaign.styles}
    flows, failed = sum(of for _, of in counts.values()), sum(of - done for done, of in counts.values())
    if not failed:
        return []
    parts = []
    for key, (done, of) in counts.items():
        if done == of:
            continue
        where = ""
        if len(campaign.conditions) > 1:
            most = max(campaign.conditions, key=lambda it: _failed_share(campaign, key, it))
            there, of_there = campaign.done(key, most)
            where = f" (most at {campaign.label(most)}: {of_there - there} of {of_there})"
        parts.append(f"{campaign.style(key).label} {of - done} of {of}{where}")
    text = f"No: {failed} of {counted(flows, 'flow')} failed. {listed(parts)}. The reasons stand under Trust."
    return [Sentence("Does every flow do its work?", text)]


def _failed_share(campaign: Campaign, key: str, condition: Condition) -> float:
    done, of = campaign.done(key, condition)
    return 1 - done / of if of else 0.0
