// What gets a name in front of a nest, and which.
#include "generator/planner/fuse/names.h"

#include "generator/plan/walk.h"

namespace kiln {

bool IsLazy(const Element& e) {
  const auto* operation = As<element::Operation>(e);
  return operation && ClassOf(operation->op) == OpClass::kLazy;
}

namespace {

bool Divides(Op op) { return op == Op::kDiv || IsQuotient(op); }

}  // namespace

bool IsCostly(const Element& e) {
  const auto* operation = As<element::Operation>(e);
  if (!operation) return false;
  const Op op = operation->op;
  const bool joins = e.dtype == DType::kBool && (op == Op::kBitAnd || op == Op::kBitOr);
  return RowOf(op).cpu != CpuCost::kFast || joins;
}

bool IsWorthAName(const ElementPtr& e) {
  constexpr int kMuch = 3;  // operations
  bool costly = false, loads = false;
  int operations = 0;
  ForEachElement(e, [&](const Element& x) {
    costly = costly || IsCostly(x);
    loads = loads || LoadedBy(x);
    const auto* operation = As<element::Operation>(x);
    operations += operation && operation->op != Op::kCast ? 1 : 0;
  });
  // A vector's broadcast reads memory as fast as a register, but a scalar that is computed is two
  // instructions more.
  const auto* whole = As<element::Operation>(*e);
  const bool computed = loads && IsFloat(e->dtype) && whole && whole->op != Op::kCast;
  return costly || computed || operations >= kMuch;
}

std::string NameOf(const Element& value) {
  if (value.dtype == DType::kBool) return "holds";
  const auto* operation = As<element::Operation>(value);
  return operation && Divides(operation->op) ? "quotient" : "fixed";
}

std::string Singular(const std::string& array) {
  const size_t n = array.size();
  const bool plural = n > 2 && array[n - 1] == 's' && array[n - 2] != 's';
  return plural ? array.substr(0, n - 1) : array;
}

}  // namespace kiln
