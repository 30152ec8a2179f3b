#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kiln/c.h"

/// Kernels of several kinds, called as C calls them, with arguments that a seed decides.
namespace kiln::test {

struct Argument {
  std::vector<std::byte> memory;
  std::vector<int64_t> shape;
  DLDataType type;
  bool is_output = false;
};

/// A kernel and one call's arguments.
class KernelCall {
 public:
  using Function = int32_t (*)(const DLTensor* arguments, kiln_context* context,
                               kiln_status* status);

  KernelCall(std::string name, Function function, std::vector<Argument> arguments);
  KernelCall(KernelCall&&) = default;

  const std::string& name() const { return name_; }
  /// Allocates nothing by itself.
  kiln_status Run(kiln_context* context) {
    kiln_status status{};
    function_(tensors_.data(), context, &status);
    return status;
  }
  /// Of the outputs' bytes.
  uint64_t Hash() const;
  /// Fills the outputs, so that what a call does not write shows.
  void Spoil();

 private:
  std::string name_;
  Function function_;
  std::vector<Argument> arguments_;
  std::vector<DLTensor> tensors_;
};

/// A call of each kernel. `size` 1 is a call of microseconds; 4 has several blocks along the axes,
/// 8 more of them.
std::vector<KernelCall> KernelCalls(int64_t size);

/// A context that runs as the test says.
struct Setting {
  int32_t mode = KILN_DIRECT;
  int32_t cores = 1;
  bool shuffle = false;
  bool reversed = false;  // cores run one after another, the last one first

  kiln_options options() const;
};
std::string NameOf(const Setting& setting);

}  // namespace kiln::test
