#pragma once

#include <functional>
#include <string>

#include "generator/plan/plan.h"

namespace kiln::render {

/// Prints what has one value at a time. Where names differ between the walk over the grid and the
/// body, whoever prints says how things are called.
class ScalarPrinter {
 public:
  struct Names {
    std::function<std::string(AxisId)> axis, steps;
    std::function<std::string(const element::IsVisit&)> visit;
    std::function<std::string(LoopId)> loop;
    std::function<std::string(VariableId)> variable;
    std::function<std::string(const Place&)> pointer;  // to an element of a buffer
    std::function<std::string(const element::Edge&)> edge;
    std::function<std::string(RefId)> scalar;  // the argument: a scalar or a prefetch array
    std::function<std::string(DimId)> dim;
    std::function<std::string(int)> param;  // null: params are their values
    std::string core;
  };

  ScalarPrinter(const Plan& plan, Names names) : plan_(plan), names_(std::move(names)) {}

  std::string Print(const Element& e, int at_least = 0) const;
  /// As an index: the offset of a coordinate or the bound of a loop.
  std::string Print(const Size& size, int at_least = 0) const;
  std::string Print(const Coordinate& c) const;

  const Names& names() const { return names_; }
  /// Whether any text so far calls a function of the runtime, which instruction sets have one of
  /// each.
  bool calls() const { return calls_; }

 private:
  bool IsNamed(const element::Constant& constant) const {
    return constant.param >= 0 && names_.param != nullptr;
  }
  /// Literals have to have the type of what they stand beside: templates do not convert.
  bool IsIndexLiteral(const Element& e) const {
    const auto* const constant = As<element::Constant>(e);
    return constant && !IsNamed(*constant) && e.dtype == DType::kIndex;
  }
  std::string Leaf(const Element& e, int* precedence) const;
  std::string Operation(const Element& e, int* precedence) const;
  std::string CheckedIndex(const element::Operation& operation) const;
  std::string Cast(const Element& from, DType to, int* precedence) const;
  std::string Read(const Place& place, DType dtype) const;
  std::string HostRead(const Place& place, DType dtype) const;

  const Plan& plan_;
  Names names_;
  mutable bool calls_ = false;
};

/// `value` as a scalar of the dtype, if it is an index so far.
std::string CastIndex(const std::string& value, DType dtype);

}  // namespace kiln::render
