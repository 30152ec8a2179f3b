#include <utility>

#include "generator/spec/fields.h"
#include "generator/spec/read_value.h"
#include "generator/spec/yaml/yaml.h"
#include "generator/system/descriptor.h"

namespace kiln {
namespace {

/// "matmul" of "specs/matmul.yaml"; empty for text that is in no file.
std::string StemOf(const std::string& path) {
  if (path == "-" || path.starts_with('<') || NamedDescriptor(path)) return "";
  const size_t slash = path.find_last_of("/\\");
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  const size_t dot = name.rfind('.');
  return dot == std::string::npos || dot == 0 ? name : name.substr(0, dot);
}

void CheckFileName(const Spec& spec, Diagnostics& diagnostics) {
  const std::string stem = StemOf(spec.source->path());
  if (stem.empty() || spec.kernel.name.empty() || spec.kernel.name == stem) return;
  diagnostics.Error("key", spec.kernel.span,
                    "the kernel " + Quote(spec.kernel.name) + " is in a file called " + Quote(stem),
                    "a kernel has the name of its file: rename one of the two");
}

/// Statements beside a pipeline have no place: it is all that a step does.
void CheckPipelineIsAll(const YamlNode& root, Diagnostics& diagnostics) {
  if (!IsGiven(root, "pipeline")) return;
  for (const YamlEntry& entry : root.entries) {
    if (entry.key.value != "body" && entry.key.value != "epilogue") continue;
    diagnostics.Error("key", entry.key.span(),
                      Quote(entry.key.value) + " beside `pipeline`, which is all that a step does",
                      "`pipeline` has keys of the same names for the statements of its own steps; "
                      "what runs once is `when first(i):` there");
  }
}

}  // namespace

std::unique_ptr<Spec> ParseSpec(std::shared_ptr<const Source> source, Diagnostics& diagnostics) {
  Diagnostics found;
  auto spec = std::make_unique<Spec>();
  spec->source = source;
  if (std::optional<YamlNode> root = ParseYaml(*source, found)) {
    Reader reader{*source, found};
    const Span top = root->entries.empty() ? root->span : root->entries.front().key.span();
    ReadKeys(reader, SpecSection(), *root, top, *spec);
    CheckPipelineIsAll(*root, found);
    CheckFileName(*spec, found);
  }
  for (Diagnostic& diagnostic : found.Sorted()) diagnostics.Add(std::move(diagnostic));
  return found.HasErrors() ? nullptr : std::move(spec);
}

}  // namespace kiln
