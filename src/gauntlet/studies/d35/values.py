"""Results of the study that no KPI holds, for claims to name."""

from collections.abc import Mapping

from gauntlet.studies.d35.differences import DIFFERENCES
from gauntlet.studies.d35.recommend import CLASSES
from gauntlet.studies.d35.shares import SHARES
from gauntlet.studies.model import Value
from gauntlet.studies.recommend import share_served

VALUES: Mapping[str, Value] = {
    **DIFFERENCES,
    **SHARES,
    **{f"table-11-{it.name.lower().replace(' ', '-')}": share_served(it) for it in CLASSES},
}
"""By the name that a claim of the kind `value` gives."""
