#include "generator/interpret/blocks.h"

#include <algorithm>
#include <limits>

#include "generator/interpret/copies.h"
#include "generator/interpret/evaluate.h"
#include "generator/interpret/grid.h"
#include "generator/interpret/hbm.h"
#include "generator/text/integer.h"

namespace kiln::interpret {
namespace {

bool IsOperand(const Ref& ref) { return ref.role == Role::kInput || ref.role == Role::kOutput; }
Dims ToDims(const std::vector<int64_t>& values) {
  Dims dims;
  for (const int64_t value : values) dims.Append(value);
  return dims;
}

/// What an undefined element holds, should it be looked at.
Scalar Poison(DType dtype) {
  Scalar poison;
  poison.f = std::numeric_limits<double>::quiet_NaN();
  poison.i = IsFloat(dtype) ? 0 : MaxOf(dtype);
  return poison;
}

Scalar ValueOf(const Node& constant) {
  Scalar value;
  value.f = constant.float_value;
  value.i = constant.int_value;
  return value;
}

/// A tile to overwrite: the block's own unless somebody still holds a snapshot of it.
void Renew(Block& block, const Ref& ref, const Dims& extents) {
  const bool shared = block.tile.floats.use_count() > 1 || block.tile.ints.use_count() > 1;
  const bool ready = block.tile.cells == Product(extents) && block.tile.extents == extents &&
                     (block.tile.floats || block.tile.ints);
  if (!ready || shared) block.tile = MakeTile(IsFloat(ref.dtype), extents);
  block.tile.origins = nullptr;
}

void Fill(Tile& tile, const Scalar& value) {
  if (tile.floating)
    std::fill_n(tile.floats.get(), tile.cells, value.f);
  else
    std::fill_n(tile.ints.get(), tile.cells, value.i);
  if (value.origin == kDefined) return;
  MakeOrigins(tile);
  std::fill_n(tile.origins.get(), tile.cells, value.origin);
}

/// The places of a block's elements by array dimension. Refs without blocks are one whole block.
void PrepareShape(Run& run, int index) {
  const Ref& ref = RefAt(run, index);
  Block& block = BlockAt(run, index);
  block.array_extents = ToDims(run.binding.arrays[static_cast<size_t>(index)]);
  block.array_strides = ContiguousStrides(block.array_extents);
  const Dims view = ToDims(run.binding.views[static_cast<size_t>(index)]);
  CheckCount(run, view, ref.span);
  const Dims strides = ContiguousStrides(view);
  block.size = Dims(block.array_extents.rank(), 1);
  block.view_strides = Dims(block.array_extents.rank());
  for (int v = 0; v < view.rank(); ++v) {
    const int d = IsOperand(ref) ? ref.view_dims[static_cast<size_t>(v)] : v;
    block.size[d] = view[v];
    block.view_strides[d] = strides[v];
  }
  for (size_t d = 0; d < ref.block.size(); ++d) {
    const bool none =
        ref.block[d].kind == BlockDim::Kind::kBlocked && block.size[static_cast<int>(d)] < 1;
    if (none)
      Fail(run, "shape", ref.block[d].span, "a block of `" + ref.name + "` has no elements");
  }
  block.start = Dims(block.size.rank());
  block.low = block.start;
  block.high = block.size;
}

void LoadHostArray(Run& run, int index) {
  const Ref& ref = RefAt(run, index);
  const Array* host = run.binding.host[static_cast<size_t>(index)];
  if (!host) Fail(run, "call", ref.span, "`" + ref.name + "` has no value");
  Tile& tile = BlockAt(run, index).tile;
  const Dims extents = ToDims(run.binding.views[static_cast<size_t>(index)]);
  if (host->size() != Product(extents)) {  // scalars may come as one-element arrays
    Fail(run, "call", ref.span, "`" + ref.name + "` has the wrong number of elements");
  }
  tile = MakeTile(IsFloat(ref.dtype), extents);
  if (tile.floating)
    LoadFloats(*host, 0, tile.cells, tile.floats.get());
  else
    LoadInts(*host, 0, tile.cells, tile.ints.get());
}

/// How `what` of a ref's block is out of range.
[[noreturn]] void FailRange(Run& run, int index, int dimension, const std::string& what,
                            const std::string& range, std::string hint = "") {
  const Ref& ref = RefAt(run, index);
  const BlockDim& dim = ref.block[static_cast<size_t>(dimension)];
  Fail(run, "index-range", dim.index_span.end > 0 ? dim.index_span : ref.span,
       what + " of `" + ref.name + "` (dimension " + std::to_string(dimension) + ")" +
           AtPoint(run) + " is out of range: " + range,
       std::move(hint));
}

void CheckIndex(Run& run, int index, int d, int64_t at, int64_t extent) {
  const BlockDim& dim = RefAt(run, index).block[static_cast<size_t>(d)];
  const Block& block = BlockAt(run, index);
  const int64_t n = block.array_extents[d], size = block.size[d];
  switch (dim.kind) {
    case BlockDim::Kind::kAll:
      return;
    case BlockDim::Kind::kBlocked: {
      const int64_t blocks = n / size + (n % size != 0);
      if (at >= 0 && at < blocks) return;
      const bool elements = at >= blocks && at < n && at % size == 0;
      FailRange(run, index, d, "block index " + std::to_string(at),
                "it has " + std::to_string(blocks) + " blocks of " + std::to_string(size) + " (" +
                    std::to_string(n) + " elements)",
                elements ? "an index map gives a block index, not an element offset: leave out "
                           "the factor of " +
                               std::to_string(size)
                         : "");
    }
    case BlockDim::Kind::kSqueezed:
      if (at >= 0 && at < n) return;
      FailRange(run, index, d, "index " + std::to_string(at), "its extent is " + std::to_string(n));
    case BlockDim::Kind::kElement: {
      const int64_t limit =
          SaturatingAdd(n, SaturatingAdd(SizeValue(run, dim.halo_low, dim.span),
                                         SizeValue(run, dim.halo_high, dim.span)));
      if (at >= 0 && at < limit) return;
      FailRange(run, index, d, "element offset " + std::to_string(at),
                "its extent with the halos is " + std::to_string(limit));
    }
    case BlockDim::Kind::kBounded:
      if (extent < 0 || extent > size) {
        FailRange(run, index, d, "size " + std::to_string(extent),
                  "the block has " + std::to_string(size) + " elements");
      }
      if (at >= 0 && at <= n - extent) return;
      FailRange(
          run, index, d,
          "range [" + std::to_string(at) + ":" + std::to_string(SaturatingAdd(at, extent)) + "]",
          "its extent is " + std::to_string(n));
  }
}

int64_t MapValue(Run& run, int index, const Node& node) {
  if (node.op == Op::kConst) return node.int_value;
  const Scalar value = EvaluateScalar(run, node);
  if (value.origin == kDefined) return value.i;
  FailUndefined(run, node.span, "the index of `" + RefAt(run, index).name + "`", value.origin);
}

/// The block of an operand at the current step.
Position PositionAt(Run& run, int index) {
  const Ref& ref = RefAt(run, index);
  Position position{{}, BlockAt(run, index).size};
  for (int d = 0; d < static_cast<int>(ref.block.size()); ++d) {
    const BlockDim& dim = ref.block[static_cast<size_t>(d)];
    position.index.Append(MapValue(run, index, *dim.index));
    if (dim.extent) position.extent[d] = MapValue(run, index, *dim.extent);
    CheckIndex(run, index, d, position.index[d], position.extent[d]);
  }
  return position;
}

void SetPosition(Run& run, int index, const Position& position) {
  const Ref& ref = RefAt(run, index);
  Block& block = BlockAt(run, index);
  block.position = position;
  block.held = true;
  block.inside = Tile();
  for (int d = 0; d < position.index.rank(); ++d) {
    const BlockDim& dim = ref.block[static_cast<size_t>(d)];
    int64_t start = position.index[d];
    if (dim.kind == BlockDim::Kind::kBlocked) start *= block.size[d];
    if (dim.kind == BlockDim::Kind::kElement) start -= SizeValue(run, dim.halo_low, dim.span);
    const int64_t past =
        std::clamp<int64_t>(SaturatingAdd(block.array_extents[d], -start), 0, block.size[d]);
    block.start[d] = start;
    block.low[d] = std::clamp<int64_t>(-start, 0, block.size[d]);
    block.high[d] = std::max(block.low[d], std::min(past, position.extent[d]));
  }
}

/// The part of a block that is within its array.
Transfer TransferOf(const Block& block) {
  Transfer transfer{{}, block.array_strides, block.view_strides};
  for (int d = 0; d < block.size.rank(); ++d) {
    transfer.extents.Append(block.high[d] - block.low[d]);
    transfer.array_offset += (block.start[d] + block.low[d]) * block.array_strides[d];
    transfer.tile_offset += block.low[d] * block.view_strides[d];
  }
  return transfer;
}

Visit VisitOf(const Block& block, int index) {
  Visit visit{index, {}, {}};
  for (int d = 0; d < block.size.rank(); ++d) {
    visit.start.Append(block.start[d] + block.low[d]);
    visit.size.Append(block.high[d] - block.low[d]);
  }
  return visit;
}

bool IsWhole(const Block& block) {
  return block.high == block.size && block.low == Dims(block.size.rank());
}

/// Sets `values` to `value` where array dimension d of the block is in [begin, end).
template <typename T>
void FillSlab(const Block& block, T* values, int d, int64_t begin, int64_t end, T value) {
  if (begin >= end) return;
  Dims extents = block.size;
  extents[d] = end - begin;
  const Walk<1> walk(extents, {block.view_strides}, {begin * block.view_strides[d]});
  walk.ForEachRow([&](const auto& at) {
    for (int64_t i = 0; i < walk.row_size(); ++i) values[at[0] + i * walk.row_stride(0)] = value;
  });
}

/// Elements outside of the array are undefined, by the first dimension that they are outside in.
void MarkOutside(Run& run, int index) {
  Block& block = BlockAt(run, index);
  MakeOrigins(block.tile);
  for (int d = block.size.rank(); d-- > 0;) {
    FillSlab(block, block.tile.origins.get(), d, 0, block.low[d],
             run.origins.Edge(Origin::Kind::kHalo, index, d));
    FillSlab(block, block.tile.origins.get(), d, block.high[d], block.size[d],
             run.origins.Edge(Origin::Kind::kEdge, index, d));
  }
}

void CopyIn(Run& run, int index) {
  const Ref& ref = RefAt(run, index);
  Block& block = BlockAt(run, index);
  const Visit visit = VisitOf(block, index);
  CheckMove(run, index, visit.start, visit.size);
  Renew(block, ref, ToDims(run.binding.views[static_cast<size_t>(index)]));
  if (!IsWhole(block)) {
    Fill(block.tile, ref.pad ? ValueOf(*ref.pad) : Poison(ref.dtype));
    if (!ref.pad) MarkOutside(run, index);
  }
  Load(ArrayAt(run, index), TransferOf(block), block.tile);
}

void BeginInput(Run& run, int index, const Position& position, bool new_parallel) {
  Block& block = BlockAt(run, index);
  const bool moved = !block.held || !(block.position == position);
  if (moved) {
    SetPosition(run, index, position);
    CopyIn(run, index);
  }
  if (!moved && !new_parallel) return;
  block.began = run.step;
  MarkRead(run, VisitOf(block, index), moved);
}

void BeginOutput(Run& run, int index, const Position& position) {
  const Ref& ref = RefAt(run, index);
  Block& block = BlockAt(run, index);
  SetPosition(run, index, position);
  block.began = run.step;
  Scalar start = ref.init ? ValueOf(*ref.init) : Poison(ref.dtype);
  if (!ref.init) {
    Origin origin;
    origin.kind = Origin::Kind::kStay;
    origin.ref = index;
    origin.step = run.step;
    start.origin = run.origins.Add(origin);
  }
  Renew(block, ref, ToDims(run.binding.views[static_cast<size_t>(index)]));
  Fill(block.tile, start);
  MarkWrite(run, VisitOf(block, index));
}

void EndOutput(Run& run, int index) {
  Block& block = BlockAt(run, index);
  const Visit visit = VisitOf(block, index);
  CheckMove(run, index, visit.start, visit.size);
  Store(ArrayAt(run, index), TransferOf(block), block.tile);
  block.held = false;
}

void ForgetScratch(Run& run, int index) {
  const Ref& ref = RefAt(run, index);
  Origin origin;
  origin.kind = Origin::Kind::kScratch;
  origin.ref = index;
  origin.step = run.step;
  Scalar start = Poison(ref.dtype);
  start.origin = run.origins.Add(origin);
  Block& block = BlockAt(run, index);
  Renew(block, ref, ToDims(run.binding.views[static_cast<size_t>(index)]));
  Fill(block.tile, start);
}

}  // namespace

void PrepareBlocks(Run& run) {
  const int count = static_cast<int>(run.kernel.refs.size());
  run.blocks.resize(static_cast<size_t>(count));
  run.next.resize(static_cast<size_t>(count));
  for (int r = 0; r < count; ++r) {
    const Role role = RefAt(run, r).role;
    if (role == Role::kArgument || role == Role::kSemaphore) continue;
    PrepareShape(run, r);
    if (role == Role::kPrefetch || role == Role::kScalar) LoadHostArray(run, r);
  }
}

void MoveBlocks(Run& run) {
  const int count = static_cast<int>(run.kernel.refs.size());
  const bool new_parallel = run.parallel != ParallelOf(run, run.step);
  run.parallel = ParallelOf(run, run.step);
  const bool new_pipeline = run.step % run.pipeline_steps == 0;
  for (int r = 0; r < count; ++r) {
    if (IsPipelined(RefAt(run, r))) run.next[static_cast<size_t>(r)] = PositionAt(run, r);
  }
  const auto next = [&](int r) -> const Position& { return run.next[static_cast<size_t>(r)]; };
  for (int r = 0; r < count; ++r) {
    const Block& block = BlockAt(run, r);
    const bool pipelined_output = RefAt(run, r).role == Role::kOutput && IsPipelined(RefAt(run, r));
    if (!pipelined_output || !block.held) continue;
    const bool ends = new_parallel || (new_pipeline && RefAt(run, r).in_pipeline);
    if (ends || !(block.position == next(r))) EndOutput(run, r);
  }
  if (new_parallel) CheckNoCopies(run, "when the parallel coordinates change" + AtPoint(run));
  for (int r = 0; r < count; ++r) {
    const Role role = RefAt(run, r).role;
    if (role == Role::kScratch && new_parallel) ForgetScratch(run, r);
    if (role == Role::kInput && IsPipelined(RefAt(run, r)))
      BeginInput(run, r, next(r), new_parallel);
  }
  // After the inputs: an element that is read and written in one step is read before.
  for (int r = 0; r < count; ++r) {
    const bool pipelined_output = RefAt(run, r).role == Role::kOutput && IsPipelined(RefAt(run, r));
    if (pipelined_output && !BlockAt(run, r).held) BeginOutput(run, r, next(r));
  }
}

void EndStays(Run& run) {
  for (int r = 0; r < static_cast<int>(run.kernel.refs.size()); ++r) {
    if (RefAt(run, r).role == Role::kOutput && BlockAt(run, r).held) EndOutput(run, r);
  }
}

bool IsFirstVisit(Run& run, int ref) {
  const bool any = RefAt(run, ref).memory == Memory::kAny;
  return any ? run.step % run.serial_steps == 0 : BlockAt(run, ref).began == run.step;
}

bool IsLastVisit(Run& run, int ref) {
  const int64_t step = run.step;
  if ((step + 1) % run.serial_steps == 0) return true;
  if (RefAt(run, ref).memory == Memory::kAny) return false;
  SetStep(run, step + 1);
  const bool stays = PositionAt(run, ref) == BlockAt(run, ref).position;
  SetStep(run, step);
  return !stays;
}

Tile InsideMask(Run& run, int index) {
  Block& block = BlockAt(run, index);
  if (block.inside.ints) return block.inside;
  Tile mask = MakeTile(false, ToDims(run.binding.views[static_cast<size_t>(index)]));
  std::fill_n(mask.ints.get(), mask.cells, int64_t{1});
  for (int d = 0; d < block.size.rank(); ++d) {
    FillSlab(block, mask.ints.get(), d, 0, block.low[d], int64_t{0});
    FillSlab(block, mask.ints.get(), d, block.high[d], block.size[d], int64_t{0});
  }
  block.inside = mask;
  return mask;
}

Tile ArrayCoordinates(Run& run, int index, int view_axis) {
  const Block& block = BlockAt(run, index);
  const int d = RefAt(run, index).view_dims[static_cast<size_t>(view_axis)];
  Tile line = MakeTile(false, {block.size[d]});
  for (int64_t i = 0; i < line.cells; ++i) line.ints[i] = Wrap(block.start[d] + i, DType::kI32);
  Tile tile = line;
  tile.extents = ToDims(run.binding.views[static_cast<size_t>(index)]);
  tile.strides = Dims(tile.extents.rank());
  tile.strides[view_axis] = 1;
  return tile;
}

}  // namespace kiln::interpret
