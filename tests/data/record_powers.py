"""Writes powers.txt: what ml_dtypes makes of numbers that become float8_e8m0fnu, all floats among them (two minutes)."""

from pathlib import Path

import ml_dtypes
import numpy as np

POWER = ml_dtypes.float8_e8m0fnu
CHUNK = 1 << 24


def codes(array):
    with np.errstate(all="ignore"):
        return array.astype(POWER).view(np.uint8)


def floats():
    """The bits of each float, counted up, that becomes something else than the one before it."""
    before = -1
    for first in range(0, 1 << 32, CHUNK):
        bits = np.arange(first, first + CHUNK, dtype=np.uint64).astype(np.uint32)
        found = codes(bits.view(np.float32))
        at = np.flatnonzero(np.diff(found.astype(np.int16), prepend=before))
        yield from (f"f32 {bits[i]:08x} {found[i]:02x}" for i in at)
        before = int(found[-1])


def doubles():
    """Around what is halfway between powers, and between the floats next to that."""
    for exponent in (-1074, -151, -150, -149, -129, -128, -127, -126, -1, 0, 1, 126, 127, 128, 1023):
        for factor in (1, 1 + 2.0**-52, 1.25, 1.5 - 2.0**-24, 1.5 - 2.0**-25, 1.5 - 2.0**-26, 1.5, 1.75, 2 - 2.0**-52):
            value = np.ldexp(np.float64(factor), exponent)
            for near in (value, np.nextafter(value, 0), -value):
                array = np.array([near])
                yield f"f64 {array.view(np.uint64)[0]:016x} {codes(array)[0]:02x}"


def integers():
    for shift in (0, 1, 22, 23, 24, 25, 31, 32, 53, 54, 61, 62):
        for number in (1 << shift, 3 << shift >> 1, (3 << shift >> 1) - 1, (3 << shift >> 1) + 1, (1 << shift) - 1, -1 << shift):
            yield f"i64 {number} {codes(np.array([number], np.int64))[0]:02x}"


def main():
    values = np.arange(256, dtype=np.uint8).view(POWER).astype(np.float32).view(np.uint32)
    lines = [f"value {code:02x} {bits:08x}" for code, bits in enumerate(values)]
    lines += [*floats(), *dict.fromkeys([*doubles(), *integers()])]
    Path(__file__).with_name("powers.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
