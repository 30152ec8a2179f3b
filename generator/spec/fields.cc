#include "generator/spec/fields.h"

#include <utility>

#include "generator/spec/read_value.h"

namespace kiln {
namespace {

ValueForm Scalar(std::string label, std::string pattern = "") {
  return {ValueForm::Kind::kScalar, std::move(label), {}, {}, std::move(pattern)};
}
/// `each` is a regular expression.
ValueForm WithCommas(std::string label, const std::string& each) {
  return Scalar(std::move(label), "^\\s*(" + each + ")(\\s*,\\s*(" + each + "))*\\s*$");
}
ValueForm Expression() { return Scalar("an expression"); }
ValueForm Condition() { return Scalar("a condition"); }
ValueForm ArrayText() {
  return Scalar("an array type", "^\\s*[A-Za-z_][A-Za-z0-9_]*\\s*(\\[[^{}]*\\])?\\s*$");
}
ValueForm Statements() { return Scalar("statements"); }
ValueForm Name() { return {ValueForm::Kind::kName, "", {}, {}}; }
ValueForm Null() { return {ValueForm::Kind::kNull, "", {}, {}}; }
ValueForm Words(std::vector<std::string> words) {
  return {ValueForm::Kind::kWord, "", std::move(words), {}};
}
ValueForm ListOf(ValueForm item) { return {ValueForm::Kind::kList, "", {}, {std::move(item)}}; }
ValueForm FreeKeys(std::string of_what, ValueForm value) {
  return {ValueForm::Kind::kFreeKeys, std::move(of_what), {}, {std::move(value)}};
}
ValueForm Keys(std::string section) { return {ValueForm::Kind::kKeys, std::move(section), {}, {}}; }
ValueForm OneOf(std::vector<ValueForm> forms) {
  return {ValueForm::Kind::kOneOf, "", {}, std::move(forms)};
}

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

constexpr bool kRequired = true;
constexpr bool kOptional = false;

// Every table below lists: name, form, required, description, example; then the reader.

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
       [](Reader& r, YamlEntry& e, Spec& s) {
         for (ParamSpec& p : ReadNamedExprs(r, e.value, true)) {
           s.grid.push_back({std::move(p.name), std::move(p.value)});
         }
       }},
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
        "z = x + y"},
       [](Reader& r, YamlEntry& e, Spec& s) { s.body = ReadStatements(r, e); }},
      {{"epilogue", Statements(), kOptional,
        "Statements run when `last(o)` holds for the outputs it assigns, fused into the "
        "write-back of the tile.",
        "z = T(acc)"},
       [](Reader& r, YamlEntry& e, Spec& s) { s.epilogue = ReadStatements(r, e); }},
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

std::vector<Field<OperandSpec>> WindowFields() {
  using Op = OperandSpec;
  return {
      {{"array", ArrayText(), kOptional,
        "`dtype[shape]`, rank 0 to 8; a bare dtype is rank 0. Needed unless `view` is given.",
        "T[m, k]"},
       [](Reader& r, YamlEntry& e, Op& o) {
         ArrayType type;
         if (ParseArrayType(e.value.text, r.diagnostics, type)) o.array = std::move(type);
       }},
      {{"block",
        OneOf({Scalar("block entries with commas"), Null(),
               ListOf(OneOf({Null(), Scalar("a block entry")}))}),
        kOptional,
        "One entry a dimension: an integer expression, `all`, `null`, `element(…)` or "
        "`bounded(…)`. Without it the block is the whole array.",
        "bm, bk"},
       [](Reader& r, YamlEntry& e, Op& o) {
         o.block = ReadBlock(r, e.value);
         o.block_span = e.value.span;
       }},
      {{"index", OneOf({Scalar("expressions with commas"), ListOf(Expression())}), kOptional,
        "One integer expression a dimension, in units of blocks: any arithmetic over axes, params, "
        "dims, scalars and prefetch. Without it: zeros.",
        "i, l"},
       [](Reader& r, YamlEntry& e, Op& o) {
         o.index = ReadExprs(r, e.value);
         o.index_span = e.value.span;
       }},
      {{"like", Name(), kOptional,
        "Takes block and index from another operand for the dimensions they share by name; the "
        "others are whole.",
        "z"},
       [](Reader& r, YamlEntry& e, Op& o) { o.like = ReadReference(r, e.value.text); }},
      {{"view", Name(), kOptional,
        "Another window on the array of another operand, and not another argument; keys not given "
        "come from it.",
        "mid"},
       [](Reader& r, YamlEntry& e, Op& o) { o.view = ReadReference(r, e.value.text); }},
  };
}

