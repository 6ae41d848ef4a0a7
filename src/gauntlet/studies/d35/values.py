"""Results of the study that no KPI holds, for claims to name."""

from collections.abc import Mapping

from gauntlet.studies.d35.differences import DIFFERENCES
from gauntlet.studies.model import Value

VALUES: Mapping[str, Value] = {**DIFFERENCES}
"""By the name that a claim of the kind `value` gives."""
