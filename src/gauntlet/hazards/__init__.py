"""How often hazards of a line bring the threats of EN 50159 where nobody attacks: measured from runs.

A hazard is what an experiment does to its line (`experiments/hazard-*.toml`). What it does to messages is
what receivers over UDP meet; what is left of it over another transport is what receivers there meet.
"""

from gauntlet.hazards.measured import Frequency, Hazard, Row, measured

__all__ = ["Frequency", "Hazard", "Row", "measured"]
