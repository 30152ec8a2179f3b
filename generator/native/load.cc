#include <dlfcn.h>

#include <filesystem>
#include <sstream>
#include <utility>

#include "generator/data/passed_as.h"
#include "generator/native/cache/entry.h"
#include "generator/native/call.h"
#include "generator/native/interface.h"
#include "generator/render/template/template.h"
#include "generator/system/descriptor.h"
#include "generator/system/read_file.h"

namespace kiln {
namespace {

/// Of a parameter that is a scalar.
std::string CTypeOf(DType dtype) { return std::string(RowOf(PassedAs(dtype)).cpp); }

/// The text of a template that has the function kiln_packed_NAME.
std::string PackedText(const Kernel& kernel, const std::string& in) {
  render::Fields fields;
  fields.Set("name", GeneratedName(kernel)).SetList("arguments", {});
  int index = 0;
  for (const int ref : CallArguments(kernel)) {
    const Ref& of = kernel[RefId(ref)];
    std::string value = "arguments[" + std::to_string(index++) + "]";
    if (of.role == Role::kScalar)
      value = "*static_cast<const " + CTypeOf(of.dtype) + "*>(" + value + "->data)";
    fields.Add("arguments").Set("value", value);
  }
  return render::Templates().Render(in, fields);
}

}  // namespace

std::string CallText(const Kernel& kernel) { return PackedText(kernel, "call.cc"); }

std::string ModuleText(const Kernel& kernel) { return PackedText(kernel, "module.cc"); }

namespace {

template <class Function>
void Find(void* library, const std::string& name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name.c_str()));
}

/// The runtime is part of the kernel's library.
KernelInterface FindAll(void* library, const std::string& name) {
  KernelInterface found{};
  Find(library, "kiln_packed_" + name, found.call);
  Find(library, "kiln_options_init", found.options_init);
  Find(library, "kiln_context_new", found.context_new);
  Find(library, "kiln_context_free", found.context_free);
  Find(library, "kiln_context_operands", found.operands);
  Find(library, "kiln_context_vmem_high", found.vmem_high);
  Find(library, "kiln_context_events", found.events);
  Find(library, "kiln_code_name", found.code_name);
  return found;
}

bool HasAll(const KernelInterface& found) {
  return found.call && found.options_init && found.context_new && found.context_free &&
         found.operands && found.vmem_high && found.events && found.code_name;
}

/// Where headers of its own host code are: beside the spec, and here if that came through a pipe.
std::string HeaderFolder(const Kernel& kernel) {
  const std::string& path = kernel.source->path();
  std::error_code ignored;
  const bool beside = path != "-" && !NamedDescriptor(path);
  const std::filesystem::path at = std::filesystem::absolute(beside ? path : "-", ignored);
  return at.lexically_normal().parent_path().string();
}

constexpr size_t kMostText = size_t{16} << 20;

Unit UnitOf(const std::string& name, const Generated& text, const std::string& call) {
  Unit unit;
  unit.is_kernel = true;
  unit.name = name;
  unit.main = name + "_call.cc";
  unit.files = {{name + ".h", text.header}, {name + ".cc", text.source}, {unit.main, call}};
  return unit;
}

/// The header in the folder, and the headers there that it includes.
void AddHeader(const std::string& folder, const std::string& header,
               std::map<std::string, std::string>& texts) {
  if (texts.count(header) > 0) return;
  std::string ignored;
  const auto text = ReadFile(folder + "/" + header, kMostText, &ignored);
  if (!text) return;  // elsewhere; the compiler knows, or says so
  std::istringstream lines(texts[header] = *text);
  for (std::string line; std::getline(lines, line);) {
    const size_t begin = line.find('"');
    if (line.rfind("#include", 0) != 0 || begin == std::string::npos) continue;
    AddHeader(folder, line.substr(begin + 1, line.find('"', begin + 1) - begin - 1), texts);
  }
}

}  // namespace

Unit KernelUnit(const Kernel& kernel, const Generated& text) {
  Unit unit = UnitOf(GeneratedName(kernel), text, CallText(kernel));
  for (const HostCall& call : kernel.prepare) {
    if (call.header.empty()) continue;
    unit.include_folder = HeaderFolder(kernel);
    AddHeader(unit.include_folder, call.header, unit.included);
  }
  return unit;
}

std::optional<Unit> FindKernelUnit(const std::string& folder, const std::string& name,
                                   const std::string& hash) {
  for (const CachedEntry& entry : CachedEntries(folder)) {
    if (entry.name != name) continue;
    const std::string stem = folder + "/" + entry.key + "/" + name;
    std::string ignored;
    const auto header = ReadFile(stem + ".h", kMostText, &ignored);
    const auto source = ReadFile(stem + ".cc", kMostText, &ignored);
    const auto call = ReadFile(stem + "_call.cc", kMostText, &ignored);
    if (!header || !source || !call) continue;
    Unit unit = UnitOf(name, {*header, *source, {}}, *call);
    if (unit.TextHash() == hash) return unit;
  }
  return std::nullopt;
}

LoadedKernel LoadKernel(const Kernel& kernel, const Generated& text, const Toolchain& tools,
                        const CompileOptions& options, Compiled* compiled) {
  const Unit unit = KernelUnit(kernel, text);
  LoadedKernel loaded;
  for (const bool again : {false, true}) {
    *compiled = CompileCached(unit, tools, options);
    if (compiled->library.empty()) return loaded;
    compiled->error = loaded.Open(compiled->library, unit.name);
    if (compiled->error.empty()) return loaded;
    if (!again) RemoveCached(compiled->library);
  }
  return loaded;
}

/// Empty, or why it is no kernel's library.
std::string LoadedKernel::Open(const std::string& library, const std::string& name) {
  library_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library_) return dlerror();
  functions_ = std::make_unique<KernelInterface>(FindAll(library_, name));
  const char* (*isa)() = nullptr;
  Find(library_, "kiln_isa_" + name, isa);
  if (isa && HasAll(*functions_)) {
    isa_ = isa();
    return "";
  }
  dlclose(std::exchange(library_, nullptr));
  functions_ = nullptr;
  return library + " lacks a function of the kernel";
}

LoadedKernel::LoadedKernel() = default;

LoadedKernel::~LoadedKernel() {
  if (library_) dlclose(library_);
}

LoadedKernel::LoadedKernel(LoadedKernel&& other) noexcept { *this = std::move(other); }

LoadedKernel& LoadedKernel::operator=(LoadedKernel&& other) noexcept {
  std::swap(library_, other.library_);
  std::swap(functions_, other.functions_);
  std::swap(isa_, other.isa_);
  return *this;
}

CallResult LoadedKernel::Call(const Binding& binding, const std::map<std::string, Array>& arrays,
                              const CallOptions& options) const {
  return CallKernel(*functions_, binding, arrays, options);
}

}  // namespace kiln
