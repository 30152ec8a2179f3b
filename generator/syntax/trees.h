#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "generator/text/diagnostic.h"
#include "generator/text/source.h"

/// The syntax of Kiln's own grammar (expressions, bodies) as trees, before names and types.
namespace kiln {

struct Ident {
  std::string name;
  Span span;
};

struct Expr;
using ExprPtr = std::shared_ptr<const Expr>;

struct Keyword {
  Ident name;
  ExprPtr value;
};

struct Expr {
  enum class Kind {
    kInt,        // int_value
    kFloat,      // float_value (inf and nan too)
    kBool,       // int_value
    kName,       // name
    kUnary,      // name is "-" "+" "~" "not"; args[0]
    kBinary,     // name is the operator, "and" and "or" included; args[0], args[1]
    kCompare,    // a chain: args[0] ops[0] args[1] ops[1] …
    kIf,         // args[0] if args[1] else args[2]
    kCall,       // name(args, keywords)
    kSubscript,  // args[0][args[1], …]; entries may be kSlice and kEllipsis
    kSlice,      // args[0]:args[1]:args[2], each may be null; only inside a subscript
    kEllipsis,   // only inside a subscript
    kAttribute,  // args[0].name
    kList,       // [args…], only as an argument of a call
  };
  Kind kind = Kind::kInt;
  Span span;
  Span name_span;  // of the name or operator
  std::string name;
  std::vector<std::string> ops;
  int64_t int_value = 0;
  double float_value = 0;
  std::vector<ExprPtr> args;
  std::vector<Keyword> keywords;
};

/// A name and what it stands for.
struct Naming {
  Ident name;
  ExprPtr value;
};

struct Stmt {
  enum class Kind {
    kLet,  // let name = value   |   let name, others… = value, others…; one call for all of them
    kVar,     // the same with var  |   var name: dtype[shape] = value
    kAssign,  // target op value, op in "=" "+=" "-=" "*="; target may be ref[window][mask]
    kWhen,    // when condition: body, else: orelse (else when nests one kWhen in orelse)
    kFor,     // for name in range(low, high): body
    kWhile,   // while condition: body   |   while condition, most=high: body
    kAssert,  // assert condition, "message"
    kCopy,    // copy target -> value, semaphore      (target is the source reference)
    kWait,    // wait semaphore   |   wait semaphore, target
  };
  Kind kind = Kind::kAssign;
  Span span;  // of the statement's first line
  Ident name;
  bool typed = false;          // kVar with a type
  Ident dtype;                 // kVar with a type
  std::vector<ExprPtr> shape;  // kVar with a type
  std::string op;
  ExprPtr target;
  ExprPtr value;
  std::vector<Naming> others;  // kLet, kVar: after the first; the value is that of the first where
                               // one call gives a value to each

  bool IsOneCall() const { return !others.empty() && others[0].value == value; }
  ExprPtr condition;
  ExprPtr low, high;
  ExprPtr semaphore;  // a name or a subscript
  std::string message;
  std::vector<Stmt> body;
  std::vector<Stmt> orelse;
};

/// Each parser reports [syntax] errors and returns null or an empty list where it found any.
/// The whole text must be consumed.
ExprPtr ParseExpr(const Text& text, Diagnostics& diagnostics);
/// Comma-separated expressions: index maps, conditions.
std::vector<ExprPtr> ParseExprList(const Text& text, Diagnostics& diagnostics);
/// `T[m, k]`; a bare `T` is rank 0.
struct ArrayType {
  Ident dtype;
  std::vector<ExprPtr> shape;
  Span span;
};
bool ParseArrayType(const Text& text, Diagnostics& diagnostics, ArrayType& out);
std::vector<Stmt> ParseBody(const Text& text, Diagnostics& diagnostics);
/// `a, b = f(x, y, key=z)`, the form of a `prepare` entry.
bool ParsePrepare(const Text& text, Diagnostics& diagnostics, std::vector<Ident>& results,
                  ExprPtr& call);

/// Source text with minimal parentheses and one spelling; stable, for dumps and messages.
std::string ToString(const Expr& expr);
std::string ToString(const std::vector<ExprPtr>& exprs);  // "a, b"
/// The statements, one a line, `indent` spaces before each.
std::string ToString(const std::vector<Stmt>& body, int indent);

}  // namespace kiln
