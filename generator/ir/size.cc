#include "generator/ir/size.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "generator/ir/evaluate.h"
#include "generator/ir/kernel.h"
#include "generator/text/integer.h"

namespace kiln {
namespace {

// Products of sums grow quickly; past this many terms a product stays one opaque atom.
constexpr size_t kMaxTerms = 64;
constexpr size_t kMaxFactors = 16;

NodePtr IndexConstant(int64_t value, int param) {
  auto node = std::make_shared<Node>();
  node->op = Op::kConst;
  node->dtype = DType::kIndex;
  node->int_value = value;
  node->param = param;
  return node;
}

NodePtr IndexBinary(Op op, NodePtr a, NodePtr b) {
  if (!a || !b) return nullptr;
  auto node = std::make_shared<Node>();
  node->op = op;
  node->dtype = DType::kIndex;
  node->span = Cover(a->span, b->span);
  node->args = {std::move(a), std::move(b)};
  return node;
}

// True for "m" and "cdiv(m, 8)", false for "m // 8", which needs parentheses as a factor.
bool IsPrimary(std::string_view text) {
  int depth = 0;
  for (const char c : text) {
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    const bool word = c == '_' || c == '.' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                      (c >= 'A' && c <= 'Z');
    if (depth == 0 && !word && c != ')' && c != ']') return false;
  }
  return true;
}

std::string Parenthesised(const std::string& text) {
  return IsPrimary(text) ? text : "(" + text + ")";
}

// An operation whose result the normal form cannot hold (a coefficient overflows, too many
// terms) is kept as an atom, so that it can still be evaluated once sizes are known.
Size Opaque(Op op, const char* symbol, const Size& a, const Size& b) {
  return Size::Atom(Parenthesised(a.ToString()) + symbol + Parenthesised(b.ToString()),
                    IndexBinary(op, a.ToNode(), b.ToNode()));
}

}  // namespace

Size::Size(int64_t constant) {
  if (constant != 0) terms_[{}] = constant;
}

Size Size::Atom(std::string text, NodePtr node) {
  Size size;
  size.terms_[{AtomRef{std::move(text), std::move(node)}}] = 1;
  return size;
}

Size Size::Named(int param) const {
  Size size = *this;
  size.param_ = param;
  return size;
}

std::optional<int64_t> Size::Constant() const {
  if (terms_.empty()) return 0;
  if (terms_.size() == 1 && terms_.begin()->first.empty()) return terms_.begin()->second;
  return std::nullopt;
}

const Node* Size::AsAtom() const {
  if (terms_.size() != 1) return nullptr;
  const auto& [factors, coefficient] = *terms_.begin();
  return factors.size() == 1 && coefficient == 1 ? factors[0].node.get() : nullptr;
}

NodePtr Size::ToNode() const {
  NodePtr sum;
  for (const auto& [factors, coefficient] : terms_) {
    NodePtr product =
        coefficient != 1 || factors.empty() ? IndexConstant(coefficient, param_) : nullptr;
    for (const AtomRef& atom : factors) {
      product = product ? IndexBinary(Op::kMul, product, atom.node) : atom.node;
      if (!product) return nullptr;
    }
    sum = sum ? IndexBinary(Op::kAdd, sum, product) : product;
  }
  return sum ? sum : IndexConstant(0, param_);
}

Size operator+(const Size& a, const Size& b) {
  Size sum = b.terms_.empty() ? a : a.Named(-1);
  for (const auto& [factors, coefficient] : b.terms_) {
    int64_t& total = sum.terms_[factors];
    if (__builtin_add_overflow(total, coefficient, &total)) {
      return Opaque(Op::kAdd, " + ", a, b);
    }
    if (total == 0) sum.terms_.erase(factors);
  }
  if (sum.terms_.size() > kMaxTerms) return Opaque(Op::kAdd, " + ", a, b);
  return sum;
}

Size operator-(const Size& a, const Size& b) {
  Size difference = b.terms_.empty() ? a : a.Named(-1);
  for (const auto& [factors, coefficient] : b.terms_) {
    int64_t& total = difference.terms_[factors];
    if (__builtin_sub_overflow(total, coefficient, &total)) {
      return Opaque(Op::kSub, " - ", a, b);
    }
    if (total == 0) difference.terms_.erase(factors);
  }
  if (difference.terms_.size() > kMaxTerms) return Opaque(Op::kSub, " - ", a, b);
  return difference;
}

Size operator*(const Size& a, const Size& b) {
  Size product;
  for (const auto& [left, left_coefficient] : a.terms_) {
    for (const auto& [right, right_coefficient] : b.terms_) {
      auto factors = left;
      factors.insert(factors.end(), right.begin(), right.end());
      std::sort(factors.begin(), factors.end());
      int64_t coefficient = 0;
      int64_t& total = product.terms_[factors];
      if (factors.size() > kMaxFactors || product.terms_.size() > kMaxTerms ||
          __builtin_mul_overflow(left_coefficient, right_coefficient, &coefficient) ||
          __builtin_add_overflow(total, coefficient, &total)) {
        return Opaque(Op::kMul, "*", a, b);
      }
      if (total == 0) product.terms_.erase(factors);
    }
  }
  return product;
}

std::optional<Size> Size::DividedBy(int64_t divisor) const {
  if (divisor <= 0) return std::nullopt;
  Size quotient;
  for (const auto& [factors, coefficient] : terms_) {
    if (coefficient % divisor != 0) return std::nullopt;
    quotient.terms_[factors] = coefficient / divisor;
  }
  return quotient;
}

std::optional<Size> Size::DividedBy(const Size& divisor) const {
  if (divisor.terms_.size() != 1) return std::nullopt;
  const auto& [by, coefficient] = *divisor.terms_.begin();
  Size quotient;
  for (const auto& [factors, value] : terms_) {
    std::vector<AtomRef> left;
    std::set_difference(factors.begin(), factors.end(), by.begin(), by.end(),
                        std::back_inserter(left));
    if (left.size() + by.size() != factors.size()) return std::nullopt;
    quotient.terms_[left] = value;
  }
  return coefficient == 1 ? quotient : quotient.DividedBy(coefficient);
}

int64_t Size::ConstantTerm() const {
  const auto found = terms_.find({});
  return found == terms_.end() ? 0 : found->second;
}

std::optional<int64_t> Size::Evaluate(
    const std::function<std::optional<int64_t>(const Node&)>& atom) const {
  int64_t sum = 0;
  for (const auto& [factors, coefficient] : terms_) {
    int64_t product = coefficient;
    for (const AtomRef& factor : factors) {
      if (!factor.node) return std::nullopt;
      const std::optional<int64_t> value = atom(*factor.node);
      if (!value || __builtin_mul_overflow(product, *value, &product)) return std::nullopt;
    }
    if (__builtin_add_overflow(sum, product, &sum)) return std::nullopt;
  }
  return sum;
}

void Size::ForEachAtom(const std::function<void(const Node&)>& visit) const {
  for (const auto& [factors, coefficient] : terms_) {
    for (const AtomRef& factor : factors) {
      if (factor.node) visit(*factor.node);
    }
  }
}

std::string Size::ToString() const {
  if (const std::optional<int64_t> constant = Constant()) return std::to_string(*constant);
  if (terms_.size() == 1) {  // an atom alone needs no parentheses
    const auto& [factors, coefficient] = *terms_.begin();
    if (factors.size() == 1 && coefficient == 1) return factors[0].text;
  }

  struct Term {
    size_t degree;
    std::string product;
    int64_t coefficient;
  };
  std::vector<Term> terms;
  for (const auto& [factors, coefficient] : terms_) {
    std::string product;
    for (const AtomRef& factor : factors) {
      product += (product.empty() ? "" : "*") + Parenthesised(factor.text);
    }
    terms.push_back({factors.size(), std::move(product), coefficient});
  }
  std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) {
    return a.degree != b.degree ? a.degree > b.degree : a.product < b.product;
  });
  // "n - m", not "-m + n".
  const auto positive =
      std::find_if(terms.begin(), terms.end(), [](const Term& t) { return t.coefficient > 0; });
  if (positive != terms.end()) std::rotate(terms.begin(), positive, positive + 1);

  std::string text;
  for (const Term& term : terms) {
    const bool negative = term.coefficient < 0;
    const auto bits = static_cast<uint64_t>(term.coefficient);
    const uint64_t magnitude = negative ? 0 - bits : bits;
    text += text.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    if (term.product.empty()) {
      text += std::to_string(magnitude);
    } else {
      text += (magnitude == 1 ? "" : std::to_string(magnitude) + "*") + term.product;
    }
  }
  return text;
}

