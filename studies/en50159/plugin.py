"""What a specification gives a protocol, as `gauntlet assess` has it, for claims that no run is played of."""

from gauntlet.defences import compare, data
from gauntlet.defences.data import Has, Meets

_HAS = {Has.YES: 1.0, Has.PARTLY: 0.5, Has.NO: 0.0}


def has(protocol: str, defence: str) -> float:
    """1: it has the defence; 0.5: in part; 0: it has not (src/gauntlet/defences/protocols.toml)."""
    return _HAS[Has(data.default().protocol(protocol).has[defence].answer)]


def meets(protocol: str, threat: str, against: str) -> float:
    """1 where it meets the threat against `faults` or against an `attack`, else 0."""
    cell = data.default().protocol(protocol).meets[threat]
    if against not in ("faults", "attack"):
        raise ValueError(f"'{against}' is neither faults nor attack")
    held = cell.answer == Meets.ATTACK if against == "attack" else cell.holds_against_faults
    return float(held)


def in_part(protocol: str, threat: str) -> float:
    """1 where it meets the threat at least in one direction, in one phase or under a condition, else 0."""
    return float(data.default().protocol(protocol).meets[threat].answer != Meets.NO)


def robust(hazard: str) -> float:
    """The share of the protocols that Table 8 names for a hazardous event, over its threats, which hold."""
    cells = [it for it in compare.robustness(data.default()) if it.hazard.name == hazard]
    if not cells or not all(it.judged for it in cells):
        raise ValueError(f"'{hazard}' is no event that a protocol is judged by")
    return sum(len(it.holds) for it in cells) / sum(len(it.ticked) for it in cells)


FUNCTIONS = {"has": has, "meets": meets, "in_part": in_part, "robust": robust}
