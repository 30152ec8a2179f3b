#include <algorithm>
#include <cstring>
#include <map>

#include "generator/bind/host.h"
#include "generator/text/integer.h"

namespace kiln {
namespace {

/// A matrix cut into blocks; the last of a row or column may be ragged.
struct Blocks {
  const Array& x;
  int64_t height, width;  // of a block
  int64_t rows, cols;     // numbers of blocks

  int64_t RowBegin(int64_t i) const { return i * height; }
  int64_t RowEnd(int64_t i) const { return i + 1 == rows ? x.shape[0] : (i + 1) * height; }
  int64_t ColBegin(int64_t j) const { return j * width; }
  int64_t ColCount(int64_t j) const {
    return (j + 1 == cols ? x.shape[1] : (j + 1) * width) - ColBegin(j);
  }
};

// Empty, or what is wrong.
std::string CheckBlocks(const std::vector<HostValue>& values, const char* height,
                        const char* width) {
  const auto check = [](const char* name, int64_t value) {
    return value >= 1 ? std::string()
                      : "`" + std::string(name) + "` is " + std::to_string(value) +
                            ", but a block has at least one element";
  };
  std::string problem = check(height, *values[1].number);
  if (problem.empty()) problem = check(width, *values[2].number);
  if (!problem.empty()) return problem;
  const std::vector<int64_t>& shape = values[0].array->shape;
  int64_t blocks = 0;
  if (__builtin_mul_overflow(CeilDivide(shape[0], *values[1].number),
                             CeilDivide(shape[1], *values[2].number), &blocks) ||
      blocks > kMaxHostElements) {
    return "the blocks are too small: there would be more than " + std::to_string(kMaxHostElements);
  }
  return "";
}

Blocks CutUp(const std::vector<HostValue>& values) {
  const Array& x = *values[0].array;
  const int64_t height = *values[1].number;
  const int64_t width = *values[2].number;
  return {x, height, width, CeilDivide(x.shape[0], height), CeilDivide(x.shape[1], width)};
}

// Bytes of the block with the extents in front: equal blocks give equal strings.
std::string Contents(const Blocks& b, int64_t i, int64_t j) {
  const size_t element = SizeOf(b.x.dtype);
  std::string text =
      std::to_string(b.RowEnd(i) - b.RowBegin(i)) + "x" + std::to_string(b.ColCount(j)) + ":";
  for (int64_t r = b.RowBegin(i); r < b.RowEnd(i); ++r) {
    const auto at = static_cast<size_t>(r * b.x.shape[1] + b.ColBegin(j)) * element;
    text.append(reinterpret_cast<const char*>(b.x.bytes.data()) + at,
                static_cast<size_t>(b.ColCount(j)) * element);
  }
  return text;
}

/// Whether any element of the block is not zero; -0.0 is zero, NaN is not.
bool HasNonzero(const Blocks& b, int64_t i, int64_t j, std::vector<double>& floats,
                std::vector<int64_t>& ints) {
  const int64_t count = b.ColCount(j);
  floats.resize(static_cast<size_t>(count));
  ints.resize(static_cast<size_t>(count));
  const auto nonzero = [](auto value) { return value != 0; };
  for (int64_t r = b.RowBegin(i); r < b.RowEnd(i); ++r) {
    const int64_t at = r * b.x.shape[1] + b.ColBegin(j);
    if (IsFloat(b.x.dtype)) {
      LoadFloats(b.x, at, count, floats.data());
      if (std::any_of(floats.begin(), floats.end(), nonzero)) return true;
    } else {
      LoadInts(b.x, at, count, ints.data());
      if (std::any_of(ints.begin(), ints.end(), nonzero)) return true;
    }
  }
  return false;
}

}  // namespace

HostResult SparsifyMask(const std::vector<HostValue>& values) {
  std::string problem = CheckBlocks(values, "bm", "bn");
  if (!problem.empty()) return problem;
  const Blocks b = CutUp(values);

  Array block_mask = Array::Zeros(DType::kI32, {b.rows, b.cols});
  Array prefetch_mask = block_mask, prefetch_i = block_mask, prefetch_j = block_mask;
  std::map<std::string, int64_t> numbers;  // of the distinct blocks, by contents
  std::vector<double> floats;
  std::vector<int64_t> ints;
  int64_t next_mask = 0, next_i = b.rows - 1, next_j = b.cols - 1;
  for (int64_t i = b.rows - 1; i >= 0; --i) {
    for (int64_t j = b.cols - 1; j >= 0; --j) {
      const bool nonzero = HasNonzero(b, i, j, floats, ints);
      if (nonzero) {
        const auto number = static_cast<int64_t>(numbers.size());
        next_mask = numbers.try_emplace(Contents(b, i, j), number).first->second;
        next_i = i;
        next_j = j;
      }
      const int64_t at = i * b.cols + j;
      block_mask.SetInt(at, nonzero);
      prefetch_mask.SetInt(at, next_mask);
      prefetch_i.SetInt(at, next_i);
      prefetch_j.SetInt(at, next_j);
    }
  }
  const auto distinct = static_cast<int64_t>(numbers.size());
  return std::vector<Array>{std::move(block_mask), std::move(prefetch_mask), std::move(prefetch_i),
                            std::move(prefetch_j), HostScalar(distinct)};
}

HostResult BlockCoo(const std::vector<HostValue>& values) {
  std::string problem = CheckBlocks(values, "bm", "bk");
  if (!problem.empty()) return problem;
  const Blocks b = CutUp(values);

  std::vector<int64_t> rows, cols, ints;
  std::vector<double> floats;
  for (int64_t i = 0; i < b.rows; ++i) {
    for (int64_t j = 0; j < b.cols; ++j) {
      if (!HasNonzero(b, i, j, floats, ints)) continue;
      rows.push_back(i);
      cols.push_back(j);
    }
  }
  const auto count = static_cast<int64_t>(rows.size());
  return std::vector<Array>{HostVector(rows), HostVector(cols), HostScalar(count)};
}

}  // namespace kiln
