"""The study's own measures, for its figures."""

from gauntlet.studies.folders import known
from gauntlet.studies.load import measures

_OWN = measures(known()["d35"])
THROUGHPUT_WITH_SETUP = _OWN["throughput_with_setup_bps"]
FETCH_TIME = _OWN["fetch_time_s"]
