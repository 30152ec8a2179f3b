"""What is private in JAX: grid and block mappings, effects, indexers, source places. Nothing else imports `jax._src`.

Everything that a release of JAX may move is here, so that a new release is one file's work.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax._src import config as _config
from jax._src import core as _core
from jax._src.interpreters import partial_eval as _partial_eval
from jax._src.state import indexing as _indexing
from jax._src.state import types as _state

from .cannot import CannotSay, Place

Literal, DropVar, Jaxpr, ClosedJaxpr = _core.Literal, _core.DropVar, _core.Jaxpr, _core.ClosedJaxpr

_DTYPES = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "float8_e4m3fn": "f8e4m3fn",
    "float8_e5m2": "f8e5m2", "int8": "i8", "uint8": "u8", "int16": "i16", "uint16": "u16", "int32": "i32",
    "uint32": "u32", "int64": "i64", "bool": "bool",
}  # fmt: skip


# ---- tracing


@dataclass(frozen=True)
class Call:
    """A `pallas_call` equation: its params, whether each result is wanted, and where it is called."""

    params: dict[str, Any]
    live: tuple[bool, ...]
    place: Place | None


def calls(f: Callable[..., Any], args: tuple[Any, ...]) -> list[Call]:
    """The `pallas_call`s that f makes on args (arrays, or whatever has a shape and a dtype), in their order."""
    jaxpr, _ = traced(f, args)
    return list(_calls_in(jaxpr))


def traced(f: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Jaxpr, list[Any]]:
    """What f does to args, without what nobody reads, and its constants."""
    with pipelines_kept():
        closed = jax.make_jaxpr(f)(*args)
    wanted = [True] * len(closed.jaxpr.outvars)
    jaxpr, _ = _partial_eval.dce_jaxpr(closed.jaxpr, wanted, instantiate=True)
    return jaxpr, closed.consts


@contextlib.contextmanager
def pipelines_kept() -> Iterator[None]:
    """Inside, `emit_pipeline` stays one equation, where JAX can keep it (0.10 and later)."""
    kept = getattr(_config, "use_emit_pipeline_primitive", None)
    with kept(True) if kept is not None else contextlib.nullcontext():
        yield


def _calls_in(jaxpr: Jaxpr) -> Iterator[Call]:
    used = {v for e in jaxpr.eqns for v in e.invars if not isinstance(v, Literal)}
    used.update(v for v in jaxpr.outvars if not isinstance(v, Literal))
    for eqn in jaxpr.eqns:
        if eqn.primitive.name == "pallas_call":
            live = tuple(not isinstance(v, DropVar) and v in used for v in eqn.outvars)
            yield Call(eqn.params, live, place_of(eqn))
            continue
        for inner in _jaxprs_of(eqn.params.values()):
            yield from _calls_in(inner)


def _jaxprs_of(params: Any) -> Iterator[Jaxpr]:
    for param in params:
        if isinstance(param, ClosedJaxpr):
            yield param.jaxpr
        elif isinstance(param, Jaxpr):
            yield param
        elif isinstance(param, (tuple, list)):
            yield from _jaxprs_of(param)


# ---- places

_JAX = os.path.dirname(jax.__file__)
_OURS = os.path.dirname(__file__)


def place_of(eqn: Any) -> Place | None:
    """The innermost line of an equation's traceback that is neither JAX's own nor ours."""
    return _place_in(eqn.source_info.traceback)


def _place_in(traceback: Any) -> Place | None:
    for frame in traceback.frames if traceback is not None else ():
        name = frame.file_name
        if name.startswith((_OURS, "<")) or name.startswith(_JAX) and "/pallas/ops/" not in name:
            continue
        return name, frame.line_num
    return None


def function_place(jaxpr: Jaxpr) -> tuple[str, Place | None]:
    """The name of the function that was traced, and where it is."""
    told = jaxpr.debug_info.func_src_info or ""
    found = re.fullmatch(r"(\S+).* at (.*):(\d+)", told)
    if found is None:
        return (told.split() or ["kernel"])[0], None
    return found[1], (found[2], int(found[3]))


def argument_names(jaxpr: Jaxpr) -> list[str]:
    """As the traced function has them; `args[3]` where it takes `*args`."""
    names = list(jaxpr.debug_info.arg_names or ())
    if len(names) != len(jaxpr.invars):  # differentiation and batching add operands
        return [f"args[{k}]" for k in range(len(jaxpr.invars))]
    return [name or f"args[{k}]" for k, name in enumerate(names)]


# ---- types


def dtype_name(aval: Any) -> str:
    """As specs spell it."""
    name = str(aval.dtype)
    if name not in _DTYPES:
        raise CannotSay(f"the dtype {name}")
    return _DTYPES[name]


def dtype_text(dtype: Any) -> str:
    return _DTYPES.get(np.dtype(dtype).name) or dtype_name(np.zeros(0, dtype))


def is_ref(aval: Any) -> bool:
    return isinstance(aval, _state.AbstractRef)


def memory_of(aval: Any) -> str:
    """Of a ref: "vmem", "smem", "any" or "semaphore"."""
    space = str(getattr(aval, "memory_space", None)).lower()
    if "semaphore" in space:
        return "semaphore"
    if "smem" in space:
        return "smem"
    if "any" in space or "hbm" in space or "host" in space:
        return "any"
    if "vmem" in space or space in ("none", "device", "default"):
        return "vmem"
    raise CannotSay(f"memory of the kind {space}")


def semaphore_kind(aval: Any) -> str:
    kind = str(aval.dtype)
    return "dma" if "dma" in kind else "barrier" if "barrier" in kind else "regular"


# ---- the grid


@dataclass(frozen=True)
class Block:
    """One operand's block: entries, the index map's jaxpr, and what the pipeline is told."""

    entries: tuple[str | int, ...]  # numbers are blocks, text is written as it stands
    sizes: tuple[int | None, ...]
    array: Any
    index: ClosedJaxpr
    bounded: bool
    buffers: int


@dataclass(frozen=True)
class Grid:
    steps: tuple[int | None, ...]  # None: known at the call only
    vmapped: tuple[int, ...]
    semantics: tuple[str, ...]
    blocks: tuple[Block, ...]
    indices: int  # scalar-prefetch operands
    inputs: int
    outputs: int


def grid_of(params: dict[str, Any]) -> Grid:
    mapping = params["grid_mapping"]
    return Grid(
        steps=tuple(g if isinstance(g, int) else None for g in mapping.grid),
        vmapped=tuple(mapping.vmapped_dims),
        semantics=_semantics(params, mapping),
        blocks=tuple(map(_block, mapping.block_mappings)),
        indices=mapping.num_index_operands,
        inputs=mapping.num_inputs,
        outputs=mapping.num_outputs,
    )


def _semantics(params: dict[str, Any], mapping: Any) -> tuple[str, ...]:
    told = params.get("compiler_params") or {}
    if isinstance(told, dict):  # before 0.7, by platform
        told = told.get("mosaic_tpu", told.get("mosaic", {}))
    found = told.get("dimension_semantics") if isinstance(told, dict) else getattr(told, "dimension_semantics", None)
    words = [str(getattr(word, "name", word)).lower() for word in found or ()]
    if words and len(words) < len(mapping.grid):
        for axis in sorted(mapping.vmapped_dims):
            words.insert(axis, "parallel")
    return tuple("parallel" if "parallel" in word and "sub" not in word else "arbitrary" for word in words)


def _block(mapping: Any) -> Block:
    if mapping.transforms:
        raise CannotSay("a block that is transformed on its way")
    array = getattr(mapping, "array_aval", None) or mapping.array_shape_dtype
    entries: list[str | int] = []
    sizes: list[int | None] = []
    bounded = False
    for entry in mapping.block_shape:
        kind, size = type(entry).__name__, getattr(entry, "block_size", None)
        if entry is None or kind in ("Squeezed", "Mapped"):
            entries.append("null")
        elif kind == "Element":
            low, high = entry.padding
            entries.append(f"element({size}, halo=({low}, {high}))" if low or high else f"element({size})")
        elif kind == "BoundedSlice":
            bounded = True
            entries.append(f"bounded({size})")
        elif kind == "Blocked" or isinstance(entry, int):
            size = entry if isinstance(entry, int) else size
            entries.append(int(size))
        else:
            raise CannotSay(f"a block dimension of the kind {kind}")
        sizes.append(size)
    count = getattr(mapping.pipeline_mode, "buffer_count", None) or 2
    return Block(tuple(entries), tuple(sizes), array, mapping.index_map_jaxpr, bounded, int(count))


# ---- equations

#: What may be subscripted by: ("index", entries) | ("reshape", shape) | ("transpose", axes) | ("bitcast", dtype).
Transform = tuple[str, Any]


@dataclass(frozen=True)
class Slice:
    start: Any
    size: Any
    stride: int


def transforms_of(transforms: Any) -> list[Transform]:
    """A ref's transforms, in their order; entries of an index are atoms, numbers and `Slice`s."""
    found: list[Transform] = []
    for each in transforms:
        if isinstance(each, _indexing.NDIndexer):
            found.append(("index", [_entry(i) for i in each.indices]))
            continue
        kind = type(each).__name__
        if kind in ("RefReshaper", "ReshapeTransform"):
            found.append(("reshape", tuple(each.shape)))
        elif kind in ("RefTransposer", "TransposeTransform", "TransposeRef"):
            found.append(("transpose", tuple(each.permutation)))
        elif kind in ("RefBitcaster", "BitcastTransform"):
            found.append(("bitcast", dtype_text(each.dtype)))
        else:
            raise CannotSay(f"a ref transformed by {kind}")
    return found


