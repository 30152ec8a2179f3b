"""Arrays of an imported kernel beside those of the Pallas kernel."""

import ml_dtypes
import numpy as np

EPSILONS = 256


def difference(got, want):
    """By how much they differ, beyond 256 eps of the largest value for floats; None: they do not."""
    want = np.asarray(want)
    if got.dtype != want.dtype and got.dtype.itemsize == want.dtype.itemsize:
        got = got.view(want.dtype)  # 16-bit floats are bit patterns in files
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{got.shape} instead of {want.dtype}{want.shape}"
    try:
        eps = float(ml_dtypes.finfo(want.dtype).eps)
    except ValueError:
        wrong = got != want
        return f"{wrong.sum()} of {wrong.size} elements" if wrong.any() else None
    a, b = got.astype(np.float64), want.astype(np.float64)
    finite = np.abs(b[np.isfinite(b)])
    allowed = EPSILONS * eps * (finite.max() if finite.size else 1.0)
    with np.errstate(invalid="ignore"):
        wrong = ~((np.abs(a - b) <= allowed) | (a == b) | np.isnan(a) & np.isnan(b))
    return f"{wrong.sum()} of {wrong.size} elements" if wrong.any() else None
