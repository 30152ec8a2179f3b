#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "generator/syntax/trees.h"

/// What the tests of the grammar share.
namespace kiln::syntax_testing {

/// `value` as if it were a whole file.
inline Text TextOf(const std::string& value) {
  Text text;
  text.value = value;
  for (size_t i = 0; i <= value.size(); ++i) text.offsets.push_back(static_cast<uint32_t>(i));
  return text;
}

/// A tree with every bracket spelt out, so that two of them are alike only if the trees are:
/// ToString is what is under test.
inline std::string Dump(const ExprPtr& expr) {
  if (!expr) return "_";
  std::string out = "(" + std::to_string(static_cast<int>(expr->kind)) + " " + expr->name;
  switch (expr->kind) {
    case Expr::Kind::kInt:
    case Expr::Kind::kBool:
      out += std::to_string(expr->int_value);
      break;
    case Expr::Kind::kFloat: {
      char buffer[40];
      std::snprintf(buffer, sizeof buffer, "%a", expr->float_value);
      out += buffer;
      break;
    }
    default:
      break;
  }
  for (const std::string& op : expr->ops) out += " " + op;
  for (const ExprPtr& arg : expr->args) out += " " + Dump(arg);
  for (const Keyword& keyword : expr->keywords) {
    out += " " + keyword.name.name + "=" + Dump(keyword.value);
  }
  return out + ")";
}

inline std::string Dump(const std::vector<ExprPtr>& exprs) {
  std::string out = "[";
  for (const ExprPtr& expr : exprs) out += Dump(expr);
  return out + "]";
}

inline std::string Dump(const std::vector<Stmt>& body) {
  std::string out = "{";
  for (const Stmt& s : body) {
    out += std::to_string(static_cast<int>(s.kind)) + " " + s.name.name + " " +
           (s.typed ? ":" : "") + s.dtype.name + Dump(s.shape) + s.op + Dump(s.target) +
           Dump(s.value) + Dump(s.condition) + Dump(s.low) + Dump(s.high) + Dump(s.semaphore) +
           s.message + Dump(s.body) + Dump(s.orelse) + ";";
  }
  return out + "}";
}

}  // namespace kiln::syntax_testing
