#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace kiln {

struct Node;
using NodePtr = std::shared_ptr<const Node>;

/// An extent: an integer polynomial over run-time dimensions and opaque expressions of them
/// ("2*m + 1", "cdiv(m, 8)"). Two sizes are equal when their normal forms are; a difference
/// that is a constant other than zero proves them different; else sizes must be known.
class Size {
 public:
  Size() = default;
  Size(int64_t constant);  // NOLINT: integers are sizes
  /// An atom, identified by its text.
  static Size Atom(std::string text, NodePtr node);

  /// A constant that the spec calls by the name of a param, which no result depends on.
  Size Named(int param) const;
  /// -1: it has no name.
  int param() const { return param_; }

  std::optional<int64_t> Constant() const;
  /// What is added to all that is not a constant.
  int64_t ConstantTerm() const;
  bool IsOne() const { return Constant() == 1; }
  /// The atom this size is, alone and without a factor; else null.
  const Node* AsAtom() const;
  /// The quotient by a positive constant, when it is exact term by term.
  std::optional<Size> DividedBy(int64_t divisor) const;
  /// The same by a product of dimensions and a constant.
  std::optional<Size> DividedBy(const Size& divisor) const;
  /// The same value as a kIndex expression.
  NodePtr ToNode() const;

  friend Size operator+(const Size& a, const Size& b);
  friend Size operator-(const Size& a, const Size& b);
  friend Size operator*(const Size& a, const Size& b);
  friend bool operator==(const Size& a, const Size& b) { return a.terms_ == b.terms_; }

  /// The value, given the value of each atom; nullopt on overflow or when an atom has none.
  std::optional<int64_t> Evaluate(
      const std::function<std::optional<int64_t>(const Node&)>& atom) const;

  /// Calls `visit` with every atom.
  void ForEachAtom(const std::function<void(const Node&)>& visit) const;

  std::string ToString() const;

 private:
  struct AtomRef {
    std::string text;
    NodePtr node;
    friend bool operator==(const AtomRef& a, const AtomRef& b) { return a.text == b.text; }
    friend bool operator<(const AtomRef& a, const AtomRef& b) { return a.text < b.text; }
  };
  // Product of atoms (sorted, repeated for powers) -> coefficient, never 0. {} is the constant.
  std::map<std::vector<AtomRef>, int64_t> terms_;
  int param_ = -1;
};

using Shape = std::vector<Size>;

std::string ToString(const Shape& shape);  // "[bm, 2*k]"

/// The numpy broadcast of two extents: the other one when one is 1; otherwise both must be equal.
/// `differ` is set when they provably are not.
Size BroadcastSize(const Size& a, const Size& b, bool& differ, bool& unproved);

/// The extent an index expression denotes: sums and products are taken apart, the rest is atoms.
Size SizeOf(const NodePtr& node, const struct Kernel& kernel);

}  // namespace kiln
