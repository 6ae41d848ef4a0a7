"""What a distance becomes in fibre: the length of the cable, and the time that light takes through it."""

SPEED_OF_LIGHT_KM_S = 299_792.458
"""In vacuum (the metre's definition)."""

GROUP_INDEX = 1.4682
"""Of single-mode fibre (ITU-T G.652) at 1550 nm: Corning's product information of SMF-28."""

FIBRE_SPEED_KM_S = SPEED_OF_LIGHT_KM_S / GROUP_INDEX
"""Of a signal in fibre: about 204,190 km/s, 4.9 us a kilometre."""

DETOUR = 1.25
"""Length of a cable by the great-circle distance between its ends, where nobody knows better: what ITU-T
G.826 takes for connections longer than 1200 km, since cables follow roads and rails. It takes 1.5 below
1000 km; one factor for all keeps the order of paths by their great circles.
"""


def cable_km(distance_km: float) -> float:
    """The assumed length of a cable between two places so far from each other."""
    return DETOUR * distance_km


def delay_s(length_km: float) -> float:
    """One way through a cable."""
    return length_km / FIBRE_SPEED_KM_S
