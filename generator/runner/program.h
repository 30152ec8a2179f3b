#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "generator/data/array.h"
#include "kiln/runner.h"

/// The program of kiln_add_runner, as far as it is the same for all kernels.
namespace kiln::inline KILN_ABI::runner {

/// What is wrong with the command.
struct Mistake : std::runtime_error {
  explicit Mistake(const std::string& message, const std::string& hint_ = "")
      : std::runtime_error(message), hint(hint_) {}
  std::string hint;
};

/// The words of a command.
struct Command {
  std::map<std::string, std::string> values;  // by argument or size
  bool help = false, emulate = false;
  int32_t cores = 0;
  std::string out;
  std::optional<double> benchmark;  // for so many seconds
};

Command ParseCommand(const Kernel& kernel, int argc, char** argv);
std::string HelpText(const Kernel& kernel, const std::string& program);

/// What the kernel is called with, in the order of its arguments.
std::vector<Array> MakeArrays(const Kernel& kernel, const Command& command);

/// Kept for as long as it is called.
class Call {
 public:
  Call(const Kernel& kernel, const Command& command, std::vector<Array> arrays);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// Seconds; the status is then in `status`.
  double Run();
  const kiln_status& status() const { return status_; }
  int32_t cores() const;
  const Array& Read(size_t argument);

 private:
  struct Memory;
  const Kernel& kernel_;
  std::vector<Array> arrays_;
  std::vector<Memory> memory_;
  std::vector<const DLTensor*> tensors_;
  kiln_context* context_ = nullptr;
  kiln_status status_{};
};

/// Calls again and again, and says how long that takes.
std::string Benchmark(Call& call, double seconds, int64_t bytes);

}  // namespace kiln::inline KILN_ABI::runner
