// The keys of the smaller entries of a spec: scratch, dims, prepare and vmap.
#include <utility>

#include "generator/spec/field_forms.h"
#include "generator/spec/read_value.h"

namespace kiln {

using namespace forms;

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

}  // namespace kiln
