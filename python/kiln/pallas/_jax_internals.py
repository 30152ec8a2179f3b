"""What is private in JAX: grid and block mappings, effects, indexers, source places. Nothing else but `_jax_tracing.py`
and `_jax_lowering.py` imports `jax._src`: what a release of JAX may move is in these three files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax._src import core as _core
from jax._src.state import indexing as _indexing
from jax._src.state import types as _state

from .cannot import CannotSay, Place

Literal, DropVar, Jaxpr, ClosedJaxpr = _core.Literal, _core.DropVar, _core.Jaxpr, _core.ClosedJaxpr

_DTYPES = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "float8_e4m3fn": "f8e4m3fn",
    "float8_e5m2": "f8e5m2", "int8": "i8", "uint8": "u8", "int16": "i16", "uint16": "u16", "int32": "i32",
    "uint32": "u32", "int64": "i64", "bool": "bool",
}  # fmt: skip

#: Types that are held one a byte, as ml_dtypes has them: the byte's, and their own bits.
_NARROW = {"int4": ("i8", 4), "uint4": ("u8", 4), "int2": ("i8", 2), "uint2": ("u8", 2)}


# ---- places

_JAX = os.path.dirname(jax.__file__)
_OURS = os.path.dirname(os.path.dirname(__file__))
_LIBRARY = os.path.dirname(os.__file__)


def place_of(eqn: Any) -> Place | None:
    """The innermost line of an equation's traceback that is neither JAX's own nor ours."""
    return place_in(eqn.source_info.traceback)


def place_in(traceback: Any) -> Place | None:
    for frame in traceback.frames if traceback is not None else ():
        if is_source(frame.file_name):
            return frame.file_name, frame.line_num
    return None


def is_source(file: str) -> bool:
    """Whether a kernel may be in a file: JAX's own are, in one folder."""
    if file.startswith(_JAX):
        return "/pallas/ops/" in file
    return not file.startswith((_OURS, "<")) and os.path.dirname(file) != _LIBRARY


def function_place(jaxpr: Jaxpr) -> tuple[str, Place | None]:
    """The name of the function that was traced, and where it is."""
    told = jaxpr.debug_info.func_src_info or ""
    found = re.fullmatch(r"(\S+).* at (.*):(\d+)", told)
    if found is None:
        return (told.split() or ["kernel"])[0], None
    return found[1], (found[2], int(found[3])) if is_source(found[2]) else None


def argument_names(jaxpr: Jaxpr) -> list[str]:
    """As the traced function has them; `args[3]` where it takes `*args`."""
    names = list(jaxpr.debug_info.arg_names or ())
    if len(names) != len(jaxpr.invars):  # differentiation and batching add operands
        return [f"args[{k}]" for k in range(len(jaxpr.invars))]
    return [name or f"args[{k}]" for k, name in enumerate(names)]


def jaxprs_of(params: Any) -> Iterator[Jaxpr]:
    for param in params:
        if isinstance(param, ClosedJaxpr):
            yield param.jaxpr
        elif isinstance(param, Jaxpr):
            yield param
        elif isinstance(param, (tuple, list)):
            yield from jaxprs_of(param)


# ---- types


def dtype_name(aval: Any) -> str:
    """As specs spell it."""
    name = str(aval.dtype)
    if name in _NARROW:
        return _NARROW[name][0]
    if name not in _DTYPES:
        raise CannotSay(f"the dtype {name}")
    return _DTYPES[name]


def narrow_bits(aval: Any) -> int | None:
    """Of a type that is held in a byte."""
    return _NARROW[str(aval.dtype)][1] if str(aval.dtype) in _NARROW else None


def as_held(array: Any) -> Any:
    """An array of a narrow type as bytes, and others as they are."""
    return array.astype("uint8" if str(array.dtype)[0] == "u" else "int8") if narrow_bits(array) else array


