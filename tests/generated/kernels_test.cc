// Every kernel of generated/, at its spec's golden sizes, on every instruction set that this
// machine has: Direct and Emulated give the same bits on one core and on two, and both are as close
// to the interpreter as roundings allow.
#include <array>

#include "generator/cli/golden/golden.h"
#include "generator/interpret/interpret.h"
#include "generator/native/interface.h"
#include "generator/predict/machine/machine.h"
#include "tests/catch.h"
#include "tests/cli/tool.h"
#include "tests/generated/linked/linked_kernels.h"

namespace kiln {
namespace {

using test::LinkedKernel;

KernelInterface InterfaceOf(const LinkedKernel& kernel) {
  const test::LinkedRuntime& runtime = *kiln_linked_runtime();
  return {kernel.call,      runtime.options_init, runtime.context_new, runtime.context_free,
          runtime.operands, runtime.vmem_high,    runtime.events,      runtime.code_name};
}

struct Engine {
  const char* name;
  bool emulate;
  int cores;
};

CallOptions OptionsOf(const Engine& engine) {
  CallOptions options;
  options.emulate = engine.emulate;
  options.cores = engine.cores;
  MachineFault fault;
  static const Machine machine = LoadMachine("v4", &fault).value();
  options.vmem_bytes = machine.vmem;
  options.smem_bytes = machine.smem;
  return options;
}

std::map<std::string, Array> Run(const LinkedKernel& kernel, const cli::GoldenEntry& entry,
                                 const Engine& engine) {
  INFO(engine.name);
  CallResult result =
      CallKernel(InterfaceOf(kernel), *entry.binding, entry.inputs.arrays, OptionsOf(engine));
  INFO(result.message);
  REQUIRE(result.code == 0);
  return std::move(result.outputs);
}

void CheckEngines(const LinkedKernel& kernel, const cli::GoldenEntry& entry,
                  const std::map<std::string, Array>& oracle) {
  const auto first = Run(kernel, entry, {"direct, 1 core", false, 1});
  for (const Ref& ref : entry.binding->kernel->refs) {
    const auto want = oracle.find(ref.name);
    if (want == oracle.end()) continue;
    INFO(ref.name);
    const Tolerance tolerance = ToleranceOf(*entry.binding, ref);
    CHECK(Compare(first.at(ref.name), want->second, tolerance).description == "");
  }
  constexpr Engine kOthers[] = {
      {"direct, 2 cores", false, 2}, {"emulated, 1 core", true, 1}, {"emulated, 2 cores", true, 2}};
  for (const Engine& engine : kOthers) {
    INFO(engine.name);
    for (const auto& [name, array] : Run(kernel, entry, engine)) {
      INFO(name);
      CHECK(array.bytes == first.at(name).bytes);
    }
  }
}

void CheckKernel(const LinkedKernel& kernel) {
  cli::SpecOptions options;
  options.spec = std::string("specs/") + kernel.spec;
  // Some need arrays that are more than random; their tests are elsewhere.
  if (test::ReadText(options.spec).find("\ngolden:") == std::string::npos) return;
  if (*kernel.instance) options.spec += std::string(":") + kernel.instance;
  int status = 0;
  const auto entries = cli::GoldenEntries(options, &status);
  REQUIRE(entries);
  std::array<const char*, 8> targets{};
  const int32_t count = kiln_linked_targets(targets.size(), targets.data());
  REQUIRE(count > 0);
  REQUIRE(count <= static_cast<int32_t>(targets.size()));
  for (const auto& entry : *entries) {
    Diagnostics found;
    const auto oracle = Interpret(*entry->binding, entry->inputs.arrays, {}, found).outputs;
    INFO(Render(found, *entry->loaded.source));
    REQUIRE(found.empty());
    for (int32_t target = 0; target < count; ++target) {
      INFO(targets[static_cast<size_t>(target)]);
      kiln_linked_use_target(target);
      CheckEngines(kernel, *entry, oracle);
    }
  }
  kiln_linked_use_target(-1);
}

TEST_CASE("generated kernels compute what the oracle computes") {
  int32_t count = 0;
  const LinkedKernel* const kernels = kiln_linked_kernels(&count);
  REQUIRE(count > 0);
  for (int32_t i = 0; i < count; ++i) {
    DYNAMIC_SECTION(kernels[i].name) { CheckKernel(kernels[i]); }
  }
}

}  // namespace
}  // namespace kiln