std::string ToString(const Shape& shape) {
  std::string text = "[";
  for (const Size& size : shape) text += (text.size() > 1 ? ", " : "") + size.ToString();
  return text + "]";
}

Size BroadcastSize(const Size& a, const Size& b, bool& differ, bool& unproved) {
  if (a == b || b.IsOne()) return a;
  if (a.IsOne()) return b;
  const std::optional<int64_t> difference = (a - b).Constant();
  if (difference && *difference != 0) {
    differ = true;
  } else {
    unproved = true;
  }
  return a.Constant() ? a : b;  // the more definite of the two
}

/// A quotient in other words, by which sizes that are the same in every call are known to be: of a
/// multiple and a rest, as cdiv(8*m - 1, 8) is m; and of a rest that is all but a turn of the
/// division, as (w - 1) // 2 + 1 is cdiv(w, 2), and cdiv(w - 1, 2) is w // 2.
static std::optional<Size> Quotient(Op op, const Size& dividend, int64_t divisor,
                                    const Kernel& kernel) {
  const int64_t rest = dividend.ConstantTerm();
  const Size multiple = dividend - Size(rest);
  if (const std::optional<Size> exact = multiple.DividedBy(divisor))
    return *exact +
           Size(op == Op::kCeilDiv ? CeilDivide(rest, divisor) : FloorDivide(rest, divisor));
  const int64_t turns = FloorDivide(rest, divisor), left = rest - turns * divisor;
  const bool ceil_is_floor = op == Op::kCeilDiv && left == 1;
  if (!ceil_is_floor && !(op == Op::kFloorDiv && left == divisor - 1)) return std::nullopt;
  const Op other = ceil_is_floor ? Op::kFloorDiv : Op::kCeilDiv;
  const NodePtr node = IndexBinary(other, multiple.ToNode(), IndexConstant(divisor, -1));
  if (!node) return std::nullopt;
  return SizeOf(node, kernel) + Size(turns + (ceil_is_floor ? 1 : 0));
}

