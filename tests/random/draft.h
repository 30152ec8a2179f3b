#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "generator/bind/bind.h"

/// A random spec as a structure that can be written, changed and made smaller.
namespace kiln::soak {

/// An expression: a text in which `$0`, `$1` … stand for the arguments, "max($0, $1)".
struct Term {
  std::string text;
  std::vector<Term> args;
};

/// A statement: "o[$0] = $1", or one with blocks of its own, "when $0:". `orelse` is what stands
/// below `else:`.
struct Statement {
  std::string text;
  std::vector<Term> args;
  std::vector<Statement> body, orelse;
};

/// `pad: 0`
struct Key {
  std::string name, value;
};

struct OperandDraft {
  std::string name;
  bool output = false;
  std::vector<Key> keys;
  // In front of the operand itself, each with its `if` among the keys: a list of alternatives.
  std::vector<std::vector<Key>> alternatives;
};

struct AxisDraft {
  std::string name, steps;
  bool parallel = false;
};

/// How an array is filled.
struct Fill {
  enum class Kind {
    kInteger,      // of [low, high]; floats hold integers
    kQuarters,     // multiples of 1/4
    kUniform,      // any float of [low, high)
    kSpecial,      // NaN, infinities, -0, subnormals, the largest, among small integers
    kPermutation,  // of 0 … n - 1
    kSums,         // sizes of groups that add up to `high` at most
    kMultiples,    // of `high`: what `own_multiples` makes (batch.cc)
  };
  Kind kind = Kind::kInteger;
  int64_t low = -4, high = 4;
  double share = 1;  // of elements that are not 0
};

/// What has been made wrong, and the rules that may be given for it.
struct Fault {
  std::string kind;
  std::vector<std::string> rules;
};

/// Everything about one random kernel: `Write` makes the text of it.
struct Draft {
  uint64_t seed = 0;
  std::string name = "random";
  std::string text;  // not empty: a spec that was written by hand, instead of all that follows
  std::vector<Key> params;
  std::vector<Key> dims;  // constraints: "multiple_of: 4"
  std::vector<std::string> require;
  std::vector<Key> lets, arguments, prefetch, scalars;
  std::vector<std::vector<Key>> prepare;
  std::vector<AxisDraft> axes;
  std::optional<size_t>
      outside;  // written as a pipeline: of the leading parallel axes, those outside
  std::vector<OperandDraft> operands;
  std::vector<std::pair<std::string, std::vector<Key>>> scratch;
  std::vector<Statement> body, epilogue;
  std::vector<std::pair<std::string, std::string>> extra;  // other keys, indented below them

  // A call of it.
  std::map<std::string, int64_t> sizes;  // of dims and scalars
  std::map<std::string, Fill> fills;     // of arrays

  /// Outputs that every engine computes to the last bit as the interpreter does.
  std::map<std::string, bool> exact;
  // By what their names end with; the one that is called.
  std::vector<std::pair<std::string, std::vector<Key>>> instances;
  std::string instance;

  std::optional<Fault> fault;

  // What was changed that must not matter, and of what.
  std::string variation;
  std::shared_ptr<const Draft> origin;

  std::string InstanceName() const { return instance.empty() ? "" : name + "_" + instance; }
};

std::string ToText(const Term& term);

/// The spec as YAML.
std::string Write(const Draft& draft);

/// A spec from a file, with the sizes that its first line names: "# sizes: n=8 m=3".
Draft ReadDraft(const std::string& path);

/// With the arguments of a call: arrays by what the kernel says of their shapes.
Inputs MakeInputs(const Draft& draft, const Kernel& kernel);

}  // namespace kiln::soak
