#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "generator/data/array.h"
#include "generator/ir/kernel.h"

/// The functions a `prepare` entry can call: host code that turns arguments into prefetch arrays
/// and scalars before the grid starts. One table; a new function is one entry in host.cc, and its
/// code here and in the runtime.
namespace kiln {

struct HostParameter {
  enum class Kind {
    kArray,     // an argument or prefetch array of an integer or bool type
    kAnyArray,  // an array of any type
    kInteger,
    kFlag,
  };
  std::string_view name;
  Kind kind = Kind::kInteger;
  int rank = 0;                      // of an array
  std::string_view by_default = {};  // as the signature shows it; empty: required
};

struct HostReturn {
  std::string_view name;
  DType dtype = DType::kI32;
  int rank = 0;  // 0: a scalar
  std::string_view doc;
  /// Past its end a longer declared array repeats the last entry, so that index maps stay in range,
  /// or holds 0, so that steps there do nothing.
  enum class End { kRepeats, kZero } end = End::kRepeats;
  int used = -1;  // the scalar result that counts the entries to be read; -1: all of them
};

/// A value for each parameter. Absent: the parameter's default.
struct HostValue {
  const Array* array = nullptr;
  std::optional<int64_t> number;
};

/// The results in the table's order, or what is wrong with the arguments as a sentence.
using HostResult = std::variant<std::vector<Array>, std::string>;

struct HostFunction {
  std::string_view name;
  std::vector<HostParameter> parameters;
  std::vector<HostReturn> results;
  std::string_view doc;
  HostResult (*run)(const std::vector<HostValue>& values);
  /// In the runtime: the function, and the struct with a member for each result that it fills. If
  /// more than one parameter has a default, they are members of a struct, too.
  std::string_view cpp_function, cpp_results;
};

const std::vector<HostFunction>& HostFunctions();
/// Null when there is none of that name.
const HostFunction* FindHostFunction(std::string_view name);
std::vector<std::string> HostFunctionNames();

/// "offsets, ids, tiles, visits = group_metadata(sizes, m, tm, start=0, count=all, …)"
std::string Signature(const HostFunction& function);

/// What a call of the spec has for each parameter (an index into its arguments, or -1), or why
/// the call does not fit the function: names, numbers and kinds of arguments, dtypes and ranks of
/// arguments and results.
std::variant<std::vector<int>, std::string> MatchHostCall(const HostFunction& function,
                                                          const HostCall& call,
                                                          const Kernel& kernel);

/// The registry as Markdown, for the manual.
std::string HostReference();

/// i32 arrays, as the functions make them.
Array HostVector(const std::vector<int64_t>& values);
Array HostScalar(int64_t value);
/// Prefetch arrays live in SMEM; this is far above any and still safe to allocate.
inline constexpr int64_t kMaxHostElements = int64_t{1} << 27;

// The functions themselves; HostReference says what each does.
HostResult GroupMetadata(const std::vector<HostValue>& values);
HostResult SparsifyMask(const std::vector<HostValue>& values);
HostResult BlockCoo(const std::vector<HostValue>& values);
HostResult GroupedRows(const std::vector<HostValue>& values);

}  // namespace kiln
