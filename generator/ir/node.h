#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "generator/data/dtype.h"
#include "generator/ir/operations.h"
#include "generator/ir/size.h"
#include "generator/text/diagnostic.h"

/// Typed expressions.
namespace kiln {

struct Subscript {
  Span span;
  bool range = false;  // false: a point, the dimension disappears
  NodePtr start;       // kIndex scalar
  Size size;           // of a range
  int64_t stride = 1;  // of a range: from one of its elements to the next
  NodePtr count;       // kIndex scalar: of a range of which only a call knows the size, `size` is
                       // the most; only in windows of copies
};

/// How many elements there are from the first to the last one.
Size ReachOf(const Subscript& subscript);

/// A typed expression. kIndex nodes use overflow-checked 64-bit arithmetic (steps, shapes, index
/// maps, subscripts); all others the body's rules. Immutable once built; shared freely.
struct Node {
  Op op = Op::kConst;
  DType dtype = DType::kI32;
  Shape shape;  // [] is a scalar
  Span span;
  std::vector<NodePtr> args;
  int index = -1;
  int64_t int_value = 0;
  double float_value = 0;
  std::vector<Subscript> subscripts;
  std::vector<int> axes;
  bool keep = false;
  bool descending = false;  // of what sorts: the largest first
  bool literal = false;     // built from literals only: a weak integer may become a float
  int param = -1;  // of a constant of kIndex: the param that it is the value of, for its name
};

/// The axis whose step the node itself reads: its program id, its first or its last step. -1: it
/// reads none. What depends on an axis is not only what names its id.
inline int AxisOf(const Node& node) {
  const bool reads = node.op == Op::kAxis || node.op == Op::kFirstStep || node.op == Op::kLastStep;
  return reads ? node.index : -1;
}

/// Kiln's own spelling of the expression; stable.
std::string ToString(const Node& node, const struct Kernel& kernel);

/// Whether an operation of integers may have no value: a division by what may be 0, a power with an
/// exponent that may be negative.
bool MayHaveNoValue(const Node& node);

}  // namespace kiln