Size SizeOf(const NodePtr& node, const Kernel& kernel) {
  if (node->op == Op::kConst && IsInteger(node->dtype))
    return Size(node->int_value).Named(node->param);
  if (node->op == Op::kDim) {
    const Dim& dim = kernel[DimId(node->index)];
    if (dim.fixed) return Size(*dim.fixed);
  }
  if (node->dtype == DType::kIndex && node->shape.empty()) {
    const auto arg = [&](size_t i) { return SizeOf(node->args[i], kernel); };
    switch (node->op) {
      case Op::kNeg:
        return Size(0) - arg(0);
      case Op::kAdd:
        return arg(0) + arg(1);
      case Op::kSub:
        return arg(0) - arg(1);
      case Op::kMul:
        return arg(0) * arg(1);
      case Op::kSteps: {
        const NodePtr& steps = kernel[AxisId(node->index)].steps;
        if (steps) return SizeOf(steps, kernel);
        break;
      }
      case Op::kFloorDiv:
      case Op::kCeilDiv: {
        const std::optional<int64_t> divisor = arg(1).Constant();
        const std::optional<Size> quotient =
            divisor && *divisor > 0 ? Quotient(node->op, arg(0), *divisor, kernel) : std::nullopt;
        if (quotient) return *quotient;
        break;
      }
      default:
        break;
    }
  }
  // What is left may still be a constant: cdiv(100, 8), or anything of fixed dims.
  Environment fixed;
  fixed.kernel = &kernel;
  for (const Dim& dim : kernel.dims) fixed.dims.push_back(dim.fixed);
  const EvalResult value = Evaluate(*node, fixed, nullptr);
  if (value.fault == EvalFault::kNone) return Size(value.value);
  return Size::Atom(ToString(*node, kernel), node);
}

}  // namespace kiln
