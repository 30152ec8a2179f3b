#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "generator/cli/run/run.h"
#include "generator/data/passed_as.h"
#include "generator/native/interface.h"
#include "generator/system/read_file.h"
#include "generator/system/write_file.h"

/// `kiln compile`: what a program needs that calls kernels without being compiled with them, as the
/// Python package does.
namespace kiln::cli {
namespace {

using Json = nlohmann::ordered_json;

struct CompileCommand {
  SpecOptions spec;
  std::string out;
  bool signature_only = false;

  int Run();
};

const char* RoleText(const Ref& ref) {
  switch (ref.role) {
    case Role::kOutput:
      return "output";
    case Role::kScalar:
      return "scalar";
    case Role::kPrefetch:
      return "prefetch";
    default:
      return "input";
  }
}

Json ArgumentJson(const Kernel& kernel, const Ref& ref) {
  Json shape = Json::array();
  for (const Size& size : ref.array) shape.push_back(size.ToString());
  Json argument = {{"name", ref.name},
                   {"role", RoleText(ref)},
                   {"dtype", std::string(Name(ref.dtype))},
                   {"shape", shape}};
  if (ref.role == Role::kScalar) argument["passed_as"] = std::string(Name(PassedAs(ref.dtype)));
  if (ref.alias >= 0) argument["alias"] = kernel[RefId(ref.alias)].name;
  return argument;
}

Json DimJson(const Dim& dim) {
  Json out = {{"name", dim.name}, {"min", dim.min}, {"multiple_of", dim.multiple_of}};
  if (dim.max) out["max"] = *dim.max;
  if (dim.fixed) out["fixed"] = *dim.fixed;
  return out;
}

/// Operands that have a dimension more than the spec's own shapes show.
Json VmapJson(const VmapSpec& vmap) {
  Json over = Json::array();
  for (const VmapSpec::Over& entry : vmap.over) over.push_back(entry.operand.name);
  return {{"dim", vmap.dim.name}, {"over", over}};
}

/// What a caller has to know, in the order of the C function's parameters.
Json SignatureJson(const Spec& spec, const Kernel& kernel, const Generated& text) {
  const std::string& name = GeneratedName(kernel);
  Json out = {{"name", name}, {"doc", kernel.doc}, {"function", "kiln_" + name}};
  out["packed"] = "kiln_packed_" + name;
  // The same text is the same kernel in any process, which addresses are not.
  out["hash"] = KernelUnit(kernel, text).TextHash();
  out["params"] = Json::object();
  for (const Param& param : kernel.params) out["params"][param.name] = param.value;
  out["dims"] = Json::array();
  for (const Dim& dim : kernel.dims) out["dims"].push_back(DimJson(dim));
  if (spec.vmap) out["vmap"] = VmapJson(*spec.vmap);
  out["arguments"] = Json::array();
  for (const int ref : CallArguments(kernel)) {
    out["arguments"].push_back(ArgumentJson(kernel, kernel[RefId(ref)]));
  }
  return out;
}

int CompileCommand::Run() {
  auto loaded = Load(spec, Depth::kCheck);
  if (!loaded) return kUsage;
  std::optional<Generated> text;
  if (loaded->kernel && !loaded->diagnostics.HasErrors())
    text = GenerateForRun(*loaded->kernel, *loaded);
  if (ReportErrors(*loaded, spec.format) != kFine || !text) return kDiagnosed;

  Json printed = SignatureJson(*loaded->spec, *loaded->kernel, *text);
  if (!signature_only) {
    int status = kFine;
    Compiled compiled;
    const auto kernel = CompileForRun(*loaded->kernel, *text, &status, &compiled);
    if (!kernel) return status;
    std::string library = compiled.apart ? "" : compiled.library;
    if (!out.empty()) {
      std::string why;
      const auto bytes = ReadFile(compiled.library, size_t{1} << 30, &why);
      if (!bytes || WriteIfChanged(out, *bytes, &why) == Written::kFailed) return UsageError(why);
      library = out;
    }
    // Where there is no cache that can be trusted, the library goes with this program.
    printed["library"] = library.empty() ? Json() : Json(library);
    printed["isa"] = kernel->isa();
    printed["cached"] = compiled.cached;
  }
  std::cout << printed.dump(2) << "\n";
  return kFine;
}

}  // namespace

void AddCompile(const OptionList& list, std::function<int()>& run) {
  auto command = std::make_shared<CompileCommand>();
  command->spec.Add(list);
  list.Add("-o,--out", command->out, "copies the library there").Takes("FILE");
  list.Flag("--signature", command->signature_only, "compile nothing: the arguments alone");
  list.Footer(
      "Examples:\n"
      "  kiln compile specs/matmul.yaml:matmul_f32 --set bm=256\n"
      "  kiln compile specs/matmul.yaml:matmul_f32 -o matmul.so\n"
      "  kiln compile specs/matmul.yaml:matmul_f32 --signature\n"
      "Prints a JSON object: `library` (a path in the compile cache, or null where there is "
      "none),\n"
      "`function` and `packed` (its C functions, of which the second takes an array of tensors),\n"
      "`hash` of the text, and the `arguments` with dtype and shape, in order.");
  run = [command] {
    std::vector<std::string> none;
    command->spec.Untangle(none);
    return command->Run();
  };
}

}  // namespace kiln::cli
