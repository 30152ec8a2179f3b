#pragma once

#include <limits>
#include <set>
#include <string>
#include <vector>

#include "generator/data/dtype.h"
#include "tests/random/draft.h"

/// What the generator knows of a value before any engine runs: enough to ask only what has one
/// right answer.
namespace kiln::soak {

/// An extent as specs write it, and what it is for the sizes of the draft.
struct Extent {
  std::string text;
  int64_t value = 1;

  bool operator==(const Extent& other) const { return text == other.text; }
};
using Extents = std::vector<Extent>;

inline constexpr double kUnbounded = std::numeric_limits<double>::infinity();

struct Facts {
  /// Every engine computes these bits. Not so of functions within units of the last place, nor of
  /// sums that round: these are compared with a tolerance and must not decide anything.
  bool same = true;
  double bound = kUnbounded;  // of the absolute value; infinite: infinities and NaN may occur
  double grain = 0;           // a power of two that it is a multiple of; 0: none is known
  /// By dimension, the edges past which elements are undefined.
  std::vector<std::set<std::string>> edges;

  bool Clean(size_t d) const { return edges[d].empty(); }
  bool Clean() const {
    for (const auto& of : edges) {
      if (!of.empty()) return false;
    }
    return true;
  }
};

/// A typed expression.
struct Value {
  Term term;
  DType dtype = DType::kF32;
  Extents shape;
  Facts facts;
};

/// The bound and grain of integers of this type.
Facts FactsOf(DType dtype, size_t rank);

/// Whether sums of `count` such values are exact in `dtype`, in any order.
bool SumsExactly(const Facts& facts, double count, DType dtype);

/// What a value of these facts is after rounding or wrapping to `dtype`.
void Fit(Facts& facts, DType dtype);

/// The edges of elementwise results: of all arguments, aligned at the last dimension.
std::vector<std::set<std::string>> JoinEdges(const std::vector<const Value*>& args, size_t rank);

/// The shape that values broadcast to; they are known to fit.
Extents JoinShapes(const std::vector<const Value*>& args);

/// Whether `shape` broadcasts to `wanted`, by text.
bool Broadcasts(const Extents& shape, const Extents& wanted);

/// How many elements.
double Count(const Extents& shape);

/// All but one dimension of a shape, or of the edges of one.
Extents Without(Extents shape, size_t axis);
std::vector<std::set<std::string>> Without(std::vector<std::set<std::string>> edges, size_t axis);

/// Whether `+=` of that type adds in it.
bool Accumulates(DType dtype);

/// As a spec writes it.
std::string ShapeText(const Extents& shape);

}  // namespace kiln::soak