def _entry(entry: Any) -> Any:
    return Slice(entry.start, entry.size, entry.stride) if isinstance(entry, _indexing.Slice) else entry


def flat(atoms: Any, tree: Any) -> Any:
    """The arguments of an equation as its tree has them."""
    return jax.tree.unflatten(tree, atoms) if not hasattr(tree, "unflatten") else tree.unflatten(atoms)


def ref_and_transforms(ref: Any) -> tuple[Any, list[Transform]]:
    if isinstance(ref, _state.TransformedRef):
        return ref.ref, transforms_of(ref.transforms)
    return ref, []


def copy_parts(eqn: Any) -> tuple[Any, Any, Any, bool]:
    """Of a `dma_start` or `dma_wait`: source, destination, semaphore, and whether it is to another device."""
    tree = eqn.params["tree"]
    parts = list(flat(eqn.invars, tree))
    if len(parts) == 5:
        source, target, semaphore, sending, device = parts
        return source, target, semaphore, sending is not None or device is not None
    # before 0.7: ref and transforms apart
    source, target, semaphore, sending, device = (
        (parts[0], parts[1]), (parts[2], parts[3]), (parts[4], parts[5]), parts[6], parts[8]
    )  # fmt: skip
    return source, target, semaphore, sending is not None or device is not None


