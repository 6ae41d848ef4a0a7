"""What of a challenge may not be meant: that it takes an end of the paths, or nothing of them at all."""

import math
from collections.abc import Mapping, Sequence
from typing import Any


def remarks(
    paths: Sequence[Mapping[str, Any]], challenge: Mapping[str, Any], until_s: float | None = None
) -> list[str]:
    """A sentence for each end that is down, and one where nothing of the paths is, or nothing until
    `until_s`, when runs were over. `paths` and `challenge` are as `gauntlet.geography.told` has them.
    """
    named = f"The challenge '{challenge['name']}'"
    first_s = min((from_s for path in paths for from_s, _ in path["down"]), default=None)
    if first_s is None:
        return [f"{named} takes no node and no link of these paths."]
    if until_s is not None and first_s >= until_s:
        return [
            f"{named} takes nothing of the paths before {first_s:.1f} s, and the runs were over at "
            f"{until_s:.1f} s."
        ]
    over_s = math.inf if until_s is None else until_s
    down = {
        it["node"]: spans
        for it in challenge["nodes"]
        if (spans := [span for span in it["down"] if span[0] < over_s])
    }
    ends = dict.fromkeys(path["nodes"][place] for path in paths for place in (0, -1))
    return [
        f"{named} takes {end} itself, an end of the paths, at "
        f"{', '.join(f'{start:.1f}–{stop:.1f} s' for start, stop in down[end])}; no path can help then."
        for end in ends
        if end in down
    ]
