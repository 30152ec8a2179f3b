#include "tests/random/make/facts.h"

#include <algorithm>
#include <cmath>

#include "tests/random/floats.h"

namespace kiln::soak {
Facts FactsOf(DType dtype, size_t rank) {
  Facts facts;
  facts.edges.resize(rank);
  if (IsFloat(dtype)) return facts;
  facts.grain = 1;
  facts.bound = dtype == DType::kBool ? 1
                                      : std::max(-static_cast<double>(MinOf(dtype)),
                                                 static_cast<double>(MaxOf(dtype)));
  return facts;
}

/// Variants make blocks, and so sums, up to three times as large.
constexpr double kSlack = 3;

bool SumsExactly(const Facts& facts, double count, DType dtype) {
  if (!IsFloat(dtype)) return true;
  return facts.grain > 0 && facts.bound * std::max(count, 1.0) * kSlack / facts.grain <=
                                std::ldexp(1, PrecisionOf(dtype));
}

void Fit(Facts& facts, DType dtype) {
  if (!IsFloat(dtype)) {
    const Facts most = FactsOf(dtype, 0);
    facts.bound = std::isfinite(facts.bound) ? std::min(facts.bound, most.bound) : most.bound;
    facts.grain = 1;
    return;
  }
  if (facts.bound > LargestFinite(dtype)) facts.bound = kUnbounded;
  // A multiple of a power of two stays one when it is rounded to fewer bits, unless it is so fine
  // that it becomes subnormal.
  if (facts.grain < 0x1p-14) facts.grain = 0;
}

std::vector<std::set<std::string>> JoinEdges(const std::vector<const Value*>& args, size_t rank) {
  std::vector<std::set<std::string>> edges(rank);
  for (const Value* arg : args) {
    const size_t missing = rank - arg->shape.size();
    for (size_t d = 0; d < arg->shape.size(); ++d)
      edges[missing + d].insert(arg->facts.edges[d].begin(), arg->facts.edges[d].end());
  }
  return edges;
}

Extents JoinShapes(const std::vector<const Value*>& args) {
  size_t rank = 0;
  for (const Value* arg : args) rank = std::max(rank, arg->shape.size());
  Extents shape(rank, Extent{"1", 1});
  for (const Value* arg : args) {
    const size_t missing = rank - arg->shape.size();
    for (size_t d = 0; d < arg->shape.size(); ++d) {
      if (arg->shape[d].text != "1") shape[missing + d] = arg->shape[d];
    }
  }
  return shape;
}

bool Broadcasts(const Extents& shape, const Extents& wanted) {
  if (shape.size() > wanted.size()) return false;
  const size_t missing = wanted.size() - shape.size();
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d].text != "1" && !(shape[d] == wanted[missing + d])) return false;
  }
  return true;
}

double Count(const Extents& shape) {
  double count = 1;
  for (const Extent& extent : shape) count *= static_cast<double>(extent.value);
  return count;
}

Extents Without(Extents shape, size_t axis) {
  shape.erase(shape.begin() + static_cast<long>(axis));
  return shape;
}

std::vector<std::set<std::string>> Without(std::vector<std::set<std::string>> edges, size_t axis) {
  edges.erase(edges.begin() + static_cast<long>(axis));
  return edges;
}

bool Accumulates(DType dtype) { return ComputeType(dtype) == dtype && dtype != DType::kBool; }

std::string ShapeText(const Extents& shape) {
  std::string text;
  for (const Extent& extent : shape) text += (text.empty() ? "" : ", ") + extent.text;
  return "[" + text + "]";
}

}  // namespace kiln::soak
