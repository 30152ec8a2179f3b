#include "kiln/call/verbose.h"

#include <sched.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iterator>
#include <string>
#include <string_view>

#include "hwy/targets.h"
#include "kiln/call/call.h"
#include "kiln/core/types.h"

namespace kiln::inline KILN_ABI::internal {

constinit std::atomic<Verbosity> g_verbosity = Verbosity::kUnknown;

bool ReadVerbosity() {
  const char* const value = std::getenv("KILN_VERBOSE");
  const bool verbose = value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
  g_verbosity.store(verbose ? Verbosity::kVerbose : Verbosity::kSilent, std::memory_order_relaxed);
  return verbose;
}

namespace {

using Argument = CallCheck::Argument;

constexpr std::string_view kFields =
    "kiln_verbose,kernel,arguments,specialization,mode,instructions,cores,status,milliseconds,"
    "command\n";

/// An array of integers with more elements is not spelt out.
constexpr int64_t kMostSpelt = 256;

enum class Fields { kUnprinted, kBeingPrinted, kPrinted };
constinit std::atomic<Fields> g_fields = Fields::kUnprinted;

// Numbers not by printf, whose decimal point is the locale's.

void Add(std::string& to, int64_t value) {
  char text[24];
  to.append(text, std::to_chars(text, std::end(text), value).ptr);
}

void Add(std::string& to, double value) {
  char text[32];
  to.append(text, std::to_chars(text, std::end(text), value).ptr);
}

void AddMilliseconds(std::string& to, std::chrono::steady_clock::duration time) {
  char text[32];
  const double value = std::chrono::duration<double, std::milli>(time).count();
  to.append(text, std::to_chars(text, std::end(text), value, std::chars_format::fixed, 4).ptr);
}

/// "x:f32[512x700]", and the strides of one with gaps: "x:f32[512x700]/1024x1".
void AddArgument(std::string& to, const Argument& array) {
  to += array.name;
  to += ':';
  to += NameOf(array.dtype);
  if (array.rank == 0) return;
  int64_t dense = 1;
  bool has_gaps = false;
  for (int d = array.rank; d-- > 0; dense *= array.shape[d])
    has_gaps |= array.shape[d] > 1 && array.stride[d] != dense;
  const auto add = [&](const auto& extents) {
    for (int d = 0; d < array.rank; ++d) {
      if (d > 0) to += 'x';
      Add(to, extents[d]);
    }
  };
  to += '[';
  add(array.shape);
  to += ']';
  if (!has_gaps) return;
  to += '/';
  add(array.stride);
}

int64_t CountOf(const Argument& array) {
  int64_t count = 1;
  for (int d = 0; d < array.rank; ++d) count *= array.shape[d];
  return count;
}

template <typename T>
void AddElement(std::string& to, const void* data, int64_t at) {
  const T* const element = ElementsAt<const T>(data) + at;
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    Add(to, static_cast<double>(*element));
  } else if constexpr (kIsPacked<T>) {
    Add(to, int64_t{internal::IntegerAt(element)});
  } else if constexpr (!kIsFloating<T>) {
    Add(to, static_cast<int64_t>(*element));
  }
}

void AddElement(std::string& to, Dtype dtype, const void* data, int64_t at) {
  switch (dtype) {
#define KILN_DTYPE(dtype, type, name, code, bits, mantissa) \
  case Dtype::dtype:                                        \
    return AddElement<type>(to, data, at);
#include "kiln/core/dtypes.def"
  }
}

/// "[[1,0],[1,1]]"
void AddElements(std::string& to, const Argument& array, int dimension, int64_t offset) {
  if (dimension == array.rank) {
    return AddElement(to, array.dtype, array.data, offset);
  }
  to += '[';
  for (int64_t i = 0; i < array.shape[dimension]; ++i) {
    if (i > 0) to += ',';
    AddElements(to, array, dimension + 1, offset + i * array.stride[dimension]);
  }
  to += ']';
}

bool IsInteger(Dtype dtype) {
  switch (dtype) {
#define KILN_DTYPE(dtype, type, name, code, bits, mantissa) \
  case Dtype::dtype:                                        \
    return !kIsFloating<type>;
#include "kiln/core/dtypes.def"
  }
  return false;
}

/// " ids='[3,0,5]'", " x=random:1". Integers decide more often than floats what a call does: few of
/// them are spelt out. False if random ones would not do, and these cannot be spelt.
bool AddInput(std::string& to, const Argument& array, int seed) {
  const int64_t count = CountOf(array);
  const bool has_text =
      IsInteger(array.dtype) || array.dtype == Dtype::kF32 || array.dtype == Dtype::kF64;
  const bool is_spelt =
      has_text && count <= kMostSpelt && (array.is_values || IsInteger(array.dtype));
  if (array.is_values && !is_spelt) return false;
  to += ' ';
  to += array.name;
  if (count == 0) {
    to += "=zeros";
  } else if (is_spelt) {
    to += array.rank > 0 ? "='" : "=";
    AddElements(to, array, 0, 0);
    if (array.rank > 0) to += '\'';
  } else {
    to += "=random:";
    Add(to, int64_t{seed});
  }
  return true;
}

void AddOptions(std::string& to, const Ran& ran) {
  const Options& options = ran.options;
  to += options.mode == Mode::kEmulated ? " --mode=emulate" : " --mode=direct";
  if (ran.cores > 0) {
    to += " --cores=";
    Add(to, int64_t{ran.cores});
  }
  if (options.mode != Mode::kEmulated) return;
  if (options.shuffle) {
    to += " --shuffle=";
    Add(to, static_cast<int64_t>(options.seed));
  }
  if (options.dma == Dma::kEager) to += " --dma=eager";
  if (options.poison == Poison::kRandom) to += " --init=random";
  if (options.poison == Poison::kZero) to += " --init=zero";
}

/// The command that makes the same call, with other values in its arrays. Nothing: there is none.
std::string CommandOf(const RunOptions& how, const Ran& ran) {
  if (how.spec == nullptr || how.check == nullptr) return "";
  std::string command = "kiln run ";
  command += how.spec;
  int seed = 0;
  for (const Argument& array : how.check->arguments()) {
    if (!array.is_output && !AddInput(command, array, ++seed)) return "";
  }
  for (const CallCheck::ScalarArgument& scalar : how.check->scalars()) {
    command += ' ';
    command += scalar.name;
    command += '=';
    scalar.is_float ? Add(command, scalar.number) : Add(command, scalar.integer);
  }
  for (const CallCheck::Size& size : how.check->sizes()) {
    command += ' ';
    command += size.name;
    command += '=';
    Add(command, size.value);
  }
  AddOptions(command, ran);
  if (how.set != nullptr) {
    command += " --set ";  // last, as it takes whatever words follow
    command += how.set;
  }
  return command;
}

/// As far as it is known before a call runs.
std::string BeginOfLine(const RunOptions& how) {
  std::string line = "kiln_verbose,";
  line += how.kernel != nullptr ? how.kernel : "";
  line += ',';
  if (how.check != nullptr) {
    for (const Argument& array : how.check->arguments()) {
      if (line.back() != ',') line += ' ';
      AddArgument(line, array);
    }
  }
  return line;
}

std::string LineOf(const RunOptions& how, const Ran& ran) {
  std::string line = BeginOfLine(how);
  line += how.specialization == 0 ? ",base" : ",variant_";
  if (how.specialization != 0) Add(line, int64_t{how.specialization});
  line += ran.options.mode == Mode::kEmulated ? ",emulated," : ",direct,";
  line += ran.target != 0 ? hwy::TargetName(ran.target) : "";
  line += ',';
  Add(line, int64_t{ran.cores});
  line += ',';
  line += NameOf(ran.code);
  line += ',';
  AddMilliseconds(line, ran.time);
  line += ',';
  line += CommandOf(how, ran);
  line += '\n';
  return line;
}

std::string LineOfRefused(const RunOptions& how, const Status& status) {
  std::string line = BeginOfLine(how);
  line += ",,,,0,";
  line += NameOf(status.code);
  line += ",0.0000,# ";
  for (const char* at = status.message; *at != '\0'; ++at) line += *at == '\n' ? ' ' : *at;
  line += '\n';
  return line;
}

/// Who reads standard error no longer, reads no more of this.
void Write(std::string_view text) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

/// Before any line. Another thread that prints them is waited for, but not for long: the child of a
/// fork may see it begin and never end.
void PrintFields() {
  constexpr int kMostTurns = 10000;
  Fields before = Fields::kUnprinted;
  if (g_fields.compare_exchange_strong(before, Fields::kBeingPrinted)) {
    Write(kFields);
    g_fields = Fields::kPrinted;
  }
  for (int turn = 0; turn < kMostTurns && g_fields != Fields::kPrinted; ++turn) sched_yield();
}

/// The text of a line, as `make` has it.
template <class Make>
void Print(const Make& make) {
  try {
    const std::string text = make();
    PrintFields();
    Write(text);
  } catch (const std::exception&) {  // no memory: no line
  }
}

}  // namespace

void PrintCall(const RunOptions& how, const Ran& ran) {
  Print([&] { return LineOf(how, ran); });
}

void PrintRefused(const RunOptions& how, const Status& status) {
  Print([&] { return LineOfRefused(how, status); });
}

}  // namespace kiln::inline KILN_ABI::internal
