#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "generator/ir/index.h"
#include "generator/ir/kernel.h"
#include "generator/ir/match.h"

/// Values of a plan: a struct for each kind, what all kinds have in common, and the walks over
/// them. `Match` requires a case for every kind, so that a new one is a list of compile errors.
namespace kiln {

struct Space;
struct Loop;
struct Buffer;
struct Variable;
struct Panels;
using SpaceId = Id<Space>;
using LoopId = Id<Loop>;
using BufferId = Id<Buffer>;
using VariableId = Id<Variable>;
using PanelsId = Id<Panels>;

struct Element;
using ElementPtr = std::shared_ptr<const Element>;

/// One coordinate of a place in a buffer: `loop * stride + offset`.
struct Coordinate {
  LoopId loop;                 // none: the offset alone
  ElementPtr offset;           // an index scalar; null: 0
  std::optional<Size> around;  // taken modulo this extent
  int64_t stride = 1;

  /// Whether it is the loop, or 0, and nothing else.
  bool IsPlain() const { return stride == 1 && !offset && !around; }
};

struct Place {
  BufferId buffer;
  std::vector<Coordinate> at;  // one a dimension
};

/// Of a step, of a stay.
enum class End { kFirst, kLast };

namespace element {

struct Constant {
  int64_t int_value = 0;
  double float_value = 0;
  int param = -1;  // of an index: what it is called, as in Node
};

/// kCast and kBitcast: from args[0]->dtype.
struct Operation {
  Op op = Op::kConst;
  std::vector<ElementPtr> args;
  // Of index arithmetic that what a call reads may take out of 64 bits: the spec's line, for the
  // diagnostic; else 0.
  int line = 0;
};

struct Load {
  Place place;
};

struct Named {
  VariableId variable;
};

/// A scalar argument.
struct Scalar {
  RefId ref;
};

/// Where the grid is along an axis.
struct Step {
  AxisId axis;
};

struct Steps {
  AxisId axis;
};

struct Extent {
  DimId dim;
};

/// Whether this is the first or the last step of an axis.
struct IsStep {
  End end = End::kFirst;
  AxisId axis;
};

/// Whether this is the first or the last step of the stay of an operand's block.
struct IsVisit {
  End end = End::kFirst;
  RefId ref;
};

/// A loop's variable as an integer.
struct Iteration {
  LoopId loop;
};

/// Of an operand's block, along an axis of what the body sees of it.
struct Edge {
  enum class Which {
    kLow,     // the first coordinate inside the array
    kHigh,    // one past the last
    kOrigin,  // the array's coordinate of the block's element 0
  };
  Which which = Which::kLow;
  RefId ref;
  size_t axis = 0;
};

/// What the machine holds where an operation of integers has no value.
struct NoValue {};

}  // namespace element

/// A value at one point of the loops around it: a vector where a lane loop is among those it
/// depends on, else a scalar. Immutable once built; shared freely.
struct Element {
  using Kind =
      std::variant<element::Constant, element::Operation, element::Load, element::Named,
                   element::Scalar, element::Step, element::Steps, element::Extent, element::IsStep,
                   element::IsVisit, element::Iteration, element::Edge, element::NoValue>;
  DType dtype = DType::kI32;
  Kind what;
};

/// The element as one of a kind; null: it is of another.
template <typename Kind>
const Kind* As(const Element& element) {
  return std::get_if<Kind>(&element.what);
}
template <typename Kind>
const Kind* As(const ElementPtr& element) {
  return element ? As<Kind>(*element) : nullptr;
}

template <typename Kind>
bool Is(const Element& element) {
  return std::holds_alternative<Kind>(element.what);
}

template <typename... Cases>
decltype(auto) Match(const Element& element, Cases&&... cases) {
  return MatchKind(element.what, std::forward<Cases>(cases)...);
}

/// The operation that the element is, if it is that of `op`; else null.
inline const element::Operation* AsOp(const Element& element, Op op) {
  const auto* operation = As<element::Operation>(element);
  return operation && operation->op == op ? operation : nullptr;
}

/// The place that the element loads; null: it is no load.
inline const Place* LoadedBy(const Element& element) {
  const auto* load = As<element::Load>(element);
  return load ? &load->place : nullptr;
}

/// Whether the element is that variable.
inline bool IsNamed(const Element& element, VariableId variable) {
  const auto* named = As<element::Named>(element);
  return named && named->variable == variable;
}

/// Whether a value, or where it is read, changes from one iteration of the loop to the next.
bool DependsOn(const Element& e, LoopId loop);
/// A number equal to 0.
bool IsZero(const Element& element);

ElementPtr MakeElement(DType dtype, Element::Kind what);
ElementPtr ConstantOf(const Node& node);
ElementPtr ConstantOf(DType dtype, int64_t int_value, double float_value);
ElementPtr IndexConstant(int64_t value);
ElementPtr MakeOp(Op op, DType dtype, std::vector<ElementPtr> args, int line = 0);
ElementPtr LoadOf(Place place, DType dtype);
/// `value` itself where it is of the dtype.
ElementPtr CastTo(ElementPtr value, DType dtype);
/// An index expression or a host condition; `checked`: what may leave 64 bits fails with its line,
/// which sizes and steps need not, as a call looks at them before it begins.
ElementPtr IndexElement(const Kernel& kernel, const Node& node, bool checked = false);

/// The sum of two indices, either of which may be null.
ElementPtr AddOffsets(const ElementPtr& a, const ElementPtr& b);
/// Where coordinate `c` of a window is in what it is a window of. `start`: null: 0.
Coordinate InWindow(Coordinate c, int64_t stride, const ElementPtr& start);

/// `index * stride + rest`, of an offset whose `index` differs between elements of a tile.
struct Chosen {
  ElementPtr index;  // in the arithmetic of the body
  int64_t stride = 1;
  ElementPtr rest;  // null: 0
};
/// The parts of an offset of which `varies` says whether they differ; none: not of that form.
std::optional<Chosen> ChosenBy(const ElementPtr& offset,
                               const std::function<bool(const Element&)>& varies);

bool SameElement(const ElementPtr& a, const ElementPtr& b);
bool SameCoordinate(const Coordinate& a, const Coordinate& b);
bool SamePlace(const Place& a, const Place& b);

/// Calls `use` with each element that the element is made of: arguments, offsets of its place.
template <typename Of, typename Use>
void ForEachPart(Of& of, const Use& use) requires std::same_as<std::remove_const_t<Of>, Element> {
  using namespace element;
  MatchKind(
      of.what,
      [&](ConstLike<Of, element::Operation>& operation) {
        for (auto& arg : operation.args) use(arg);
      },
      [&](ConstLike<Of, Load>& load) {
        for (auto& c : load.place.at) {
          if (c.offset) use(c.offset);
        }
      },
      [](const OneOf<Constant, Named, Scalar, Step, Steps, Extent, IsStep, IsVisit, Iteration, Edge,
                     NoValue> auto&) {});
}

}  // namespace kiln
