#include "generator/render/print/cpp.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <sstream>

#include "generator/render/print/operations.h"

namespace kiln::render {
namespace {

// The words that templates and the renderer use around a spec's names, but for what operations are
// called; tests/render/names_test.cc finds what is missing.
constexpr std::string_view kOwnWords =
    "Accumulator AccumulatorAt Accumulators AccumulatorSize Across AddElement All AreAlignedAlike "
    "at at_0 "
    "at_1 bf16 "
    "Bitcast BlockCoo Blocked BlockList Blocks blocks Body Bounded Call call CallCheck "
    "CallFromC Cast CastNearest check ChooseMC ChooseNC Clip Clipped col Context context "
    "CopiedRows Copies "
    "copies copy_in CopyTensor CoverFourRows Core core Cut CutPoint CutRange DefaultContext "
    "DenseSize "
    "CoverRowPairs EdgedRows EdgedTile EdgeRows EdgeWindow ForParts ForRowPairs HeldInOrder Kept "
    "DepthAlongColumns DepthFor Direct DivideBy DivideByForBf16 DivUp DLTensor Dot Ds Element "
    "Emulated f16 Fill "
    "finish First "
    "first fold FoldLanes ForBoth ForFourRows ForLanes ForReductionStep ForRows ForSquares "
    "ForSteps ForTiles "
    "from "
    "FromBits Grid "
    "grid "
    "GroupedRows GroupMetadata GroupSteps Guarded Held hn Hold HostArray HostAt hwy i4 In Index "
    "index IndexAt Init InRange InRow int16_t int32_t int64_t int8_t kAscending kDescending "
    "LaterOf PrefetchRow kDoubles kEvenOdd kFloats kiln kiln_context KILN_GRIDS KILN_INLINE_ATTR "
    "KILN_MULTIPLIES_BF16 "
    "kiln_status kInts "
    "Last last Likely Line live LiveRows LoadOne locate Made MakeDenseTile MakeTile MaskMaps "
    "MatrixA MaxAbsLanes "
    "MatrixB Memory "
    "Middle NoScale PackScaledB RowsOfA MultiplyComputed MultiplyTaps MultiplyTiles next next_step "
    "NoInit NoPad Nothing Out "
    "PackA "
    "PackAFor PackAOf PackB PackBFor PackBOf PackBTOf PackedA PackedAT PackedB PackedBT Pad PartOf "
    "PassSize "
    "PastEnd "
    "Point "
    "point PrefetchAcross PrefetchNextRow PrefetchParts PrefetchRowsAhead PrefetchRowsToAdd "
    "PrefetchStream "
    "ReadOrder ReductionStep row "
    "RowRange Rows rows RowsToAdd RowsOfBlock RowsOfStay "
    "RowSteps Run run RunBody SmallA SmallAFor SmallB SmallBFor StreamsPieces target Target "
    "MakeTarget DotIn DotView "
    "DotFormat GatheredBytes Joined ViewOf kDotFormat of_step body "
    "run_step RunGrid RunStep Scratch Signed SingleStep size_t Sorted SparsifyMask StackOf "
    "StoredCols "
    "specialization Squeezed start Status status Step step steps StoreOne StoreRows StreamLanes "
    "StripSize "
    "SumsInRows SumsOf TapList Tensor Tiers Tile TileOf TileSize TileSums u4 uint16_t uint32_t "
    "uint64_t "
    "uint8_t UndefinedInit UnpackedA Unsigned when Within";

/// `x_memory`, `first_x`: what templates make of a name, which no other name may be then.
bool IsDerived(std::string_view name) {
  return name.starts_with("first_") || name.starts_with("last_") || name.ends_with("_memory") ||
         name.ends_with("_count") || name.ends_with("_format") || name.ends_with("_bytes") ||
         name.ends_with("_index") || name.ends_with("_tensor");
}

std::string Digits(double value, bool single) {
  char buffer[40];
  const auto end =
      single ? std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value)).ptr
             : std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

std::string StorageType(DType dtype) { return std::string(RowOf(dtype).cpp); }

std::string ValueType(DType dtype) {
  return StorageType(dtype == DType::kBool ? dtype : ComputeType(dtype));
}

std::string IntLiteral(int64_t value, DType dtype) {
  if (dtype == DType::kBool) return value != 0 ? "true" : "false";
  if (dtype == DType::kI64) {
    if (value == INT64_MIN) return "INT64_MIN";
    return "int64_t{" + std::to_string(value) + "}";
  }
  if (dtype == DType::kU32) return std::to_string(value) + "u";
  if (value == INT32_MIN) return "INT32_MIN";
  return std::to_string(value);
}

std::string FloatLiteral(double value, DType dtype) {
  const bool single = dtype != DType::kF64;
  const std::string suffix = single ? "f" : "";
  if (std::isnan(value)) return single ? "NAN" : "double{NAN}";
  if (std::isinf(value)) {
    const std::string infinity = single ? "INFINITY" : "double{INFINITY}";
    return value < 0 ? "-" + infinity : infinity;
  }
  return Digits(value, single) + suffix;
}

std::string Quoted(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\' || c == '?') {
      quoted += '\\';
      quoted += c;
    } else if (byte < 0x20 || byte == 0x7F) {
      // Octal, because a hexadecimal escape would swallow the digits after it.
      quoted += '\\';
      for (int shift = 6; shift >= 0; shift -= 3) quoted += kHex[(byte >> shift) & 7];
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string CommentText(std::string_view text) {
  constexpr std::string_view kEnds = " \t\r\f\v\\";
  std::string lines;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    if (begin > 0) lines += '\n';
    lines += line.substr(0, line.find_last_not_of(kEnds) + 1);
    begin = end + 1;
  }
  return lines;
}

Scope::Scope() {
  std::istringstream words{std::string(kOwnWords)};
  for (std::string word; words >> word;) taken_.insert(word);
  for (const Operation& row : AllOperations()) {
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kI32, DType::kBool}) {
      taken_.emplace(VectorFunction(row.op, dtype));
      taken_.emplace(FunctionForRounding(row.op, dtype));
      taken_.emplace(SpellScalar(row.op, dtype).function);
    }
    taken_.emplace(LaneReduction(row.op));
    taken_.emplace(FoldOfLanes(row.op));
    taken_.emplace(LineFunction(row.op, /*side_by_side=*/false));
    taken_.emplace(LineFunction(row.op, /*side_by_side=*/true));
  }
}

std::string Scope::New(const std::string& hint) {
  if (hint.empty()) return Numbered("value");
  if (IsDerived(hint)) return Numbered(hint);
  if (taken_.insert(hint).second) return hint;
  return Numbered(hint);
}

std::string Scope::Numbered(const std::string& hint) {
  for (int n = 0;; ++n) {
    std::string name = hint + "_" + std::to_string(n);
    if (taken_.insert(name).second) return name;
  }
}

}  // namespace kiln::render
