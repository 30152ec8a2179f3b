#include "generator/native/cpu.h"

#include <dlfcn.h>

#include <nlohmann/json.hpp>

#include "generator/native/peaks.h"

namespace kiln {
namespace {

using Describe = int32_t(char* text, int64_t capacity);

std::optional<CpuFacts> FactsOf(const char* text) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  const auto number = [&](const char* name) { return json.value(name, int64_t{0}); };
  CpuFacts facts;
  facts.target = json.value("target", "");
  facts.highway = json.value("highway", "");
  facts.vector_bytes = number("vector_bytes");
  facts.vector_registers = number("vector_registers");
  facts.amx = json.value("amx", false);
  facts.l1_bytes = number("l1_bytes");
  facts.l2_bytes = number("l2_bytes");
  facts.last_cache_bytes = number("last_cache_bytes");
  facts.page_bytes = number("page_bytes");
  facts.tile_rows = number("tile_rows");
  facts.tile_columns = number("tile_columns");
  facts.product = number("product");
  facts.mc = number("mc");
  facts.nc = number("nc");
  facts.kc = number("kc");
  return facts;
}

}  // namespace

std::optional<CpuFacts> FindCpuFacts(const Toolchain& tools, const CompileOptions& options,
                                     std::string* why) {
  const Compiled compiled = CompileCached(ProbeUnit("machine.cc"), tools, options);
  if (compiled.library.empty()) {
    *why = compiled.error + "\n" + compiled.log;
    return std::nullopt;
  }
  void* const library = dlopen(compiled.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  auto* const describe =
      library ? reinterpret_cast<Describe*>(dlsym(library, "probe_machine")) : nullptr;
  char text[1024];
  std::optional<CpuFacts> facts;
  if (describe != nullptr && describe(text, sizeof text) == 0) facts = FactsOf(text);
  if (!facts) {
    *why = "the probe of the machine cannot be used";
    RemoveCached(compiled.library);
  }
  if (library) dlclose(library);
  return facts;
}

}  // namespace kiln