def part(side: Any) -> tuple[Any, list[Transform]]:
    """A side of a copy: its ref and transforms."""
    if isinstance(side, tuple):
        ref, transforms = side
        return ref, transforms_of(transforms or ())
    return ref_and_transforms(side)


def threefry_jaxpr(avals: list[Any]) -> ClosedJaxpr:
    """What the primitive `threefry2x32` computes, as integer operations."""
    try:
        from jax._src.random.threefry2x32 import _threefry2x32_lowering as lowering
    except ImportError:
        from jax._src.prng import _threefry2x32_lowering as lowering
    shapes = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in avals]
    return jax.make_jaxpr(lambda *a: tuple(lowering(*a, use_rolled_loops=False)))(*shapes)


def written_arguments(jaxpr: Jaxpr) -> set[int]:
    """Which arguments of a kernel it writes."""
    found = set()
    places = {v: k for k, v in enumerate([*jaxpr.constvars, *jaxpr.invars])}
    for effect in jaxpr.effects:
        if isinstance(effect, (_state.WriteEffect, _state.AccumEffect)):
            where = getattr(effect, "input", getattr(effect, "input_index", None))
            found.add((where if isinstance(where, int) else places[where]) - len(jaxpr.constvars))
    return found


def inner_arguments(eqn: Any) -> list[tuple[Jaxpr, list[Any], list[Any]]]:
    """The jaxprs inside an equation, each with the atoms that it is given and its variables for them."""
    params, atoms = eqn.params, list(eqn.invars)
    name = eqn.primitive.name
    if name == "cond":
        return [(b.jaxpr, atoms[1:], list(b.jaxpr.invars)) for b in params["branches"]]
    if name == "while":
        first, second = params["cond_nconsts"], params["body_nconsts"]
        body = params["body_jaxpr"].jaxpr
        return [(body, atoms[first:], list(body.invars))] if second or atoms else []
    if name == "run_scoped":
        return [(params["jaxpr"], atoms, list(params["jaxpr"].constvars))]
    return [(j, atoms, list(j.invars)) for j in _jaxprs_of(params.values()) if len(j.invars) == len(atoms)]


