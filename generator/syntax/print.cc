#include <array>
#include <charconv>
#include <cmath>

#include "generator/syntax/trees.h"

namespace kiln {
namespace {

// How tightly each form binds, loosest first; the parser's levels.
enum Level {
  kIf,
  kOr,
  kAnd,
  kNot,
  kComparison,
  kBitOr,
  kBitXor,
  kBitAnd,
  kShift,
  kSum,
  kProduct,
  kUnary,
  kPower,
  kPrimary,
};

Level LevelOfOperator(const std::string& op) {
  if (op == "or") return kOr;
  if (op == "and") return kAnd;
  if (op == "|") return kBitOr;
  if (op == "^") return kBitXor;
  if (op == "&") return kBitAnd;
  if (op == "<<" || op == ">>") return kShift;
  if (op == "+" || op == "-") return kSum;
  if (op == "**") return kPower;
  return kProduct;
}

Level LevelOf(const Expr& expr) {
  switch (expr.kind) {
    case Expr::Kind::kIf:
      return kIf;
    case Expr::Kind::kBinary:
      return LevelOfOperator(expr.name);
    case Expr::Kind::kCompare:
      return kComparison;
    case Expr::Kind::kUnary:
      return expr.name == "not" ? kNot : kUnary;
    // No literal is negative as read, but folding makes such.
    case Expr::Kind::kInt:
      return expr.int_value < 0 ? kUnary : kPrimary;
    case Expr::Kind::kFloat:
      return std::signbit(expr.float_value) && !std::isnan(expr.float_value) ? kUnary : kPrimary;
    default:
      return kPrimary;
  }
}

/// The shortest text that reads as the same double, and as a float.
std::string FloatText(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  const double size = std::fabs(value);
  const bool plain = size == 0 || (size >= 1e-5 && size < 1e16);  // else 1e+20
  std::array<char, 40> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 plain ? std::chars_format::fixed : std::chars_format::scientific)
                       .ptr;
  std::string text(buffer.data(), end);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

void Print(const Expr& expr, Level least, std::string& out);

void PrintList(const std::vector<ExprPtr>& exprs, size_t first, std::string& out) {
  for (size_t i = first; i < exprs.size(); ++i) {
    if (i > first) out += ", ";
    Print(*exprs[i], kIf, out);
  }
}

void PrintBinary(const Expr& expr, std::string& out) {
  const Level level = LevelOfOperator(expr.name);
  const bool power = level == kPower;  // the only one that reads from the right
  Print(*expr.args[0], power ? kPrimary : level, out);
  out += " " + expr.name + " ";
  Print(*expr.args[1], power ? kUnary : static_cast<Level>(level + 1), out);
}

void PrintComparison(const Expr& expr, std::string& out) {
  for (size_t i = 0; i < expr.args.size(); ++i) {
    if (i > 0) out += " " + expr.ops[i - 1] + " ";
    // & | ^ bind tighter, but the parser requires their parentheses here.
    Print(*expr.args[i], kShift, out);
  }
}

void PrintIf(const Expr& expr, std::string& out) {
  Print(*expr.args[0], kOr, out);
  out += " if ";
  Print(*expr.args[1], kOr, out);
  out += " else ";
  Print(*expr.args[2], kIf, out);
}

void PrintCall(const Expr& expr, std::string& out) {
  out += expr.name + "(";
  PrintList(expr.args, 0, out);
  bool comma = !expr.args.empty();
  for (const Keyword& keyword : expr.keywords) {
    if (comma) out += ", ";
    comma = true;
    out += keyword.name.name + "=";
    Print(*keyword.value, kIf, out);
  }
  out += ")";
}

void PrintAttribute(const Expr& expr, std::string& out) {
  const Expr& base = *expr.args[0];
  const bool integer = base.kind == Expr::Kind::kInt;  // `1.T` would begin with the float `1.`
  if (integer) out += "(";
  Print(base, integer ? kIf : kPrimary, out);
  out += integer ? ")." : ".";
  out += expr.name;
}

void PrintSlice(const Expr& expr, std::string& out) {
  if (expr.args[0]) Print(*expr.args[0], kIf, out);
  out += ":";
  if (expr.args[1]) Print(*expr.args[1], kIf, out);
  if (!expr.args[2]) return;
  out += ":";
  Print(*expr.args[2], kIf, out);
}

void PrintBare(const Expr& expr, std::string& out) {
  switch (expr.kind) {
    case Expr::Kind::kInt:
      out += std::to_string(expr.int_value);
      break;
    case Expr::Kind::kFloat:
      out += FloatText(expr.float_value);
      break;
    case Expr::Kind::kBool:
      out += expr.int_value != 0 ? "true" : "false";
      break;
    case Expr::Kind::kName:
      out += expr.name;
      break;
    case Expr::Kind::kUnary:
      out += expr.name == "not" ? "not " : expr.name;
      Print(*expr.args[0], expr.name == "not" ? kNot : kUnary, out);
      break;
    case Expr::Kind::kBinary:
      PrintBinary(expr, out);
      break;
    case Expr::Kind::kCompare:
      PrintComparison(expr, out);
      break;
    case Expr::Kind::kIf:
      PrintIf(expr, out);
      break;
    case Expr::Kind::kCall:
      PrintCall(expr, out);
      break;
    case Expr::Kind::kSubscript:
      Print(*expr.args[0], kPrimary, out);
      out += "[";
      PrintList(expr.args, 1, out);
      out += "]";
      break;
    case Expr::Kind::kSlice:
      PrintSlice(expr, out);
      break;
    case Expr::Kind::kEllipsis:
      out += "...";
      break;
    case Expr::Kind::kAttribute:
      PrintAttribute(expr, out);
      break;
    case Expr::Kind::kList:
      out += "[";
      PrintList(expr.args, 0, out);
      out += "]";
      break;
  }
}

void Print(const Expr& expr, Level least, std::string& out) {
  const bool parentheses = LevelOf(expr) < least;
  if (parentheses) out += "(";
  PrintBare(expr, out);
  if (parentheses) out += ")";
}

std::string QuotedMessage(const std::string& message) {
  std::string out = "\"";
  for (const char c : message) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + "\"";
}

/// Of a let or a var.
std::string NamingText(const char* word, const Stmt& stmt) {
  std::string names = stmt.name.name, values = ToString(*stmt.value);
  for (const Naming& other : stmt.others) {
    names += ", " + other.name.name;
    if (!stmt.IsOneCall()) values += ", " + ToString(*other.value);
  }
  if (stmt.typed) names += ": " + stmt.dtype.name;
  if (stmt.typed && !stmt.shape.empty()) names += "[" + ToString(stmt.shape) + "]";
  return std::string(word) + " " + names + " = " + values;
}

std::string ForText(const Stmt& stmt) {
  const bool from_zero = stmt.low->kind == Expr::Kind::kInt && stmt.low->int_value == 0;
  return "for " + stmt.name.name + " in range(" + (from_zero ? "" : ToString(*stmt.low) + ", ") +
         ToString(*stmt.high) + "):";
}

std::string WhileText(const Stmt& stmt) {
  return "while " + ToString(*stmt.condition) +
         (stmt.high ? ", most=" + ToString(*stmt.high) : "") + ":";
}

/// The statement's own line, without its blocks.
std::string HeadText(const Stmt& stmt) {
  switch (stmt.kind) {
    case Stmt::Kind::kLet:
      return NamingText("let", stmt);
    case Stmt::Kind::kVar:
      return NamingText("var", stmt);
    case Stmt::Kind::kAssign:
      return ToString(*stmt.target) + " " + stmt.op + " " + ToString(*stmt.value);
    case Stmt::Kind::kWhen:
      return "when " + ToString(*stmt.condition) + ":";
    case Stmt::Kind::kFor:
      return ForText(stmt);
    case Stmt::Kind::kWhile:
      return WhileText(stmt);
    case Stmt::Kind::kAssert:
      return "assert " + ToString(*stmt.condition) + ", " + QuotedMessage(stmt.message);
    case Stmt::Kind::kCopy:
      return "copy " + ToString(*stmt.target) + " -> " + ToString(*stmt.value) + ", " +
             ToString(*stmt.semaphore);
    case Stmt::Kind::kWait:
      return "wait " + ToString(*stmt.semaphore) +
             (stmt.target ? ", " + ToString(*stmt.target) : "");
  }
  return "";
}

void PrintStatement(const Stmt& stmt, int indent, const char* before, std::string& out) {
  const std::string margin(static_cast<size_t>(indent), ' ');
  out += margin + before + HeadText(stmt) + "\n" + ToString(stmt.body, indent + 2);
  if (stmt.orelse.empty()) return;
  // `else:` with a `when` alone in it means the same, and is written as its short form.
  if (stmt.orelse.size() == 1 && stmt.orelse[0].kind == Stmt::Kind::kWhen) {
    return PrintStatement(stmt.orelse[0], indent, "else ", out);
  }
  out += margin + "else:\n" + ToString(stmt.orelse, indent + 2);
}

}  // namespace

std::string ToString(const Expr& expr) {
  std::string out;
  Print(expr, kIf, out);
  return out;
}

std::string ToString(const std::vector<ExprPtr>& exprs) {
  std::string out;
  PrintList(exprs, 0, out);
  return out;
}

std::string ToString(const std::vector<Stmt>& body, int indent) {
  std::string out;
  for (const Stmt& stmt : body) PrintStatement(stmt, indent, "", out);
  return out;
}

}  // namespace kiln
