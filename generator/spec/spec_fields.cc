// The keys of a spec itself.
#include <utility>

#include "generator/spec/field_forms.h"
#include "generator/spec/read_value.h"

namespace kiln {
namespace {

using namespace forms;

ValueForm OperandsForm() {
  ValueForm alternatives = ListOf(OneOf({ArrayText(), Keys("operand")}));
  alternatives.label = "a list of alternatives";
  return FreeKeys("operand", OneOf({ArrayText(), Keys("operand"), std::move(alternatives)}));
}

ValueForm GoldenForm() {
  ValueForm array = ListOf(OneOf({Scalar("a value"), ListOf(Scalar("a value"))}));
  array.label = "an array";
  return OneOf({Scalar("a value"), std::move(array)});
}

std::vector<Field<Spec>> NameFields() {
  return {
      {{"kernel", Name(), kRequired,
        "The kernel's name, which is also the name of its file and of the C++ function.", "matmul"},
       [](Reader& r, YamlEntry& e, Spec& s) { s.kernel = ReadNewName(r, e.value.text); }},
      {{"doc", Scalar("text"), kOptional, "One sentence that says what the kernel computes.",
        "Blocked matmul with an f32 accumulator."},
       [](Reader&, YamlEntry& e, Spec& s) { s.doc = Trim(e.value.text).value; }},
      {{"params", FreeKeys("param", Expression()), kOptional,
        "Constants of generation: integers, floats, booleans, dtypes, or expressions of earlier "
        "ones. `--set` overrides them; they fold away in the generated code.",
        "{T: bf16, bm: 512}"},
       [](Reader& r, YamlEntry& e, Spec& s) { s.params = ReadNamedExprs(r, e.value, true); }},
      {{"dims",
        OneOf({WithCommas("names with commas", "[A-Za-z_][A-Za-z0-9_]*"), ListOf(Name()),
               FreeKeys("dimension", OneOf({Null(), Expression(), Keys("dim")}))}),
        kOptional,
        "Run-time dimensions. Optional: a bare name in an operand's shape declares one. A list "
        "closes the set of names; a mapping fixes (`k: 4096`) or constrains them.",
        "{m: {multiple_of: 8, max: 65536}}"},
       [](Reader& r, YamlEntry& e, Spec& s) { ReadDims(r, e.value, s); }},
      {{"require", OneOf({Scalar("a condition"), ListOf(Condition())}), kOptional,
        "Conditions checked at every call; one that fails is returned as a status.",
        "[\"p == cdiv(m, bm)\"]"},
       [](Reader& r, YamlEntry& e, Spec& s) { s.require = ReadExprs(r, e.value); }},
      {{"let", FreeKeys("name", Expression()), kOptional,
        "Named expressions over axes, dims, params, scalars, prefetch and earlier lets, for use "
        "in steps, index maps and the body.",
        "{t: i * 2}"},
       [](Reader& r, YamlEntry& e, Spec& s) {
         for (ParamSpec& p : ReadNamedExprs(r, e.value, true)) {
           s.lets.push_back({std::move(p.name), std::move(p.value)});
         }
       }},
  };
}

std::vector<Field<Spec>> ArgumentFields() {
  return {
      {{"scalars", FreeKeys("scalar", Name()), kOptional,
        "Values passed by value, held in SMEM: each name with its dtype.", "{group_offset: i32}"},
       [](Reader& r, YamlEntry& e, Spec& s) {
         for (const YamlEntry& scalar : e.value.entries) {
           ScalarSpec out{ReadNewName(r, scalar.key), ReadReference(r, scalar.value.text)};
           if (scalar.value.kind != YamlNode::Kind::kBad) s.scalars.push_back(std::move(out));
         }
       }},
      {{"prefetch", FreeKeys("array", ArrayText()), kOptional,
        "Scalar-prefetch arrays: in SMEM before the grid starts, readable in steps, index maps "
        "and the body.",
        "{ids: \"i32[tiles]\"}"},
       [](Reader& r, YamlEntry& e, Spec& s) { s.prefetch = ReadArrays(r, e.value); }},
      {{"arguments", FreeKeys("array", ArrayText()), kOptional,
        "Arrays of the caller that only the host code of `prepare` reads.",
        "{sizes: \"i32[groups]\"}"},
       [](Reader& r, YamlEntry& e, Spec& s) { s.arguments = ReadArrays(r, e.value); }},
      {{"prepare",
        OneOf({Scalar("a call"), Keys("prepare"),
               ListOf(OneOf({Scalar("a call"), Keys("prepare")}))}),
        kOptional,
        "Host code that makes prefetch arrays and scalars of `arguments` before the grid starts. "
        "What it makes is declared in `prefetch` or `scalars` and is then not an argument.",
        "[\"offsets, ids, tiles, visits = group_metadata(sizes, m, tm)\"]"},
       [](Reader& r, YamlEntry& e, Spec& s) { s.prepare = ReadPrepares(r, e.value); }},
      {{"grid", FreeKeys("axis", Expression()), kOptional,
        "The axes, major to minor, each with its number of steps: an integer expression over "
        "params, dims, scalars and prefetch. An axis name is its program id. `{}`: one step.",
        "{i: \"cdiv(m, bm)\"}"},
       [](Reader& r, YamlEntry& e, Spec& s) { s.grid = ReadGrid(r, e.value); }},
      {{"dimension_semantics",
        OneOf({WithCommas("words with commas", "parallel|arbitrary"),
               ListOf(Words({"parallel", "arbitrary"}))}),
        kOptional,
        "`parallel` or `arbitrary` (the default) for each axis; the parallel axes come first.",
        "parallel, arbitrary"},
       [](Reader& r, YamlEntry& e, Spec& s) {
         s.semantics = ReadSemantics(r, e.value);
         s.semantics_span = e.value.span;
       }},
      {{"inputs", OperandsForm(), kOptional,
        "The operands that are read. Arguments come in this order: `arguments`, `prefetch`, "
        "`scalars`, `inputs`, `outputs`.",
        "{x: \"f32[m]\"}"},
       [](Reader& r, YamlEntry& e, Spec& s) { s.inputs = ReadOperands(r, e, false); }},
      {{"outputs", OperandsForm(), kRequired, "The operands that are written; at least one.",
        "{z: \"f32[m]\"}"},
       [](Reader& r, YamlEntry& e, Spec& s) { s.outputs = ReadOperands(r, e, true); }},
  };
}

std::vector<Field<Spec>> CodeFields() {
  return {
      {{"scratch", FreeKeys("buffer", OneOf({ArrayText(), Keys("scratch")})), kOptional,
        "Buffers that live as long as the grid: an array type (in VMEM), or a mapping.",
        "{acc: \"f32[bm, bn]\"}"},
       [](Reader& r, YamlEntry& e, Spec& s) { s.scratch = ReadScratch(r, e.value); }},
      {{"body", Statements(), kRequired,
        "Statements run at every grid step: a literal block (`|`), or one statement in a line.",
        "z = x + y", "pipeline"},
       [](Reader& r, YamlEntry& e, Spec& s) { s.body = ReadStatements(r, e); }},
      {{"epilogue", Statements(), kOptional,
        "Statements run when `last(o)` holds for the outputs it assigns, fused into the "
        "write-back of the tile.",
        "z = T(acc)"},
       [](Reader& r, YamlEntry& e, Spec& s) { s.epilogue = ReadStatements(r, e); }},
      {{"pipeline", Keys("pipeline"), kOptional,
        "In place of a body: a grid of its own that each step walks, over operands that are in HBM "
        "(`memory: any`), as `emit_pipeline` of Pallas.",
        "{grid: {i: \"cdiv(m, bm)\"}, over: {x: {block: bm, index: i}}, body: z = x}"},
       [](Reader& r, YamlEntry& e, Spec& s) {
         s.pipeline.emplace().span = e.key.span();
         ReadKeys(r, PipelineSection(), e.value, e.key.span(), *s.pipeline);
       }},
      {{"variants", ListOf(Keys("variant")), kOptional,
        "The tiling table: the first entry whose condition holds at run time picks a compiled "
        "specialisation. `kiln tune` writes it.",
        "[{when: \"m <= 64\", set: {bm: 64}}]"},
       [](Reader& r, YamlEntry& e, Spec& s) { s.variants = ReadVariants(r, e.value); }},
      {{"vmap", Keys("vmap"), kOptional,
        "A leading parallel axis, and a squeezed dimension on the named operands that the spec's "
        "own shapes do not show.",
        "{axis: b, dim: batch, over: {x: 0, z: 0}}"},
       [](Reader& r, YamlEntry& e, Spec& s) {
         s.vmap.emplace().span = Cover(e.key.span(), e.value.span);
         ReadKeys(r, VmapSection(), e.value, e.key.span(), *s.vmap);
       }},
      {{"instances", FreeKeys("instance", FreeKeys("param", Expression())), kOptional,
        "Kernels generated instead of the bare one, each with its own params; "
        "`SPEC:instance` names one, the first is the default.",
        "{matmul_f32: {T: f32}}"},
       [](Reader& r, YamlEntry& e, Spec& s) { s.instances = ReadInstances(r, e.value); }},
      {{"golden", ListOf(FreeKeys("size", GoldenForm())), kOptional,
        "Sizes that the golden tests record and replay: dims, scalars and `seed`, and how arrays "
        "are filled where the default does not do.",
        "[{m: 256, n: 384, seed: 1}]"},
       [](Reader& r, YamlEntry& e, Spec& s) { s.golden = ReadGolden(r, e.value); }},
      {{"reference", FreeKeys("output", Expression()), kOptional,
        "What outputs ought to be, for `kiln check --reference` and the golden tests: an "
        "expression "
        "over whole arrays, computed in double precision; or `@z.npy`, an array of one size in a "
        "file beside the spec.",
        "{z: \"gelu(dot(x, y) + bias)\"}"},
       [](Reader& r, YamlEntry& e, Spec& s) { s.reference = ReadReferences(r, e.value); }},
  };
}

}  // namespace

const Section<Spec>& SpecSection() {
  static const Section<Spec> section = {
      "spec", "Keys of a spec", "A spec is one YAML mapping; it describes one family of kernels.",
      Join<Spec>({NameFields(), ArgumentFields(), CodeFields()})};
  return section;
}

}  // namespace kiln