# ---- lowering for a CPU


#: What `decide` says of a `pallas_call` that is to be interpreted after all.
INTERPRET = object()
_LIVE = "kiln_live"


@dataclass(frozen=True)
class Lowered:
    """A `pallas_call` that is being lowered: its params, `interpret` apart, and who reads its results."""

    params: dict[str, Any]
    interpret: Any
    live: tuple[bool, ...]
    place: Place | None


def take_over(decide: Callable[[Lowered], Any], is_on: Callable[[], bool]) -> None:
    """From now on `decide` is asked of each `pallas_call` that is lowered for a CPU while `is_on`: a function of its
    operands is lowered instead, and so is JAX's interpreter for INTERPRET; None leaves it to JAX."""
    from jax._src.frozen_dict import FrozenDict
    from jax._src.interpreters import mlir
    from jax._src.pallas import pallas_call

    primitive = pallas_call.pallas_call_p
    original, original_dce = pallas_call._pallas_call_lowering, _partial_eval.dce_rules[primitive]

    def lower(ctx: Any, *nodes: Any, interpret: Any, **params: Any) -> Any:
        if not is_on():
            return original(ctx, *nodes, interpret=interpret, **params)
        told = dict(params.get("metadata") or {})
        live = tuple(c == "1" for c in told.pop(_LIVE, "1" * len(params["out_avals"])))
        params["metadata"] = FrozenDict(told) if told else None
        # Which is none where JAX lowers a function once for several calls.
        place = _place_in(ctx.traceback) or function_place(params["jaxpr"])[1]
        function = decide(Lowered(params, interpret, live, place))
        if function is None or function is INTERPRET:
            return original(ctx, *nodes, interpret=interpret if function is None else True, **params)
        return mlir.lower_fun(function, multiple_results=True)(ctx, *nodes)

    def dce(used: list[bool], eqn: Any) -> Any:
        """A lowering rule does not see who reads a result, so its equation tells it."""
        if is_on() and not all(used):
            live = "".join("1" if u else "0" for u in used)
            metadata = FrozenDict({**(eqn.params.get("metadata") or {}), _LIVE: live})
            eqn = eqn.replace(params={**eqn.params, "metadata": metadata})
        return original_dce(used, eqn)

    mlir.register_lowering(primitive, lower, platform="cpu")
    _partial_eval.dce_rules[primitive] = dce
