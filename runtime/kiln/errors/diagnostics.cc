#include "kiln/errors/diagnostics.h"

#include <algorithm>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>

#include "kiln/core/types.h"

namespace kiln::inline KILN_ABI {
namespace {

constexpr int64_t kLanesOfTile = 128;
constexpr int64_t kTileBytes = 8 * kLanesOfTile * 4;  // whatever the dtype, up to 32 bits
constexpr int64_t kWordBits = 32;

/// Saturating: an emulated block may be far too large to exist.
int64_t Times(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

int64_t Product(const int64_t* extents, int count) {
  int64_t product = 1;
  for (int d = 0; d < count; ++d) product = Times(product, extents[d]);
  return product;
}

/// A short text without allocation; what does not fit is cut off.
class Text {
 public:
  __attribute__((format(printf, 2, 3))) void Append(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int size = std::vsnprintf(text_ + used_, sizeof(text_) - used_, format, arguments);
    va_end(arguments);
    if (size > 0) used_ = std::min(used_ + static_cast<size_t>(size), sizeof(text_) - 1);
  }
  const char* c_str() const { return text_; }

 private:
  char text_[200] = {};
  size_t used_ = 0;
};

void AppendList(Text& text, const char* open, const int64_t* values, int count, const char* close) {
  text.Append("%s", open);
  for (int i = 0; i < count; ++i) text.Append("%s%" PRId64, i == 0 ? "" : ", ", values[i]);
  text.Append("%s", close);
}

/// "(1, ds(8, 4))"
Text IndexText(const internal::BlockName& block) {
  Text text;
  text.Append("(");
  for (int d = 0; d < block.rank; ++d) {
    const int64_t index = block.index[d];
    text.Append("%s", d == 0 ? "" : ", ");
    if (block.dims[d].kind == BlockDim::Kind::kBounded)
      text.Append("ds(%" PRId64 ", %" PRId64 ")", DsStart(index), DsSize(index));
    else
      text.Append("%" PRId64, index);
  }
  text.Append(")");
  return text;
}

/// "block (1, 0) of x (line 16)"
Text NameOf(const internal::BlockName& block) {
  Text text;
  text.Append("block %s of %s", IndexText(block).c_str(), block.operand.name);
  if (block.operand.line > 0) text.Append(" (line %d)", block.operand.line);
  return text;
}

}  // namespace

int64_t NativeBytes(size_t bits, const int64_t* extents, int rank) {
  if (Product(extents, rank) == 0) return 0;
  const int64_t halves = DivUp(static_cast<int64_t>(bits), kWordBits);
  const int64_t rows = 8 * (kWordBits / std::min<int64_t>(static_cast<int64_t>(bits), kWordBits));
  int64_t tiles = 1;
  if (rank == 1) {
    tiles = DivUp(extents[0], rows * kLanesOfTile);
  } else if (rank > 1) {
    const int64_t plane =
        Times(DivUp(extents[rank - 2], rows), DivUp(extents[rank - 1], kLanesOfTile));
    tiles = Times(Product(extents, rank - 2), plane);
  }
  return Times(tiles, kTileBytes * halves);
}

int64_t WordBytes(size_t bits, const int64_t* extents, int rank) {
  return Times(Product(extents, rank), std::max(kWordBits, static_cast<int64_t>(bits)) / 8);
}

namespace internal {

void FailRange(Core& core, const BlockName& block, int dimension, int64_t count, int64_t extent) {
  const BlockDim& dim = block.dims[dimension];
  Text why;
  switch (dim.kind) {
    case BlockDim::Kind::kBlocked:
      why.Append("has %" PRId64 " blocks of %" PRId64 " (%" PRId64 " elements)", count, dim.size,
                 extent);
      break;
    case BlockDim::Kind::kAll:
      why.Append("is one block");
      break;
    case BlockDim::Kind::kSqueezed:
      why.Append("has %" PRId64 " elements", extent);
      break;
    case BlockDim::Kind::kElement:
      why.Append("has %" PRId64 " elements with its halos", count);
      break;
    case BlockDim::Kind::kBounded:
      why.Append("has %" PRId64 " elements, of which a block takes at most %" PRId64, extent,
                 dim.size);
  }
  if (core.ok()) core.About(block.operand.ordinal);
  core.Fail(kIndexRange, "%s is out of range on core %d: dimension %d %s", NameOf(block).c_str(),
            core.index(), dimension, why.c_str());
}

void FailSync(Core& core, const BlockName& block, const char* what) {
  core.Fail(kSync, "%s on core %d: %s", NameOf(block).c_str(), core.index(), what);
}

void FailVisit(Core& core, const BlockName& block, Code code, int other_core) {
  if (code == kRace) {
    core.Fail(code, "%s is written by steps that differ along a parallel axis, on cores %d and %d",
              NameOf(block).c_str(), other_core, core.index());
  } else {
    core.Fail(code, "%s is left and come back to on core %d; what the first visit wrote is lost",
              NameOf(block).c_str(), core.index());
  }
}

namespace {

void FailClash(Core& core, const Text& name, const Clash& clash, bool reads) {
  switch (clash.code) {
    case kOk:
      return;
    case kAlias:
      return core.Fail(kAlias,
                       "%s is copied in on core %d after an earlier step has visited its memory as "
                       "an output: whether it holds old or new values depends on the pipeline",
                       name.c_str(), core.index());
    case kRevisit:
      return core.Fail(kRevisit,
                       clash.other.by_hand
                           ? "%s is visited on core %d after a manual copy has written there; what "
                             "that wrote is lost"
                           : "%s is left and come back to on core %d; what the first visit wrote "
                             "is lost",
                       name.c_str(), core.index());
    default:
      break;
  }
  if (!reads && !clash.other_reads)
    return core.Fail(kRace,
                     "%s is written by steps that differ along a parallel axis, on cores %d and %d",
                     name.c_str(), clash.other.core, core.index());
  core.Fail(kRace,
            "%s is %s on core %d and its memory %s on core %d, by steps that differ along a "
            "parallel axis",
            name.c_str(), reads ? "read" : "written", core.index(), reads ? "written" : "read",
            clash.other.core);
}

}  // namespace

Touch TouchOf(const Core& core, const Operand& operand, bool by_hand) {
  return {operand.ordinal, core.index(), core.run(), core.step(), by_hand};
}

void FailClash(Core& core, const BlockName& block, const Clash& clash, bool reads) {
  if (clash.code == kOk) return;
  if (core.ok()) core.About(block.operand.ordinal);
  FailClash(core, NameOf(block), clash, reads);
}

void FailClash(Core& core, const Operand& operand, const Window& window, const Clash& clash,
               bool reads) {
  Text name;
  name.Append("%s", operand.name);
  AppendList(name, "[", clash.at.data(), window.rank, "]");
  if (operand.line > 0) name.Append(" (line %d)", operand.line);
  FailClash(core, name, clash, reads);
}

namespace {

Code CodeOf(Hole hole) {
  return hole == Hole::kEdge ? kTail : hole == Hole::kUnstored ? kCoverage : kUndefined;
}

}  // namespace

void FailUndefined(Core& core, const BlockName& block, const int64_t* at, Hole hole) {
  Text element;
  AppendList(element, "[", at, block.rank, "]");
  const char* const why = hole == Hole::kEdge       ? "elements that come from past an edge"
                          : hole == Hole::kUnstored ? "elements that no step stores"
                                                    : "undefined elements";
  core.Fail(CodeOf(hole), "%s is copied out on core %d with %s; the first is %s%s",
            NameOf(block).c_str(), core.index(), why, block.operand.name,
            block.rank > 0 ? element.c_str() : "");
}

void FailUndefined(Core& core, const char* name, int32_t line, Hole hole) {
  core.Fail(hole == Hole::kEdge ? kTail : kUndefined,
            "an element of %s that is copied by hand (line %d) on core %d is undefined%s", name,
            line, core.index(), hole == Hole::kEdge ? ": it comes from past an edge" : "");
}

}  // namespace internal
}  // namespace kiln::inline KILN_ABI
