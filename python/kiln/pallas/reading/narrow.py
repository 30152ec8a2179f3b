"""Reading: integers of two bits. They are held one a byte, as ml_dtypes has them, and computed in bytes; what
an operation gives comes back to their range."""

from __future__ import annotations

from .. import _jax_internals as jaxi
from ..dtypes import narrow_bits
from ..ir import Value
from .part import Part

#: Primitives that only move values, which are in range already.
_MOVES = {"get", "swap", "masked_load", "masked_swap", "reshape", "squeeze", "expand_dims", "transpose", "concatenate",
          "stack", "unstack", "broadcast_in_dim", "broadcast_to", "slice", "dynamic_slice", "split", "tile", "repeat",
          "roll", "rev", "sort", "dynamic_update_slice", "scatter", "top_k", "cummax", "cummin", "select_n", "max", "min", "clamp", "reduce_max",
          "reduce_min", "cond", "while", "scan", "run_scoped", *jaxi.CALLS}  # fmt: skip


class Narrow(Part):
    """What `Equation` inherits."""

    def narrow(self) -> None:
        """Brings what this equation gave back to the range of its type."""
        if self.eqn.primitive.name in _MOVES:
            return
        for variable in self.eqn.outvars:
            bits = None if jaxi.is_ref(variable.aval) else narrow_bits(variable.aval)
            if bits is not None and not isinstance(variable, jaxi.DropVar):
                self.reader.notes.append("integers of 2 bits are held one a byte")
                self.environment[variable] = self._in_range(self.value(variable), bits)

    def _in_range(self, value: Value, bits: int) -> Value:
        """Floats end at the ends of the range, of integers the upper bits are lost."""
        signed = value.dtype == "i8"

        def constant(number: int) -> Value:
            return Value(value.dtype, value.shape, constant=number)

        if self.eqn.primitive.name == "convert_element_type" and self.value(self.eqn.invars[0]).is_float:
            low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
            above = self.made("max", [value, constant(low)], value.shape)
            return self.made("min", [above, constant(high)], value.shape)
        places = constant(8 - bits)
        left = self.made("shift_left", [value, places], value.shape)
        return self.made(f"shift_right_{'arithmetic' if signed else 'logical'}", [left, places], value.shape)