def dtype_text(dtype: Any) -> str:
    if np.dtype(dtype).name in _NARROW:
        raise CannotSay("a bitcast between widths")
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
class Pipeline:
    """An `emit_pipeline`: the atoms that its index maps and its body take from outside, and the refs it is over."""

    grid: Grid
    body: Jaxpr
    of_index_maps: list[list[Any]]
    of_body: list[Any]
    refs: list[tuple[Any, list[Transform]]]


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


def pipeline_of(eqn: Any) -> Pipeline:
    params = eqn.params
    mapping = params["grid_mapping"]
    if mapping.num_dynamic_grid_bounds or params["_num_extra_dynamic"] or any(params["_static_grid_offsets"]):
        raise CannotSay("a pipeline with steps known at run time, or with a part of its steps")
    atoms = list(eqn.invars)
    of_index_maps = []
    for block in mapping.block_mappings:
        count = len(block.index_map_jaxpr.consts)
        of_index_maps.append(atoms[:count])
        atoms = atoms[count:]
    of_body, atoms = atoms[: params["body_consts_len"]], atoms[params["body_consts_len"] :]
    refs = [ref_and_transforms(ref) for ref in _refs_in(params["args_tree"].unflatten(atoms))]
    grid = grid_of({"grid_mapping": mapping, "compiler_params": {"dimension_semantics": params["dimension_semantics"]}})
    return Pipeline(grid, params["body_jaxpr"], of_index_maps, of_body, refs)


def _refs_in(tree: Any) -> list[Any]:
    return jax.tree.leaves(tree, is_leaf=lambda x: isinstance(x, _state.TransformedRef))


def _semantics(params: dict[str, Any], mapping: Any) -> tuple[str, ...]:
    told = params.get("compiler_params") or {}
    if isinstance(told, Mapping):  # by platform, before 0.9
        told = dict(told).get("mosaic_tpu", dict(told).get("mosaic", told))
    is_mapping = isinstance(told, Mapping)
    found = dict(told).get("dimension_semantics") if is_mapping else getattr(told, "dimension_semantics", None)
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


class Entries(list[Any]):
    """Of a subscript, with the extents that they are taken of."""

    def __init__(self, entries: Iterable[Any], extents: tuple[int, ...]) -> None:
        super().__init__(entries)
        self.extents = extents


def transforms_of(transforms: Any) -> list[Transform]:
    """A ref's transforms, in their order; entries of an index are atoms, numbers and `Slice`s."""
    found: list[Transform] = []
    for each in transforms:
        if isinstance(each, _indexing.NDIndexer):
            found.append(("index", Entries(map(_entry, each.indices), tuple(each.shape))))
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


def evaluated(eqn: Any, inputs: list[Any]) -> list[np.ndarray]:
    """What an equation gives for these inputs."""
    bound = eqn.primitive.get_bind_params(eqn.params)
    functions, params = bound if isinstance(bound, tuple) else ((), bound)  # a pair before 0.10
    with jax.ensure_compile_time_eval():
        results = eqn.primitive.bind(*functions, *inputs, **params)
    return [np.asarray(r) for r in (results if eqn.primitive.multiple_results else [results])]


def inner_arguments(eqn: Any) -> list[tuple[Jaxpr, list[Any], list[Any]]]:
    """The jaxprs inside an equation, each with the atoms that it is given and its variables for them."""
    params, atoms = eqn.params, list(eqn.invars)
    name = eqn.primitive.name
    if name == "cond":
        return [(b.jaxpr, atoms[1:], list(b.jaxpr.invars)) for b in params["branches"]]
    if name == "while":
        first, second = params["cond_nconsts"], params["body_nconsts"]
        condition, body = params["cond_jaxpr"].jaxpr, params["body_jaxpr"].jaxpr
        asked = [*atoms[:first], *atoms[first + second :]]
        return [(condition, asked, list(condition.invars)), (body, atoms[first:], list(body.invars))]
    if name == "run_scoped":
        return [(params["jaxpr"], atoms, list(params["jaxpr"].constvars))]
    return [(j, atoms, list(j.invars)) for j in jaxprs_of(params.values()) if len(j.invars) == len(atoms)]
