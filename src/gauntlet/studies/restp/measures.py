"""The study's own measures, for its figures."""

from gauntlet.studies.folders import known
from gauntlet.studies.load import measures

_OWN = measures(known()["restp"])
PAGE_TIME = _OWN["page_time_with_setup_s"]
RATE_FROM_START = _OWN["rate_from_start_bps"]
OUTAGE_MEASURES = tuple(
    _OWN[name]
    for name in ("back_after_s", "outages_survived", "rate_after_outage_bps", "repeated_in_outages")
)
