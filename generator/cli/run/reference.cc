#include "generator/cli/run/reference.h"

#include <filesystem>

#include "generator/cli/run/run.h"
#include "generator/data/npy.h"
#include "generator/interpret/reference.h"

namespace kiln::cli {
namespace {

/// Reads the files among the references. False after an error, which is among the diagnostics.
bool ReadFiles(const Kernel& kernel, std::map<std::string, Array>& wanted,
               Diagnostics& diagnostics) {
  const auto folder = std::filesystem::path(kernel.source->path()).parent_path();
  bool good = true;
  for (const Reference& reference : kernel.references) {
    if (reference.file.empty()) continue;
    const Ref& output = kernel[RefId(reference.ref)];
    auto read = ReadNpy((folder / reference.file).string(), output.dtype);
    if (const auto* error = std::get_if<NpyError>(&read)) {
      diagnostics.Error("reference", reference.span,
                        "the reference of `" + output.name + "`: " + error->message);
      good = false;
    } else {
      wanted[output.name] = std::move(std::get<Array>(read));
    }
  }
  return good;
}

}  // namespace

std::optional<std::vector<ReferenceVerdict>> CompareWithReference(
    const Binding& binding, const Inputs& inputs, const std::map<std::string, Array>& outputs,
    const LimitOptions& limit, Diagnostics& diagnostics) {
  const Kernel& kernel = *binding.kernel;
  std::map<std::string, Array> wanted;
  if (!ReadFiles(kernel, wanted, diagnostics)) return std::nullopt;
  if (kernel.reference) {
    const ReferenceRun run(binding, inputs, diagnostics);
    if (!limit.Allow("computing the reference", run.Needs())) return std::nullopt;
    const Progress progress("computing the reference");
    wanted.merge(run.Run(diagnostics));
    if (diagnostics.HasErrors()) return std::nullopt;
  }
  std::vector<ReferenceVerdict> verdicts;
  for (const Reference& reference : kernel.references) {
    const Ref& output = kernel[RefId(reference.ref)];
    verdicts.push_back(
        {&output, reference.span,
         Compare(outputs.at(output.name), wanted.at(output.name), ToleranceOf(binding, output))});
  }
  return verdicts;
}

void ReportVerdicts(const std::vector<ReferenceVerdict>& verdicts, Diagnostics& diagnostics) {
  for (const ReferenceVerdict& verdict : verdicts) {
    if (verdict.difference.elements == 0) continue;
    diagnostics.Error(
        "reference", verdict.span,
        "`" + verdict.output->name + "` is not this: " + verdict.difference.description,
        "the kernel or its reference is wrong; `kiln explain reference` says where to look");
  }
}

std::string TextOf(const ReferenceVerdict& verdict) {
  const Difference& difference = verdict.difference;
  const std::string name = "`" + verdict.output->name + "` ";
  if (difference.elements > 0)
    return name + "is not what its reference says: " + difference.description;
  if (difference.worst == 0) return name + "is what its reference says";
  return name + "is what its reference says, within " + Number(difference.worst) + " at " +
         difference.where + " where " + Number(difference.allowed) + " is allowed";
}

}  // namespace kiln::cli
