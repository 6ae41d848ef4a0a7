"""Rain on a satellite link: what it takes from the signal, and which waveform is left.

A shower rises linearly over the first third of its time, holds, and falls over the last third. At each
instant the attenuation is that of ITU-R P.838 along the slant path of P.618 for the rain rate of this
instant; the densest waveform of DVB-S2 that still gets through sets the rate. This leaves out clouds, gases
and scintillation, and takes the forward link's waveforms for both directions.
"""

import math

from gauntlet.scenario.kinds.satellite_data import Band, Modcod, satellite_data

STEP_S = 10.0
"""How often the rate follows the rain."""


def rain_rate_mmh(highest_mmh: float, share: float) -> float:
    """Rain rate after a share (0 to 1) of a shower's time."""
    return highest_mmh * max(0.0, min(1.0, 3 * share, 3 * (1 - share)))


def attenuation_db(band: Band, rain_mmh: float, elevation_deg: float) -> float:
    """Attenuation by rain along the path to a satellite."""
    if rain_mmh <= 0:
        return 0.0
    elevation = math.radians(elevation_deg)
    specific_db_km = _specific_db_km(band, rain_mmh)
    slant_km = satellite_data().rain.height_km / math.sin(elevation)
    ground_km = slant_km * math.cos(elevation)
    spread = 0.78 * math.sqrt(ground_km * specific_db_km / band.frequency_ghz)
    reduction = 1 / (1 + spread - 0.38 * (1 - math.exp(-2 * ground_km)))
    return specific_db_km * slant_km * reduction


def _specific_db_km(band: Band, rain_mmh: float) -> float:
    """ITU-R P.838-3, eq. (1), with circular polarisation."""
    (k_h, k_v), (alpha_h, alpha_v) = band.k, band.alpha
    k = (k_h + k_v) / 2
    alpha = (k_h * alpha_h + k_v * alpha_v) / (2 * k)
    return k * float(rain_mmh**alpha)


def waveform(faded_db: float) -> Modcod | None:
    """The densest waveform that gets through when rain takes so much; None when none does."""
    known = satellite_data().waveform
    clear = next(modcod for modcod in known.modcod if modcod.name == known.clear)
    left_db = clear.needs_db - faded_db
    fitting = [modcod for modcod in known.modcod if modcod.needs_db <= left_db]
    return max(fitting, key=lambda modcod: modcod.efficiency, default=None)


def rate_share(faded_db: float) -> float:
    """Share of the clear sky's rate that is left; 0 when nothing gets through."""
    best, clear = waveform(faded_db), waveform(0.0)
    return best.efficiency / clear.efficiency if best and clear else 0.0
