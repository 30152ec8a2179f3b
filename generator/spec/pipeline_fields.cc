// The keys of a pipeline, and of what it says of an operand.
#include <algorithm>
#include <utility>

#include "generator/spec/field_forms.h"
#include "generator/spec/read_value.h"

namespace kiln {
namespace {

using namespace forms;

/// The key of a spec or an operand of that name, which means the same here.
template <typename T>
FieldInfo InfoOf(const Section<T>& section, const std::string& name) {
  const auto found = std::find_if(section.fields.begin(), section.fields.end(),
                                  [&](const Field<T>& field) { return field.info.name == name; });
  return found->info;
}

}  // namespace

const Section<PipelineSpec>& PipelineSection() {
  using P = PipelineSpec;
  static const Section<P> section = {
      "pipeline",
      "Pipelines",
      "The keys of `pipeline`. Its axes come behind those of the kernel's own grid, if there is "
      "one.",
      {
          {{"grid", InfoOf(SpecSection(), "grid").form, kRequired,
            "The axes that each step walks, major to minor, each with its number of steps.",
            "{i: \"cdiv(m, bm)\"}"},
           [](Reader& r, YamlEntry& e, P& p) { p.grid = ReadGrid(r, e.value); }},
          {InfoOf(SpecSection(), "dimension_semantics"),
           [](Reader& r, YamlEntry& e, P& p) {
             p.semantics = ReadSemantics(r, e.value);
             p.semantics_span = e.value.span;
           }},
          {{"over", FreeKeys("operand", Keys("over")), kRequired,
            "The operands in HBM that it walks, each with its block and index; in the body their "
            "names are their blocks.",
            "{x: {block: bm, index: i}}"},
           [](Reader& r, YamlEntry& e, P& p) { p.over = ReadPipelineOver(r, e.value); }},
          {{"body", Statements(), kRequired, "Statements run at each of its steps.", "z = x + y"},
           [](Reader& r, YamlEntry& e, P& p) { p.body = ReadStatements(r, e); }},
          {InfoOf(SpecSection(), "epilogue"),
           [](Reader& r, YamlEntry& e, P& p) { p.epilogue = ReadStatements(r, e); }},
      }};
  return section;
}

const Section<OperandSpec>& OverSection() {
  static const Section<OperandSpec> section = [] {
    Section<OperandSpec> over = {
        "over",
        "Operands of a pipeline",
        "An entry of `over`: keys of an operand, which its own entry then does not give.",
        {}};
    for (const Field<OperandSpec>& field : OperandSection().fields) {
      const std::string& name = field.info.name;
      if (name == "array" || name == "view" || name == "alias" || name == "if") continue;
      over.fields.push_back(field);
      if (name != "memory") continue;
      over.fields.back().info.form = Words({"vmem", "smem"});
      over.fields.back().info.description =
          "Where its blocks are brought: `vmem` (the default) or `smem`.";
      over.fields.back().info.example = "smem";
    }
    return over;
  }();
  return section;
}

std::vector<PipelineSpec::Over> ReadPipelineOver(Reader& reader, YamlNode& node) {
  std::vector<PipelineSpec::Over> out;
  for (YamlEntry& entry : node.entries) {
    PipelineSpec::Over& over = out.emplace_back();
    over.operand = ReadReference(reader, entry.key);
    over.window.span = over.operand.span;
    if (entry.value.kind != YamlNode::Kind::kBad) {
      ReadKeys(reader, OverSection(), entry.value, over.operand.span, over.window);
    }
  }
  return out;
}

}  // namespace kiln
