#pragma once

#include <stdexcept>
#include <string>

#include "generator/bind/bind.h"

/// Expressions of a checked kernel as Python over jax.numpy, with the numbers of one call.
namespace kiln::soak {

/// What the writer has no words for: "an output with a bounded block".
struct CannotSay : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Names are the spec's own: those of random specs end in a digit, so that none is a word of Python
/// or of language.py.
class Expressions {
 public:
  explicit Expressions(const Binding& binding) : binding_(binding), kernel_(*binding.kernel) {}

  std::string Text(const Node& node) const;
  /// Of 64 bits, and a plain number where it is constant.
  std::string Index(const Node& node) const;
  /// "[pl.ds(i64(a0), 4), 3]"; `of` is what they are subscripts of, [...] if it is whole.
  std::string Subscripts(const std::vector<Subscript>& subscripts, const Shape& of) const;

  int64_t Extent(const Size& size) const;
  std::string ShapeText(const Shape& shape) const;
  const Ref& RefAt(int index) const { return kernel_.refs[static_cast<size_t>(index)]; }
  /// Where a dimension of a block begins in the array, by element.
  std::string StartOf(int ref, size_t dimension) const;
  /// Whether the steps of an axis are read from what the call is given.
  bool IsDynamic(const Axis& axis) const;
  std::string StepsOf(size_t axis) const;

 private:
  std::string Leaf(const Node& node) const;
  std::string Ordered(const Node& node) const;
  std::string Moved(const Node& node) const;
  std::string Call(const Node& node) const;
  std::string Reduction(const Node& node, const std::string& function) const;
  std::string Read(const Node& node) const;
  std::string InsideText(const Node& node) const;
  std::string AtText(const Node& node) const;

  const Binding& binding_;
  const Kernel& kernel_;
};

/// "f32", "bool_"; what has no type of its own yet is of 64 bits.
std::string PythonType(DType dtype);

/// "(4, 8)", "(4,)".
std::string Tuple(const std::vector<std::string>& parts);

}  // namespace kiln::soak
