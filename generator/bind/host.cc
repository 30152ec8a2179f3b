#include "generator/bind/host.h"

#include <algorithm>

#include "generator/syntax/names.h"

namespace kiln {
namespace {

using Kind = HostParameter::Kind;
using End = HostReturn::End;

std::string KindText(const HostParameter& parameter) {
  switch (parameter.kind) {
    case Kind::kArray:
      return "an integer array of rank " + std::to_string(parameter.rank);
    case Kind::kAnyArray:
      return "an array of rank " + std::to_string(parameter.rank);
    case Kind::kInteger:
      return "an integer";
    default:
      return "true or false";
  }
}

bool IsArray(const HostParameter& parameter) {
  return parameter.kind == Kind::kArray || parameter.kind == Kind::kAnyArray;
}

// Empty when the argument can stand for the parameter.
std::string ArgumentProblem(const HostParameter& parameter, const HostArgument& argument,
                            const Kernel& kernel) {
  const std::string rule = Quote(parameter.name) + " must be " + KindText(parameter);
  if (argument.ref < 0) return IsArray(parameter) ? rule : "";
  const Ref& ref = kernel[RefId(argument.ref)];
  const bool fits = IsArray(parameter) && ref.array.size() == static_cast<size_t>(parameter.rank) &&
                    (parameter.kind == Kind::kAnyArray || IsInteger(ref.dtype));
  if (fits) return "";
  return rule + ", but " + Quote(ref.name) + " is " + std::string(Name(ref.dtype)) +
         ToString(ref.array);
}

std::string ResultProblem(const HostFunction& function, const HostCall& call,
                          const Kernel& kernel) {
  if (call.results.size() != function.results.size()) {
    return Quote(function.name) + " makes " + std::to_string(function.results.size()) +
           " results, but " + std::to_string(call.results.size()) + " are named";
  }
  for (size_t i = 0; i < call.results.size(); ++i) {
    if (call.results[i] < 0) continue;  // the name is already an error
    const Ref& ref = kernel[RefId(call.results[i])];
    const HostReturn& result = function.results[i];
    if (ref.dtype == result.dtype && ref.array.size() == static_cast<size_t>(result.rank)) continue;
    const std::string shape =
        result.rank == 0 ? " scalar" : " array of rank " + std::to_string(result.rank);
    return "the result " + Quote(result.name) + " is an " + std::string(Name(result.dtype)) +
           shape + ", but " + Quote(ref.name) + " is declared " + std::string(Name(ref.dtype)) +
           (ref.role == Role::kScalar ? " scalar" : ToString(ref.array));
  }
  return "";
}

}  // namespace

const std::vector<HostFunction>& HostFunctions() {
  static const std::vector<HostFunction> registry = {
      {"group_metadata",
       {{"sizes", Kind::kArray, 1},
        {"m"},
        {"tm"},
        {"start", Kind::kInteger, 0, "0"},
        {"count", Kind::kInteger, 0, "all"},
        {"visit_empty", Kind::kFlag, 0, "false"}},
       {{"offsets", DType::kI32, 1,
         "length groups + 1: group g is rows `offsets[g]` to `offsets[g + 1]`"},
        {"ids", DType::kI32, 1, "length cdiv(m, tm) + groups: the group that each step works on",
         End::kRepeats, 3},
        {"tiles", DType::kI32, 1, "the same length: the row tile that each step works on",
         End::kRepeats, 3},
        {"visits", DType::kI32, 0, "how many of those steps there are: the steps of the axis"}},
       "The row tiles of a grouped matmul, as Pallas' megablox `make_group_metadata` makes them. "
       "The m rows are cut into groups of consecutive rows (`sizes`) and into tiles of tm rows "
       "(the last may be ragged); there is one step for every tile that a group has rows in, tiles "
       "in order, so a tile shared by two groups is visited by consecutive steps. "
       "With `start` and `count` only the groups `start` to `start + count` get steps, which come "
       "first in `ids` and `tiles`. With `visit_empty` a group without rows gets one step too "
       "(unless m is 0: there is no tile to visit). "
       "`ids` and `tiles` may be declared one shorter: the longest list of steps has "
       "cdiv(m, tm) + groups - 1 (the length of Pallas' arrays); "
       "entries past `visits` are in range, and no step should read them. "
       "Sizes must not be negative and must not add up to more than m. Where they add up to less, "
       "the rows past them belong to no group, and tiles that hold only such rows to no step: a "
       "kernel for which that is a mistake says `offsets[groups] == m` under `require`.",
       &GroupMetadata,
       "GroupMetadata",
       "GroupSteps"},
      {"sparsify_mask",
       {{"mask", Kind::kAnyArray, 2}, {"bm"}, {"bn"}},
       {{"block_mask", DType::kI32, 2, "1 where the block has a nonzero, else 0", End::kZero},
        {"prefetch_mask", DType::kI32, 2,
         "which distinct block of the mask the step needs, or the next step that needs one"},
        {"prefetch_i", DType::kI32, 2, "the block row of that step"},
        {"prefetch_j", DType::kI32, 2, "the block column of that step"},
        {"blocks", DType::kI32, 0, "the number of distinct blocks that have a nonzero"}},
       "The prefetch maps of a block-sparse mask, all of shape [cdiv(M, bm), cdiv(N, bn)] for a "
       "mask of M x N. Blocks are taken row by row; where a block is all zeros the maps name the "
       "next one that is not, so that nothing is fetched for a skipped step. After the last one "
       "they keep block 0, the last row and the last column. "
       "Equal blocks share a number in `prefetch_mask`; numbers are given from the last block of "
       "the mask to the first. The blocks themselves are an ordinary input of the kernel, or read "
       "from the mask at `prefetch_i`, `prefetch_j`.",
       &SparsifyMask,
       "SparsifyMask",
       "MaskMaps"},
      {"block_coo",
       {{"x", Kind::kAnyArray, 2}, {"bm"}, {"bk"}},
       {{"rows", DType::kI32, 1, "block row of each block with a nonzero"},
        {"cols", DType::kI32, 1, "block column of each"},
        {"count", DType::kI32, 0, "how many there are, the length of both"}},
       "The blocks of a matrix that have a nonzero (NaN is one), as coordinates in row-major "
       "order. The matrix itself is then read at `rows[t]`, `cols[t]`.",
       &BlockCoo,
       "BlockCoo",
       "BlockList"},
      {"grouped_rows",
       {{"rows", Kind::kArray, 1}, {"row_blocks"}, {"count", Kind::kInteger, 0, "all"}},
       {{"row", DType::kI32, 1, "the output row of each step; never decreasing"},
        {"block", DType::kI32, 1, "which entry of `rows` the step works on"},
        {"real", DType::kI32, 1, "1, or 0 for a step that only visits an empty row", End::kZero},
        {"steps", DType::kI32, 0, "how many steps there are, the length of all three"}},
       "Orders the first `count` entries of a block list by row (entries of one row keep their "
       "order) and adds a step for every row of 0 … row_blocks - 1 that has none, so that every "
       "output block is visited, in one stay each. An added step names the entry of the next "
       "step that has one (or the last), so it fetches nothing by itself; without any entries "
       "it names entry 0.",
       &GroupedRows,
       "GroupedRows",
       "RowSteps"},
  };
  return registry;
}

const HostFunction* FindHostFunction(std::string_view name) {
  for (const HostFunction& function : HostFunctions()) {
    if (function.name == name) return &function;
  }
  return nullptr;
}

std::vector<std::string> HostFunctionNames() {
  std::vector<std::string> names;
  for (const HostFunction& function : HostFunctions()) names.emplace_back(function.name);
  return names;
}

std::string Signature(const HostFunction& function) {
  std::string text;
  for (const HostReturn& result : function.results) {
    text += (text.empty() ? "" : ", ") + std::string(result.name);
  }
  text += " = " + std::string(function.name) + "(";
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    const HostParameter& parameter = function.parameters[i];
    text += (i > 0 ? ", " : "") + std::string(parameter.name);
    if (!parameter.by_default.empty()) text += "=" + std::string(parameter.by_default);
  }
  return text + ")";
}

