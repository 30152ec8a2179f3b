"""What is private in JAX, and all that differs from release to release: where it keeps things, what their fields are
called, and how it is made to do what it has no function for. Nothing else in this package imports `jax._src`;
docs/jax-versions.md says which releases this file knows."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import threading
import types
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
from .grids import Block, Call, Entries, Gather, Grid, Pipeline, Result, Scatter, Slice, Transform

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
    mapping, mesh = params["grid_mapping"], params.get("mesh")
    if mesh is not None and getattr(getattr(mesh, "core_type", None), "name", "TC") != "TC":
        raise CannotSay(f"a kernel over a {type(mesh).__name__}")
    return Grid(
        steps=tuple(g if isinstance(g, int) else None for g in mapping.grid),
        names=tuple(mapping.grid_names or ()),
        vmapped=tuple(mapping.vmapped_dims),
        semantics=_semantics(params, mapping) if mesh is None else ("parallel",) * len(mapping.grid),
        blocks=tuple(map(_block, mapping.block_mappings)),
        indices=mapping.num_index_operands,
        inputs=mapping.num_inputs,
        outputs=mapping.num_outputs,
    )


def pipeline_of(eqn: Any) -> Pipeline:
    params, mapping = eqn.params, eqn.params["grid_mapping"]
    index_maps = [opened(block.index_map_jaxpr) for block in mapping.block_mappings]
    of_maps, of_body, refs = _pipeline_operands(eqn, sum(len(constants) for _, constants in index_maps))
    of_index_maps = []
    for index_map, constants in index_maps:
        of_index_maps.append(list(zip(captured(index_map, len(constants))[0], of_maps, strict=False)))
        of_maps = of_maps[len(constants) :]
    variables, arguments = captured(params["body_jaxpr"], len(of_body))
    grid = grid_of({"grid_mapping": mapping, "compiler_params": {"dimension_semantics": params["dimension_semantics"]}})
    return Pipeline(
        grid, params["body_jaxpr"], arguments, list(zip(variables, of_body, strict=True)), of_index_maps,
        [ref_and_transforms(ref) for ref in refs],
    )  # fmt: skip


def _pipeline_operands(eqn: Any, maps: int) -> tuple[list[Any], list[Any], list[Any]]:
    """What a pipeline's index maps and its body take from outside, and the refs it is over."""
    params, tree = eqn.params, eqn.params["args_tree"]
    is_part = params["grid_mapping"].num_dynamic_grid_bounds != 0
    if "body_consts_len" in params:  # before 0.11
        is_part |= params["_num_extra_dynamic"] != 0 or any(params["_static_grid_offsets"])
        refs_at = maps + params["body_consts_len"]
        found = eqn.invars[:maps], eqn.invars[maps:refs_at], None if is_part else tree.unflatten(eqn.invars[refs_at:])
    else:
        given = tree.unflatten(eqn.invars)
        is_part |= given.core_id is not None or (params["num_cores"] or 1) > 1 or params["_explicit_indices"]
        found = given.all_index_map_consts, given.body_consts, params["refs_tree"].unflatten(given.refs_flat)
    if is_part:
        raise CannotSay("a pipeline with steps known at run time, or with a part of its steps")
    return list(found[0]), list(found[1]), _refs_in(found[2])


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


def _element(size: int, padding: tuple[int, int]) -> str:
    low, high = padding
    return f"element({size}, halo=({low}, {high}))" if low or high else f"element({size})"


def _block(mapping: Any) -> Block:
    if mapping.transforms:
        raise CannotSay("a block that is transformed on its way")
    array = getattr(mapping, "array_aval", None) or mapping.array_shape_dtype
    entries: list[str | int] = []
    sizes: list[int | None] = []
    for entry in mapping.block_shape:
        kind, size = type(entry).__name__, getattr(entry, "block_size", None)
        if entry is None or kind in ("Squeezed", "Mapped"):
            entries.append("null")
        elif kind == "Element":
            entries.append(_element(size, entry.padding))
        elif kind == "BoundedSlice":
            entries.append(f"bounded({size})")
        elif kind == "Blocked" or isinstance(entry, int):
            size = entry if isinstance(entry, int) else size
            entries.append(int(size))
        else:
            raise CannotSay(f"a block dimension of the kind {kind}")
        sizes.append(size)
    mode = getattr(mapping, "indexing_mode", None)
    if type(mode).__name__ == "Unblocked":  # 0.6.0
        paddings = mode.padding or ((0, 0),) * len(sizes)
        entries = [e if n is None else _element(n, p) for e, n, p in zip(entries, sizes, paddings, strict=True)]
    count = getattr(mapping.pipeline_mode, "buffer_count", None) or 2
    index = mapping.index_map_jaxpr
    axes = tuple(argument_names(index.jaxpr))
    return Block(tuple(entries), tuple(sizes), array, index, _places(mapping, entries), int(count), axes)


