// The keys of an operand: its window on an array, and what the window holds.
#include <utility>

#include "generator/spec/field_forms.h"
#include "generator/spec/read_value.h"

namespace kiln {
namespace {

using namespace forms;

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

}  // namespace

const Section<OperandSpec>& OperandSection() {
  static const Section<OperandSpec> section = {
      "operand", "Operands",
      "An entry of `inputs` or `outputs`: these keys; an array type alone (`x: f32[m]`), which is "
      "the whole array; or a list of alternatives, each with its `if`.",
      Join<OperandSpec>({WindowFields(), ContentFields()})};
  return section;
}

}  // namespace kiln
