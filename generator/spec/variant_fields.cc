// The keys of variants, where a spec lists them and where a lock file does.
#include <utility>

#include "generator/spec/field_forms.h"
#include "generator/spec/read_value.h"

namespace kiln {
namespace {

using namespace forms;

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

}  // namespace

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

}  // namespace kiln
