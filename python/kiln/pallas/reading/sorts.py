"""Reading: sorts. What goes with keys is looked up by where the sorted keys were."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..ir import Operation, Value
from .part import Part


class Sorts(Part):
    """What `Equation` inherits."""

    def read_sort(self) -> None:
        axis, values = self.params["dimension"], list(map(self.value, self.eqn.invars))
        keys = self.params["num_keys"]
        if len(values) == 1:
            self.emit("sort", axis=axis)
            return
        order = self._order(values[:keys], axis)
        for k, (atom, out) in enumerate(zip(self.eqn.invars, self.eqn.outvars, strict=True)):
            if k == 0 and keys == 1:
                self._give(out, "sort", [values[0]], axis=axis)
            elif self._counts_along(atom, axis) and values[k].dtype == "i32":
                self.environment[out] = order
            elif len(values[k].shape) == 1:
                self._give(out, "take", [values[k], order], axis=0)
            else:
                self._give(out, "take", self._flattened(values[k], order, axis), axis=0)

    def read_top_k(self) -> None:
        outs = [self.out(variable) for variable in self.eqn.outvars]
        attributes = {"k": self.params["k"], "axis": self.params.get("axis", -1) % len(outs[0].shape)}
        values = list(map(self.value, self.eqn.invars))
        self.body.operations.append(Operation("top_k", values, outs, attributes, place=self.place))

    def _order(self, keys: list[Value], axis: int) -> Value:
        """Where each element of the sorted keys was. Equals keep their order, so that the first key sorts last."""
        order = self.made("argsort", keys[-1:], keys[-1].shape, dtype="i32", axis=axis)
        for key in reversed(keys[:-1]):
            moved = self._along(key, order, axis)
            again = self.made("argsort", [moved], key.shape, dtype="i32", axis=axis)
            order = self._along(order, again, axis)
        return order

    def _along(self, value: Value, order: Value, axis: int) -> Value:
        inputs = [value, order] if len(value.shape) == 1 else self._flattened(value, order, axis)
        return self.made("take", inputs, order.shape, dtype=value.dtype, axis=0)

    def _flattened(self, value: Value, order: Value, axis: int) -> list[Value]:
        """A value as one row, and the places in that row of what the order says along an axis."""
        shape = value.shape
        strides = [math.prod(shape[k + 1 :]) for k in range(len(shape))]
        place = self._scaled(order, strides[axis])
        for k, extent in enumerate(shape):
            if k != axis and extent > 1:
                at = self._scaled(self.made("iota", [], shape, dtype="i32", axis=k), strides[k])
                place = self.made("add", [place, at], shape, dtype="i32")
        return [self.made("reshape", [value], (math.prod(shape),), dtype=value.dtype), place]

    def _scaled(self, value: Value, stride: int) -> Value:
        if stride == 1:
            return value
        return self.made("mul", [value, Value("i32", value.shape, constant=stride)], value.shape, dtype="i32")

    def _give(self, out: Any, name: str, inputs: list[Value], **attributes: Any) -> None:
        self.body.operations.append(Operation(name, inputs, [self.out(out)], attributes, place=self.place))

    def _counts_along(self, atom: Any, axis: int) -> bool:
        """Whether a value is the positions along the axis."""
        numbers = self.concrete(atom)
        if numbers is None or numbers.ndim == 0:
            return False
        shape = tuple(-1 if k == axis else 1 for k in range(numbers.ndim))
        return bool((numbers == np.arange(numbers.shape[axis]).reshape(shape)).all())
