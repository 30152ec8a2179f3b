"""What is private in JAX, and all that differs from release to release: where it keeps things, what their fields are
called, and how it is made to do what it has no function for. Nothing else in this package imports `jax._src` or asks which
release there is; docs/jax-versions.md says which ones this file knows."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import numpy as np
from jax._src import config as _config
from jax._src import core as _core
from jax._src import source_info_util as _source_info
from jax._src.interpreters import partial_eval as _partial_eval
from jax._src.state import indexing as _indexing
from jax._src.state import types as _state

from .cannot import CannotSay, Place
from .dtypes import bitcast_name
from .grids import Block, Call, Entries, Grid, Pipeline, Slice, Transform

Literal, DropVar, Jaxpr = _core.Literal, _core.DropVar, _core.Jaxpr
ClosedJaxpr = getattr(_core, "ClosedJaxpr", Jaxpr)  # from 0.11 on they are one class

#: Primitives that call a jaxpr once, and the name of the param that holds it.
CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "core_call": "call_jaxpr", "remat": "jaxpr",
         "checkpoint": "jaxpr", "custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr",
         "custom_vjp_call_jaxpr": "fun_jaxpr", "custom_lin": "jaxpr"}  # fmt: skip


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


# ---- jaxprs


def opened(closed: Any) -> tuple[Jaxpr, list[tuple[Any, Any]]]:
    """The jaxpr inside a closed one, and its constants: each a variable with its value."""
    if not isinstance(closed, ClosedJaxpr):
        return closed, []
    return closed.jaxpr, list(zip(closed.jaxpr.constvars, closed.consts, strict=True))


def captured(jaxpr: Jaxpr, count: int) -> tuple[list[Any], list[Any]]:
    """The variables of a jaxpr for the `count` values that it takes from outside, and those for its own arguments."""
    variables = [*jaxpr.constvars, *jaxpr.invars]  # from 0.11 on, those from outside may be either
    return variables[:count], variables[count:]


def jaxprs_of(params: Any) -> Iterator[Jaxpr]:
    for param in params:
        if isinstance(param, ClosedJaxpr):
            yield param.jaxpr
        elif isinstance(param, Jaxpr):
            yield param
        elif isinstance(param, (tuple, list)):
            yield from jaxprs_of(param)


# ---- refs


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
        index_map, constants = opened(block.index_map_jaxpr)
        of_index_maps.append(list(zip(captured(index_map, len(constants))[0], atoms, strict=False)))
        atoms = atoms[len(constants) :]
    variables, arguments = captured(params["body_jaxpr"], params["body_consts_len"])
    of_body, atoms = list(zip(variables, atoms, strict=False)), atoms[len(variables) :]
    refs = [ref_and_transforms(ref) for ref in _refs_in(params["args_tree"].unflatten(atoms))]
    grid = grid_of({"grid_mapping": mapping, "compiler_params": {"dimension_semantics": params["dimension_semantics"]}})
    return Pipeline(grid, params["body_jaxpr"], arguments, of_body, of_index_maps, refs)


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
            found.append(("bitcast", bitcast_name(each.dtype)))
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
        return [(params["jaxpr"], atoms, captured(params["jaxpr"], len(atoms))[0])]
    return [(j, atoms, list(j.invars)) for j in jaxprs_of(params.values()) if len(j.invars) == len(atoms)]


def evaluated_in(jaxpr: Jaxpr, eqn: Any, value: Callable[[Any], Any]) -> list[Any]:
    """What an equation of a jaxpr gives, where `value` is that of an atom; with effects and inner jaxprs."""
    variables = list(dict.fromkeys(atom for atom in eqn.invars if not isinstance(atom, Literal)))
    kept = [v for v in eqn.outvars if not isinstance(v, DropVar)]
    names = jaxpr.debug_info._replace(arg_names=None, result_paths=None)
    one = jaxpr.replace(constvars=[], invars=variables, outvars=kept, eqns=[eqn], debug_info=names, effects=eqn.effects)
    results = dict(zip(kept, _core.eval_jaxpr(one, [], *map(value, variables)), strict=True))
    return [results.get(v) for v in eqn.outvars]


# ---- tracing


def without_unread(closed: ClosedJaxpr) -> Jaxpr:
    """A jaxpr without what nobody reads; its inputs stay."""
    jaxpr, _ = _partial_eval.dce_jaxpr(closed.jaxpr, [True] * len(closed.jaxpr.outvars), instantiate=True)
    return jaxpr


@contextlib.contextmanager
def pipelines_kept() -> Iterator[None]:
    """Inside, `emit_pipeline` stays one equation, where JAX can keep it (0.10 and later)."""
    kept = getattr(_config, "use_emit_pipeline_primitive", None)
    with kept(True) if kept is not None else contextlib.nullcontext():
        yield


@contextlib.contextmanager
def some_tpu() -> Iterator[None]:
    """Inside, kernels that ask for the TPU learn of a v5e where there is none."""
    try:
        from jax._src.pallas.mosaic import tpu_info

        kind = tpu_info.get_device_kind()
        known, version = tpu_info.registry, tpu_info.ChipVersion.TPU_V5E
        info = tpu_info.get_tpu_info_for_chip(version, 1)
    except (ImportError, AttributeError, TypeError):
        yield
        return
    if kind in known or tpu_info.chip_version_from_device_kind(kind) is not None:
        yield
        return
    known[kind] = lambda: info
    try:
        yield
    finally:
        del known[kind]
        tpu_info.get_tpu_info.cache_clear()


def _is_written(traceback: Any) -> bool:
    """Whether the innermost thing that runs is somebody's source, and not a jaxpr that is evaluated again."""
    for frame in traceback.frames:
        if is_source(frame.file_name):
            return True
        if re.search("eval_jaxpr|backward_pass|linearize_jaxpr", frame.function_name):
            return False
    return False