def _places(mapping: Any, entries: list[str | int]) -> tuple[Any, ...]:
    """What an index map gives for each dimension; of a bounded one a slice, whose start and size follow each other."""
    count = len(mapping.index_map_jaxpr.jaxpr.outvars)
    numbered = list(map(Result, range(count)))
    tree = getattr(mapping, "index_map_out_tree", None)
    found = tree.unflatten(numbered) if tree is not None else tuple(numbered)
    starts, sizes = [], []
    for entry, place in zip(entries, found if isinstance(found, (tuple, list)) else [found], strict=True):
        is_slice = hasattr(place, "start") and hasattr(place, "size")
        if is_slice != str(entry).startswith("bounded"):
            raise CannotSay("an index map with a slice of a block that is not bounded")
        starts.append(place.start if is_slice else place)
        sizes += [place.size] if is_slice else []
    return (*starts, *sizes)


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


def scan_counts(eqn: Any) -> tuple[int, int]:
    """How many of a `scan`'s operands stay the same, and how many are carried from turn to turn."""
    if "num_carry" in eqn.params:
        return eqn.params["num_consts"], eqn.params["num_carry"]
    consts, carried, _ = eqn.params["ft_in"].unpack()  # from 0.11 on
    return len(consts), len(carried)


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
    """Inside, `emit_pipeline` stays one equation, where JAX can keep it (after 0.10.0)."""
    kept = getattr(_config, "use_emit_pipeline_primitive", None)
    with kept(True) if kept is not None else contextlib.nullcontext():
        yield


_tpu_lock = threading.Lock()
_tpu_users = 0
_withdraw_tpu: Callable[[], None] | None = None


@contextlib.contextmanager
def some_tpu() -> Iterator[None]:
    """Inside, kernels that ask for the TPU learn of a v5e where there is none; so do other threads meanwhile."""
    global _tpu_users, _withdraw_tpu
    with _tpu_lock:
        if _tpu_users == 0:
            _withdraw_tpu = _pretended_tpu()
        _tpu_users += 1
    try:
        yield
    finally:
        with _tpu_lock:
            _tpu_users -= 1
            if _tpu_users == 0 and _withdraw_tpu is not None:
                _withdraw_tpu()


def _pretended_tpu() -> Callable[[], None] | None:
    from jax._src.pallas.mosaic import pipeline

    try:
        return _generation_5(pipeline) if hasattr(pipeline, "_get_tpu_generation") else _registered_v5e()
    except (AttributeError, ImportError, TypeError):  # then such kernels are refused by JAX
        return None


def _generation_5(pipeline: Any) -> Callable[[], None]:
    """Before 0.9.1 it is pipelines that ask, for a number."""
    original = pipeline._get_tpu_generation
    pipeline._get_tpu_generation = lambda: 5
    return functools.partial(setattr, pipeline, "_get_tpu_generation", original)


def _registered_v5e() -> Callable[[], None] | None:
    from jax._src.pallas.mosaic import tpu_info

    kind = tpu_info.get_device_kind()
    if kind in tpu_info.registry or tpu_info.chip_version_from_device_kind(kind) is not None:
        return None
    info = tpu_info.get_tpu_info_for_chip(tpu_info.ChipVersion.TPU_V5E, 1)
    tpu_info.registry[kind] = lambda: info

    def withdraw() -> None:
        del tpu_info.registry[kind]
        tpu_info.get_tpu_info.cache_clear()

    return withdraw


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


# ---- kernels over a mesh of cores


def is_call(eqn: Any) -> bool:
    return eqn.primitive.name in ("pallas_call", "mpmd_map")


def call_params(eqn: Any) -> dict[str, Any]:
    """Of a `pallas_call`; a kernel over a mesh of cores (`pl.kernel`) is one whose grid is the mesh. JAX has that where it
    interprets such a kernel, in a function that ends with the lowering of a `pallas_call`."""
    if eqn.primitive.name == "pallas_call":
        return dict(eqn.params)
    from jax._src.pallas import mpmd, pallas_call

    found: dict[str, Any] = {}
    names = {"pallas_call": types.SimpleNamespace(_pallas_call_lowering=lambda ctx, *nodes, **params: found.update(params))}
    fallback = getattr(mpmd, "_mpmd_map_fallback_lowering", None)
    if fallback is None or not hasattr(pallas_call, "_pallas_call_lowering"):
        raise CannotSay("a kernel over a mesh of cores (pl.kernel)")
    captured_ = types.FunctionType(
        fallback.__code__, {**fallback.__globals__, **names}, fallback.__name__, fallback.__defaults__, fallback.__closure__
    )
    captured_.__kwdefaults__ = fallback.__kwdefaults__
    try:
        captured_(types.SimpleNamespace(avals_in=[v.aval for v in eqn.invars]), *eqn.invars, **eqn.params)
    except NotImplementedError as error:
        raise CannotSay("a kernel over several meshes of cores") from error
    return found


