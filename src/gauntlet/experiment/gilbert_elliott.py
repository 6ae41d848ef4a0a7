"""Loss in bursts, by the model of Gilbert and Elliott, as a file has it."""

from gauntlet.experiment.quantities import Share
from gauntlet.experiment.strict import Strict


class GilbertElliott(Strict):
    """Loss in bursts: two states, with transition and loss probabilities."""

    p: Share
    """From good to bad, per packet."""
    r: Share
    """From bad to good, per packet."""
    loss_bad: Share = 1.0
    loss_good: Share = 0.0