std::variant<std::vector<int>, std::string> MatchHostCall(const HostFunction& function,
                                                          const HostCall& call,
                                                          const Kernel& kernel) {
  const size_t known = function.parameters.size();
  std::vector<int> match(known, -1);
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const HostArgument& argument = call.arguments[i];
    size_t at = i;
    if (argument.keyword.empty()) {
      if (i >= known) {
        return Quote(function.name) + " takes at most " + std::to_string(known) + " arguments";
      }
    } else {
      const auto named = [&](const HostParameter& p) { return p.name == argument.keyword; };
      at = static_cast<size_t>(
          std::find_if(function.parameters.begin(), function.parameters.end(), named) -
          function.parameters.begin());
      if (at == known) {
        std::vector<std::string> names;
        for (const HostParameter& p : function.parameters) names.emplace_back(p.name);
        const std::string hint = DidYouMean(argument.keyword, names);
        return Quote(function.name) + " has no argument " + Quote(argument.keyword) +
               (hint.empty() ? "" : "; " + hint);
      }
    }
    const HostParameter& parameter = function.parameters[at];
    if (match[at] >= 0) return Quote(parameter.name) + " is given twice";
    std::string problem = ArgumentProblem(parameter, argument, kernel);
    if (!problem.empty()) return problem;
    match[at] = static_cast<int>(i);
  }
  for (size_t i = 0; i < known; ++i) {
    if (match[i] >= 0 || !function.parameters[i].by_default.empty()) continue;
    return Quote(function.name) + " needs " + Quote(function.parameters[i].name);
  }
  std::string problem = ResultProblem(function, call, kernel);
  if (!problem.empty()) return problem;
  return match;
}

Array HostVector(const std::vector<int64_t>& values) {
  const auto count = static_cast<int64_t>(values.size());
  Array array = Array::Zeros(DType::kI32, {count});
  StoreInts(array, 0, count, values.data());
  return array;
}

Array HostScalar(int64_t value) {
  Array array = Array::Zeros(DType::kI32, {});
  array.SetInt(0, value);
  return array;
}

std::string HostReference() {
  std::string text;
  for (const HostFunction& function : HostFunctions()) {
    text += "### `" + std::string(function.name) + "`\n\n```yaml\nprepare:\n  - " +
            Signature(function) + "\n```\n\n" + std::string(function.doc) + "\n\n" +
            "| argument | is | default |\n|---|---|---|\n";
    for (const HostParameter& parameter : function.parameters) {
      text += "| " + Quote(parameter.name) + " | " + KindText(parameter) + " | " +
              (parameter.by_default.empty() ? "" : Quote(parameter.by_default)) + " |\n";
    }
    text += "\n| result | type | is |\n|---|---|---|\n";
    for (const HostReturn& result : function.results) {
      text += "| " + Quote(result.name) + " | " + std::string(Name(result.dtype)) +
              (result.rank == 0 ? " scalar" : ", rank " + std::to_string(result.rank)) + " | " +
              std::string(result.doc) + (result.end == End::kZero ? "; 0 past the end" : "") +
              " |\n";
    }
    text += "\n";
  }
  return text;
}

}  // namespace kiln
