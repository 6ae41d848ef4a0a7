"""The answer in sentences, made from the numbers by rules that the report prints beside them (`RULES`)."""

from dataclasses import replace

from gauntlet.report.answer.cost import costs
from gauntlet.report.answer.delays import quickest
from gauntlet.report.answer.failures import failures
from gauntlet.report.answer.losses import losses
from gauntlet.report.answer.rules import RULES
from gauntlet.report.answer.winner import winner
from gauntlet.report.answer.wording import Sentence
from gauntlet.report.campaign import TRANSFERS, Campaign

__all__ = ["RULES", "Sentence", "sentences"]


def sentences(campaign: Campaign) -> list[Sentence]:
    """The statements that the campaign's numbers support, the most important first; where flows have
    different work, those of each kind of flows.
    """
    if not any(row.trusted for row in campaign.rows) or not campaign.kpis:
        why = "No run can be trusted, so no conclusion is drawn" if campaign.kpis else "No run gave a number"
        return [Sentence("Result", f"{why}: see Trust for the reasons.")]
    found = []
    for part in campaign.parts:
        named = f" ({part.subject})" if part.subject else ""
        found += [replace(it, question=f"{it.question}{named}") for it in _of_part(part)]
    return found


def _of_part(campaign: Campaign) -> list[Sentence]:
    kpi = campaign.main_kpi
    if kpi is None or not any(row.trusted and row.observed(kpi) for row in campaign.rows):
        return [Sentence("Which protocol?", "No trusted run gave a number, so none is named.")]
    found = [winner(campaign, kpi), *failures(campaign)]
    found += [cost for axis in campaign.axes if axis.numeric for cost in costs(campaign, kpi, axis)]
    for other in campaign.kpis:
        if other.name == "delay_p95_s" and other is not kpi and not campaign.apps & TRANSFERS:
            found += quickest(campaign, other)
        if other.name == "message_loss_ratio":
            found += losses(campaign, other)
    return found