std::vector<Field<OperandSpec>> ContentFields() {
  using Op = OperandSpec;
  return {
      {{"memory", Words({"vmem", "smem", "any"}), kOptional,
        "`vmem` (the default: pipelined), `smem`, or `any` (stays in HBM; copied, never "
        "subscripted).",
        "any"},
       [](Reader&, YamlEntry& e, Op& o) {
         o.memory = {e.value.text.value, e.value.text.span()};
       }},
      {{"pad", Expression(), kOptional,
        "The value read past the array's edge and in a halo; without it such elements are "
        "undefined.",
        "0"},
       [](Reader& r, YamlEntry& e, Op& o) { o.pad = ReadExpr(r, e.value); }},
      {{"init", Expression(), kOptional,
        "On outputs: the value the block holds at the start of each stay, and that elements no "
        "step writes end with. `undefined` lets them stay undefined.",
        "0"},
       [](Reader& r, YamlEntry& e, Op& o) {
         o.init_undefined = Trim(e.value.text).value == "undefined";
         if (!o.init_undefined) o.init = ReadExpr(r, e.value);
       }},
      {{"buffers", Expression(), kOptional, "The depth of the pipeline; 2 unless given.", "3"},
       [](Reader& r, YamlEntry& e, Op& o) { o.buffers = ReadExpr(r, e.value); }},
      {{"alias", Name(), kOptional,
        "On an output: the input whose memory it takes over. Blocks that no step visits keep the "
        "input's values.",
        "x"},
       [](Reader& r, YamlEntry& e, Op& o) { o.alias = ReadReference(r, e.value.text); }},
      {{"if", Condition(), kOptional,
        "In a list of alternatives: the first whose condition of generation time holds is the "
        "operand; none: the operand is absent.",
        "T == bf16"},
       [](Reader& r, YamlEntry& e, Op& o) { o.condition = ReadExpr(r, e.value); }},
  };
}

template <typename T>
std::vector<Field<T>> Join(std::vector<std::vector<Field<T>>> parts) {
  std::vector<Field<T>> all;
  for (auto& part : parts) {
    for (auto& field : part) all.push_back(std::move(field));
  }
  return all;
}

/// Of variants, wherever they stand.
template <typename V>
std::vector<Field<V>> VariantFields() {
  return {
      {{"when", Condition(), kRequired, "A condition on the sizes of a call.", "\"m <= 64\""},
       [](Reader& r, YamlEntry& e, V& v) { v.when = ReadExpr(r, e.value); }},
      {{"set", FreeKeys("param", Expression()), kRequired, "The params of this variant.",
        "{bm: 64, bk: 4096}"},
       [](Reader& r, YamlEntry& e, V& v) { v.set = ReadNamedExprs(r, e.value, false); }},
      {{"blocks", Words({"own", "fixed"}), kOptional,
        "Where no result depends on a block's size, `--mode=direct` takes sizes of its `own` (the "
        "default). `fixed`: it takes those of this variant.",
        "fixed"},
       [](Reader&, YamlEntry& e, V& v) { v.fixed_blocks = e.value.text.value == "fixed"; }},
  };
}

template <typename T>
SectionInfo InfoOf(const Section<T>& section) {
  SectionInfo info{section.id, section.title, section.description, {}};
  for (const Field<T>& field : section.fields) info.fields.push_back(field.info);
  return info;
}

}  // namespace

const Section<Spec>& SpecSection() {
  static const Section<Spec> section = {
      "spec", "Keys of a spec", "A spec is one YAML mapping; it describes one family of kernels.",
      Join<Spec>({NameFields(), ArgumentFields(), CodeFields()})};
  return section;
}

const Section<OperandSpec>& OperandSection() {
  static const Section<OperandSpec> section = {
      "operand", "Operands",
      "An entry of `inputs` or `outputs`: these keys; an array type alone (`x: f32[m]`), which is "
      "the whole array; or a list of alternatives, each with its `if`.",
      Join<OperandSpec>({WindowFields(), ContentFields()})};
  return section;
}

const Section<ScratchSpec>& ScratchSection() {
  using S = ScratchSpec;
  static const Section<S> section = {
      "scratch",
      "Scratch buffers",
      "An entry of `scratch`: an array type alone, or these keys. A semaphore has no array.",
      {
          {{"array", ArrayText(), kOptional, "`dtype[shape]` of the buffer.", "i32[8]"},
           [](Reader& r, YamlEntry& e, S& s) {
             ArrayType type;
             if (ParseArrayType(e.value.text, r.diagnostics, type)) s.array = std::move(type);
           }},
          {{"memory", Words({"vmem", "smem"}), kOptional, "`vmem` (the default) or `smem`.",
            "smem"},
           [](Reader&, YamlEntry& e, S& s) {
             s.memory = {e.value.text.value, e.value.text.span()};
           }},
          {{"semaphore", Words({"dma"}), kOptional, "Makes the entry a semaphore for copies.",
            "dma"},
           [](Reader&, YamlEntry& e, S& s) {
             s.semaphore = {e.value.text.value, e.value.text.span()};
           }},
          {{"count", OneOf({Scalar("expressions with commas"), ListOf(Expression())}), kOptional,
            "How many semaphores, along one dimension or several: `2, 4` are named `sem[i, j]`. 1 "
            "unless given.",
            "2"},
           [](Reader& r, YamlEntry& e, S& s) { s.count = ReadExprs(r, e.value); }},
      }};
  return section;
}

