"""Reading: primitives whose parameters JAX and the IR spell in different ways."""

from __future__ import annotations

from .. import cannot
from ..cannot import CannotSay
from ..dtypes import narrow_bits
from ..ir import Operation, Value
from .part import Part


class Parameters(Part):
    """What `Equation` inherits: a method for each of these primitives."""

    def read_program_id(self) -> None:
        self.emit("program_id", axis=self.reader.axes[self.params["axis"]])

    def read_axis_index(self) -> None:
        """Of a core, by the name of its axis in the mesh: a step of the grid."""
        name = self.params["axis_name"]
        if name not in self.reader.named:
            raise CannotSay(cannot.primitive("axis_index"))
        self.emit("program_id", axis=self.reader.named[name])

    def read_num_programs(self) -> None:
        self.emit("num_programs", axis=self.reader.axes[self.params["axis"]])

    def read_square(self) -> None:
        self.emit("integer_pow", exponent=2)

    def read_integer_pow(self) -> None:
        self.emit("integer_pow", exponent=int(self.params["y"]))

    def read_round(self) -> None:
        self.emit("round", to_even=int(self.params["rounding_method"]) == 1)

    def read_clamp(self) -> None:
        low, x, high = map(self.value, self.eqn.invars)
        self.emit("clamp", [x, low, high])

    def read_select_n(self) -> None:
        which, *cases = map(self.value, self.eqn.invars)
        if which.dtype == "bool":
            self.emit("select", [which, *reversed(cases)])
            return
        *others, chosen = cases
        if not others:
            self.environment[self.eqn.outvars[0]] = chosen
            return
        for k in reversed(range(1, len(others))):
            chosen = self.made("select", [self._is(which, k), others[k], chosen], chosen.shape)
        self.emit("select", [self._is(which, 0), others[0], chosen])

    def _is(self, value: Value, number: int) -> Value:
        return self.made("eq", [value, Value(value.dtype, value.shape, constant=number)], value.shape, dtype="bool")

    def read_convert_element_type(self) -> None:
        self.emit("convert")

    def read_bitcast_convert_type(self) -> None:
        if self.eqn.invars[0].aval.shape != self.eqn.outvars[0].aval.shape:
            raise CannotSay("a bitcast between widths")
        self.emit("bitcast")

    def read_bitcast(self) -> None:
        if any(narrow_bits(v.aval) for v in (self.eqn.invars[0], self.eqn.outvars[0])):
            raise CannotSay("a bitcast of integers of 2 bits")
        self.emit("bitcast")

    def read_reciprocal(self) -> None:
        if self.params.get("approx"):
            self.reader.notes.append("an approximate reciprocal is exact here")
        (x,) = map(self.value, self.eqn.invars)
        self.emit("divide", [Value(x.dtype, x.shape, constant=1.0), x])

    def read_broadcast_in_dim(self) -> None:
        self.emit("broadcast", dimensions=tuple(self.params["broadcast_dimensions"]))

    def read_broadcast_to(self) -> None:
        rank, old = len(self.params["shape"]), len(self.eqn.invars[0].aval.shape)
        self.emit("broadcast", dimensions=tuple(range(rank - old, rank)))

    def read_reshape(self) -> None:
        self.emit("reshape")

    read_squeeze = read_expand_dims = read_reshape

    def read_transpose(self) -> None:
        self.emit("transpose", axes=tuple(self.params["permutation"]))

    def read_iota(self) -> None:
        self.emit("iota", [], axis=self.params["dimension"])

    def read_concatenate(self) -> None:
        self.emit("concat", axis=self.params["dimension"])

    def read_stack(self) -> None:
        axis = self.params["axis"]
        parts = []
        for x in map(self.value, self.eqn.invars):
            part = Value(x.dtype, (*x.shape[:axis], 1, *x.shape[axis:]))
            self.body.operations.append(Operation("reshape", [x], [part], place=self.place))
            parts.append(part)
        self.emit("concat", parts, axis=axis)

    def read_tile(self) -> None:
        self.emit("tile", repeats=tuple(self.params["reps"]))

    def read_repeat(self) -> None:
        rank = len(self.eqn.outvars[0].aval.shape)
        self.emit("tile", repeats=tuple(self.params["repeats"] if k == self.params["axis"] else 1 for k in range(rank)))

    def read_slice(self) -> None:
        starts, limits = tuple(self.params["start_indices"]), tuple(self.params["limit_indices"])
        strides = tuple(self.params["strides"] or (1,) * len(starts))
        self.emit("slice", starts=starts, limits=limits, strides=strides)

    def read_split(self) -> None:
        (x,) = map(self.value, self.eqn.invars)
        axis, at = self.params["axis"], 0
        for out, size in zip(self.eqn.outvars, self.params["sizes"], strict=True):
            starts = tuple(at if k == axis else 0 for k in range(len(x.shape)))
            limits = tuple(at + size if k == axis else n for k, n in enumerate(x.shape))
            attributes = {"starts": starts, "limits": limits, "strides": (1,) * len(x.shape)}
            self.body.operations.append(Operation("slice", [x], [self.out(out)], attributes, place=self.place))
            at += size

    def read_unstack(self) -> None:
        (x,) = map(self.value, self.eqn.invars)
        axis = self.params["axis"]
        for at, out in enumerate(self.eqn.outvars):
            starts = tuple(at if k == axis else 0 for k in range(len(x.shape)))
            limits = tuple(at + 1 if k == axis else n for k, n in enumerate(x.shape))
            row = Value(x.dtype, tuple(1 if k == axis else n for k, n in enumerate(x.shape)))
            attributes = {"starts": starts, "limits": limits, "strides": (1,) * len(x.shape)}
            self.body.operations.append(Operation("slice", [x], [row], attributes, place=self.place))
            self.body.operations.append(Operation("reshape", [row], [self.out(out)], place=self.place))

    def read_dynamic_slice(self) -> None:
        self.emit("dynamic_slice", sizes=tuple(self.params["slice_sizes"]))

    def read_pad(self) -> None:
        if any(inner or low < 0 or high < 0 for low, high, inner in self.params["padding_config"]):
            raise CannotSay("a pad that is negative or between elements")
        self.emit("pad", widths=tuple((low, high) for low, high, _ in self.params["padding_config"]))

    def read_scan_along(self) -> None:
        """Running sums and their like; what runs from the end is in reverse twice."""
        (x,) = map(self.value, self.eqn.invars)
        word, axis = self.eqn.primitive.name, self.params["axis"]
        if not self.params["reverse"]:
            self.emit("running", function=word, axis=axis)
            return
        turned = self.made("flip", [x], x.shape, axes=(axis,))
        self.emit("flip", [self.made("running", [turned], x.shape, function=word, axis=axis)], axes=(axis,))

    read_cumsum = read_cumprod = read_cummax = read_cummin = read_scan_along

    def read_rev(self) -> None:
        self.emit("flip", axes=tuple(self.params["dimensions"]))

    def read_roll(self) -> None:
        if self.params.get("stride") is not None:
            raise CannotSay("a roll with a stride")
        self.emit("roll", axis=self.params["axis"])

    def read_dot_general(self) -> None:
        (left, right), (left_batch, right_batch) = self.params["dimension_numbers"]
        precision = str(self.params.get("precision"))
        if precision not in ("None", "DEFAULT") and "HIGHEST" not in precision and "DEFAULT" not in precision:
            self.reader.notes.append(f"dot precision {precision} is taken as exact f32")
        self.emit("dot", contracted=(tuple(left), tuple(right)), batch=(tuple(left_batch), tuple(right_batch)))