# ---- lowering

#: What `decide` says of a `pallas_call` that is to be interpreted after all.
INTERPRET = object()
_LIVE = "kiln_live"


def _noted(params: dict[str, Any], live: str) -> dict[str, Any]:
    """The params of a `pallas_call` with a word of ours in a mapping that nobody reads on a CPU."""
    kept = "metadata" if "metadata" in params else "compiler_params"  # before 0.7
    return {**params, kept: _frozen({**(params[kept] or {}), _LIVE: live})}


def _note_taken(params: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
    """The params as JAX made them, and our word if there is one."""
    kept = "metadata" if "metadata" in params else "compiler_params"
    held = params[kept]
    if not isinstance(held, Mapping) or _LIVE not in held:
        return params, None
    others = {k: v for k, v in held.items() if k != _LIVE}
    return {**params, kept: _frozen(others) if others or kept != "metadata" else None}, held[_LIVE]


def _frozen(mapping: dict[str, Any]) -> Mapping[str, Any]:
    try:
        from jax._src.frozen_dict import FrozenDict
    except ImportError:  # 0.6.0 and 0.6.1
        return mapping
    return FrozenDict(mapping)


def take_over(decide: Callable[[Call], Any], is_on: Callable[[], bool]) -> None:
    """From now on `decide` is asked of each `pallas_call` that is lowered for a CPU while `is_on`: a function of its
    operands is lowered instead, and so is JAX's interpreter for INTERPRET; None leaves it to JAX."""
    from jax._src.interpreters import mlir
    from jax._src.pallas import pallas_call

    primitive = pallas_call.pallas_call_p
    original, original_dce = pallas_call._pallas_call_lowering, _partial_eval.dce_rules.get(primitive)

    def lower(ctx: Any, *nodes: Any, interpret: Any, **params: Any) -> Any:
        if not is_on():
            return original(ctx, *nodes, interpret=interpret, **params)
        params, told = _note_taken(params)
        live = tuple(c == "1" for c in told or "1" * len(params["out_avals"]))
        # Which is none where JAX lowers a function once for several calls.
        place = place_in(getattr(ctx, "traceback", None)) or function_place(params["jaxpr"])[1]
        function = decide(Call(params, live, place, interpret))
        if function is None or function is INTERPRET:
            return original(ctx, *nodes, interpret=interpret if function is None else True, **params)
        return mlir.lower_fun(function, multiple_results=True)(ctx, *nodes)

    def dce(used: list[bool], *rest: Any) -> Any:
        """A lowering rule does not see who reads a result, so its equation says it."""
        *read_later, eqn = rest  # which of the refs it writes are read later, from 0.12 on
        if is_on() and not all(used):
            eqn = eqn.replace(params=_noted(eqn.params, "".join("1" if u else "0" for u in used)))
        if original_dce is not None:
            return original_dce(used, *read_later, eqn)
        if not any(used) and not eqn.effects:
            return [False] * len(eqn.invars), None
        return [True] * len(eqn.invars), eqn

    mlir.register_lowering(primitive, lower, platform="cpu")
    pallas_call._pallas_call_lowering = lower  # where kernels over a mesh of cores end (call_params)
    _partial_eval.dce_rules[primitive] = dce


# ---- gathers and scatters


def gather_of(params: dict[str, Any]) -> Gather:
    numbers, mode = params["dimension_numbers"], params["mode"]
    modes = {"CLIP": "clip", "FILL_OR_DROP": "fill"}
    return Gather(
        tuple(numbers.start_index_map), tuple(numbers.operand_batching_dims),
        tuple(numbers.start_indices_batching_dims), tuple(numbers.collapsed_slice_dims), tuple(numbers.offset_dims),
        tuple(params["slice_sizes"]), modes.get(mode.name, "promise"), params["fill_value"],
    )  # fmt: skip


def scatter_of(params: dict[str, Any]) -> Scatter:
    numbers = params["dimension_numbers"]
    modes = {"CLIP": "clip", "FILL_OR_DROP": "fill"}
    return Scatter(
        tuple(numbers.scatter_dims_to_operand_dims), tuple(numbers.operand_batching_dims),
        tuple(numbers.inserted_window_dims), tuple(numbers.update_window_dims), modes.get(params["mode"].name, "promise"),
    )  # fmt: skip


def scatter_replaces(params: dict[str, Any]) -> bool:
    """Whether a `scatter` puts what comes in the place of what is there; `x.at[...].apply(f)` is one that does not."""
    update = params["update_jaxpr"]
    return update is None or (not update.eqns and update.outvars[0] is update.invars[1])


def platform_index(params: dict[str, Any]) -> int:
    """Which of the branches of `jax.lax.platform_dependent` is a CPU's, or anybody's."""
    platforms = params["platforms"]
    own = [k for k, names in enumerate(platforms) if names is not None and "cpu" in names]
    return (own + [k for k, names in enumerate(platforms) if names is None])[0]