const Section<DimSpec>& DimSection() {
  using D = DimSpec;
  static const Section<D> section = {
      "dim",
      "Constraints of a dimension",
      "An entry of `dims`: an integer that fixes it, nothing, or these keys, checked at each call.",
      {
          {{"multiple_of", Expression(), kOptional, "What the size is a multiple of.", "8"},
           [](Reader& r, YamlEntry& e, D& d) { d.multiple_of = ReadExpr(r, e.value); }},
          {{"min", Expression(), kOptional, "The smallest size.", "1"},
           [](Reader& r, YamlEntry& e, D& d) { d.min = ReadExpr(r, e.value); }},
          {{"max", Expression(), kOptional, "The largest size.", "65536"},
           [](Reader& r, YamlEntry& e, D& d) { d.max = ReadExpr(r, e.value); }},
      }};
  return section;
}

const Section<PrepareSpec>& PrepareSection() {
  using P = PrepareSpec;
  static const Section<P> section = {
      "prepare",
      "Host code",
      "An entry of `prepare`: a call of the registry as text, or these keys for a function of your "
      "own.",
      {
          {{"call", Scalar("a call"), kRequired, "What is called, and the names of what it makes.",
            "\"ids = my_pages(table, m)\""},
           [](Reader& r, YamlEntry& e, P& p) { ReadPrepare(r, e.value, p); }},
          {{"header", Scalar("a header's name"), kOptional,
            "The C++ header that declares your own function.", "my_pages.h"},
           [](Reader& r, YamlEntry& e, P& p) { p.header = ReadHeader(r, e.value); }},
      }};
  return section;
}

const Section<VariantSpec>& VariantSection() {
  static const Section<VariantSpec> section = {
      "variant", "Variants", "An entry of `variants`; the first whose condition holds is used.",
      VariantFields<VariantSpec>()};
  return section;
}

const Section<LockSpec>& LockSection() {
  using L = LockSpec;
  static const Section<L> section = {
      "lock",
      "Keys of a lock file",
      "`matmul.lock.yaml` beside `matmul.yaml` is written by `kiln tune` and read by every command "
      "and build that reads the spec (`--no-lock`: not).",
      {
          {{"lock", Name(), kRequired, "The kernel's name.", "matmul"},
           [](Reader& r, YamlEntry& e, L& l) { l.kernel = ReadReference(r, e.value.text); }},
          {{"variants", ListOf(Keys("entry")), kRequired,
            "What was found, in front of the variants of the spec itself.",
            "[{when: \"m == 64\", set: {bm: 64}}]"},
           [](Reader& r, YamlEntry& e, L& l) { l.variants = ReadLockEntries(r, e.value); }},
      }};
  return section;
}

const Section<LockEntry>& LockEntrySection() {
  using L = LockEntry;
  static const Section<L> section = {
      "entry", "Variants of a lock file",
      "An entry of its `variants`: those of a spec have the same keys, but for the first and the "
      "last.",
      Join<L>(
          {{{{"instance", Name(), kOptional,
              "Which of the spec's instances it is for; needed if there are any.", "matmul_f32"},
             [](Reader& r, YamlEntry& e, L& l) { l.instance = ReadReference(r, e.value.text); }}},
           VariantFields<L>(),
           {{{"note", Scalar("text"), kOptional, "For readers: what was measured, and where.",
              "12.3 ms, 1.20 times as fast as the spec alone"},
             [](Reader&, YamlEntry& e, L& l) { l.note = Trim(e.value.text).value; }}}})};
  return section;
}

const Section<VmapSpec>& VmapSection() {
  using V = VmapSpec;
  static const Section<V> section = {
      "vmap",
      "Batching",
      "The keys of `vmap`.",
      {
          {{"axis", Name(), kRequired, "The name of the leading parallel axis.", "b"},
           [](Reader& r, YamlEntry& e, V& v) { v.axis = ReadNewName(r, e.value.text); }},
          {{"dim", Name(), kRequired, "The name of the dimension it walks.", "batch"},
           [](Reader& r, YamlEntry& e, V& v) { v.dim = ReadNewName(r, e.value.text); }},
          {{"over", FreeKeys("operand", Expression()), kRequired,
            "The operands that have the dimension, and where it stands in their shapes.",
            "{x: 0, z: 0}"},
           [](Reader& r, YamlEntry& e, V& v) { v.over = ReadOver(r, e.value); }},
      }};
  return section;
}

std::vector<SectionInfo> Sections() {
  return {InfoOf(SpecSection()), InfoOf(OperandSection()), InfoOf(ScratchSection()),
          InfoOf(DimSection()),  InfoOf(PrepareSection()), InfoOf(VariantSection()),
          InfoOf(VmapSection())};
}

std::vector<SectionInfo> LockSections() {
  return {InfoOf(LockSection()), InfoOf(LockEntrySection())};
}

}  // namespace kiln
