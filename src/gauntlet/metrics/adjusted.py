"""A mean over repetitions freed of what a covariate explains.

Where each repetition has a number that is known beforehand, and so is that number's mean over all that could
have been drawn, the values are fitted to it by least squares and read at that mean (the regression estimator:
Cochran, Sampling Techniques, 1977, section 7.4). What is left uncertain is the scatter about the fit. The
interval has the standard error HC3 (MacKinnon and White, Journal of Econometrics 29, 1985), which holds where
the scatter is not the same everywhere and the fit not quite a straight line, and Student's t for the degrees
of freedom that are left.
"""

from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from gauntlet.metrics.ecdf import ALPHA
from gauntlet.metrics.intervals import BOOTSTRAP_FROM, Mean, mean
from gauntlet.metrics.steps import Floats

ADJUSTED = "regression"
"""Method of a `Mean` that was adjusted."""

_ALONE = 1 - 1e-6
"""A repetition that the fit passes through whatever its value (leverage 1) says nothing about the scatter."""


def adjusted(
    values: Sequence[float] | Floats,
    covariates: Sequence[tuple[Sequence[float] | Floats, float]],
    alpha: float = ALPHA,
) -> Mean:
    """The mean of one value a repetition, each covariate at its true mean, with its 1 - alpha interval.

    `covariates` are (one number a repetition, its true mean). The plain mean where there are fewer
    repetitions than a bootstrap takes, or where no covariate tells them apart. Raises ValueError for no
    value.
    """
    data = np.asarray(values, dtype=float)
    columns = [np.asarray(given, dtype=float) - centre for given, centre in covariates]
    columns = [it / it.std() for it in columns if it.size and it.std() > 1e-9 * np.abs(it).max()]
    design = np.column_stack([np.ones(data.size), *columns])
    free = data.size - design.shape[1]
    if data.size < BOOTSTRAP_FROM or not columns or free < 2:
        return mean(data, alpha)
    if np.linalg.matrix_rank(design) < design.shape[1]:
        return adjusted(data, covariates[:-1], alpha)
    inverse = np.linalg.inv(design.T @ design)
    fit = inverse @ design.T @ data
    leverage = np.einsum("ij,jk,ik->i", design, inverse, design)
    if leverage.max() > _ALONE:
        return mean(data, alpha)
    scatter = ((data - design @ fit) / (1 - leverage)) ** 2
    variance = float((inverse @ (design.T * scatter) @ design @ inverse)[0, 0])
    half = float(stdtrit(free, 1 - alpha / 2)) * np.sqrt(max(variance, 0.0))
    return Mean(float(fit[0]), float(fit[0] - half), float(fit[0] + half), int(data.size), ADJUSTED)
