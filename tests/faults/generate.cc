// fault_kernels FOLDER BATCHES: the C++ of the kernels with faults, in a few source files.
#include <cstdlib>
#include <iostream>
#include <stdexcept>

#include "generator/data/sha256.h"
#include "generator/native/interface.h"
#include "generator/system/write_file.h"
#include "tests/faults/fault.h"

namespace kiln::testing {
namespace {

void Write(const std::string& path, const std::string& text) {
  std::string why;
  if (WriteIfChanged(path, text, &why) == Written::kFailed) throw std::runtime_error(why);
}

/// Its two files; what includes them. Empty if the fault leaves no kernel.
std::string Generate(const std::string& folder, size_t number) {
  FaultyKernel faulty = ReadFault(Faults()[number]);
  if (!faulty.kernel) return "";
  const std::string name = KernelName(number);
  faulty.kernel->name = name;
  faulty.kernel->instance.clear();
  Generated text;
  if (!Generate(*faulty.kernel, faulty.source->path(), faulty.found, &text))
    throw std::runtime_error(name + ": " + kiln::Render(faulty.found, *faulty.source));
  const std::string call = CallText(*faulty.kernel);
  Write(folder + "/" + name + ".h", text.header);
  Write(folder + "/" + name + ".cc", text.source);
  Write(folder + "/" + name + "_call.cc", call);
  // See tests/records/generate.cc.
  Sha256 hash;
  hash.AddField(text.header).AddField(text.source).AddField(call);
  return "#include \"" + name + "_call.cc\"  // " + hash.Hex().substr(0, 16) + "\n";
}

void GenerateAll(const std::string& folder, size_t batches) {
  std::vector<std::string> texts(batches, "// Written by fault_kernels.\n");
  std::string list;
  for (size_t f = 0; f < Faults().size(); ++f) {
    const std::string include = Generate(folder, f);
    if (include.empty()) continue;
    texts[f % batches] += include;
    list += "KILN_FAULT(" + KernelName(f) + ")\n";
  }
  Write(folder + "/kernels.inc", list);
  for (size_t b = 0; b < batches; ++b)
    Write(folder + "/batch_" + std::to_string(b) + ".cc", texts[b]);
}

}  // namespace
}  // namespace kiln::testing

int main(int argc, char** argv) {
  const int batches = argc == 3 ? std::atoi(argv[2]) : 0;
  if (batches < 1) {
    std::cerr << "usage: fault_kernels FOLDER BATCHES\n";
    return 2;
  }
  try {
    kiln::testing::GenerateAll(argv[1], static_cast<size_t>(batches));
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
