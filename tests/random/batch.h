#pragma once

#include <map>
#include <string>
#include <vector>

#include "generator/generate/generate.h"
#include "generator/native/compiler/toolchain.h"
#include "generator/native/interface.h"

namespace kiln::soak {

/// How a batch of kernels is compiled.
struct Flavour {
  std::string name;                // "native -O0"
  std::vector<std::string> flags;  // behind those of the toolchain
};

/// The flavours that this machine can run, the cheapest first.
std::vector<Flavour> Flavours();

/// Many kernels in one shared library: one translation unit, as most of the cost of a small kernel
/// is that of the headers.
class Batch {
 public:
  /// `folder` is made anew.
  Batch(std::string folder, const Toolchain& tools, Flavour flavour);
  ~Batch();
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  /// The four files of a kernel.
  static void WriteKernel(const std::string& folder, const Kernel& kernel, const Generated& text);

  /// Compiles the kernels of these names. Those that do not compile are left out, and *refused has
  /// what the compiler says.
  void Compile(std::vector<std::string> names, std::map<std::string, std::string>* refused);

  /// Null functions if there is no such kernel.
  KernelInterface Find(const std::string& name) const;

 private:
  bool CompileOnce(const std::vector<std::string>& names, std::string* log);

  std::string folder_;
  const Toolchain& tools_;
  Flavour flavour_;
  int attempts_ = 0;
  void* library_ = nullptr;
};

/// The headers of all kernels, compiled once for a flavour.
void Precompile(const std::string& folder, const Toolchain& tools, const Flavour& flavour);

}  // namespace kiln::soak
