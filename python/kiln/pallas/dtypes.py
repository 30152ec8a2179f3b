"""Types of elements as specs spell them, and those that are held one a byte."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from .cannot import CannotSay

_NAMES = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "float8_e4m3fn": "f8e4m3fn",
    "float8_e5m2": "f8e5m2", "float8_e8m0fnu": "f8e8m0fnu", "int4": "i4", "uint4": "u4", "int8": "i8", "uint8": "u8", "int16": "i16",
    "uint16": "u16", "int32": "i32", "uint32": "u32", "int64": "i64", "bool": "bool",
}  # fmt: skip

#: Types that are held one a byte, as ml_dtypes has them: the byte's, and their own bits.
_NARROW = {"int2": ("i8", 2), "uint2": ("u8", 2)}


def dtype_name(of: Any) -> str:
    """As specs spell the type of an array, or of what has a dtype."""
    name = str(of.dtype)
    if name in _NARROW:
        return _NARROW[name][0]
    if name not in _NAMES:
        raise CannotSay(f"the dtype {name}")
    return _NAMES[name]


def narrow_bits(of: Any) -> int | None:
    """Of a type that is held in a byte."""
    return _NARROW[str(of.dtype)][1] if str(of.dtype) in _NARROW else None


def dtype_bits(dtype: Any) -> int:
    """Of one element, those of less than a byte too."""
    dtype = np.dtype(dtype)
    whole = dtype.kind in "iu" or dtype.name in ("int4", "uint4", "int2", "uint2")
    return int((ml_dtypes.iinfo if whole else ml_dtypes.finfo)(dtype).bits)


def as_held(array: Any) -> Any:
    """An array of a narrow type as bytes, and others as they are."""
    return array.astype("uint8" if str(array.dtype)[0] == "u" else "int8") if narrow_bits(array) else array


def bitcast_name(dtype: Any) -> str:
    """The type that a ref is seen as."""
    if np.dtype(dtype).name in _NARROW:
        raise CannotSay("a bitcast between widths")
    return _NAMES.get(np.dtype(dtype).name) or dtype_name(np.zeros(0, dtype))