@contextlib.contextmanager
def own_places() -> Iterator[None]:
    """Inside, what a function with derivatives of its own does keeps its lines: JAX gives it that of its call."""
    original = getattr(_source_info, "current", None)
    try:
        now = _source_info.xla_client.Traceback.get_traceback
    except AttributeError:
        original = None
    if original is None:
        yield
        return

    def current() -> Any:
        told, fresh = original(), now()
        return told.replace(traceback=fresh) if told.traceback is None or _is_written(fresh) else told

    _source_info.current = current
    try:
        yield
    finally:
        _source_info.current = original


# ---- lowering

#: What `decide` says of a `pallas_call` that is to be interpreted after all.
INTERPRET = object()
_LIVE = "kiln_live"




def user_context() -> Any:
    """A setting by which JAX remembers what it has lowered: `value`, `set_global(value)`, `with it(value)`."""
    made = jax.make_user_context(None) if hasattr(jax, "make_user_context") else None
    return made if hasattr(made, "set_global") else _Clearing()


class _Clearing:
    """The same for a JAX that has none (before 0.10): what it remembers is cleared at each change."""

    def __init__(self) -> None:
        self._everywhere: Any = None
        self._here = threading.local()

    @property
    def value(self) -> Any:
        return getattr(self._here, "value", self._everywhere)

    def set_global(self, value: Any) -> None:
        self._everywhere = value
        jax.clear_caches()

    @contextlib.contextmanager
    def __call__(self, value: Any) -> Iterator[None]:
        before = self._here.__dict__.copy()
        self._here.value = value
        jax.clear_caches()
        try:
            yield
        finally:
            self._here.__dict__.clear()
            self._here.__dict__.update(before)
            jax.clear_caches()


def take_over(decide: Callable[[Call], Any], is_on: Callable[[], bool]) -> None:
    """From now on `decide` is asked of each `pallas_call` that is lowered for a CPU while `is_on`: a function of its
    operands is lowered instead, and so is JAX's interpreter for INTERPRET; None leaves it to JAX."""
    from jax._src.frozen_dict import FrozenDict
    from jax._src.interpreters import mlir
    from jax._src.pallas import pallas_call

    primitive = pallas_call.pallas_call_p
    original, original_dce = pallas_call._pallas_call_lowering, _partial_eval.dce_rules.get(primitive)

    def lower(ctx: Any, *nodes: Any, interpret: Any, **params: Any) -> Any:
        if not is_on():
            return original(ctx, *nodes, interpret=interpret, **params)
        told = dict(params.get("metadata") or {})
        live = tuple(c == "1" for c in told.pop(_LIVE, "1" * len(params["out_avals"])))
        if "metadata" in params:
            params["metadata"] = FrozenDict(told) if told else None
        # Which is none where JAX lowers a function once for several calls.
        place = place_in(getattr(ctx, "traceback", None)) or function_place(params["jaxpr"])[1]
        function = decide(Call(params, live, place, interpret))
        if function is None or function is INTERPRET:
            return original(ctx, *nodes, interpret=interpret if function is None else True, **params)
        return mlir.lower_fun(function, multiple_results=True)(ctx, *nodes)

    def dce(used: list[bool], *rest: Any) -> Any:
        """A lowering rule does not see who reads a result, so its equation says it."""
        *read_later, eqn = rest  # which of the refs it writes are read later, from 0.12 on
        if is_on() and not all(used) and "metadata" in eqn.params:  # 0.6 has none
            live = "".join("1" if u else "0" for u in used)
            metadata = FrozenDict({**(eqn.params.get("metadata") or {}), _LIVE: live})
            eqn = eqn.replace(params={**eqn.params, "metadata": metadata})
        if original_dce is not None:
            return original_dce(used, *read_later, eqn)
        if not any(used) and not eqn.effects:
            return [False] * len(eqn.invars), None
        return [True] * len(eqn.invars), eqn

    mlir.register_lowering(primitive, lower, platform="cpu")
    _partial_eval.dce_rules[primitive] = dce
