// The text of a spec file: YAML, keys, the grammar inside of values, and all that follows from
// them.
#include "tests/fuzz/stages.h"
#include "tests/fuzz/support.h"
#include "tests/fuzz/target.h"

namespace kiln::fuzz {
namespace {

void RunSpec(std::string_view input) {
  const auto source = std::make_shared<const Source>("spec.yaml", std::string(input));
  Diagnostics found;
  const auto spec = ParseSpec(source, found);
  Expect((spec == nullptr) == found.HasErrors(), "a text is a spec unless there are errors");
  if (spec) {
    ToString(*spec);
    CheckOptions options;
    RunStages(*spec, options, input.size(), found);
    if (spec->instances.size() > 1) {
      options.instance = spec->instances.back().name.name;
      RunStages(*spec, options, input.size() + 1, found);
    }
  }
  ExpectWellFormed(found, *source);
}

}  // namespace

Target SpecTarget() { return {"spec", 4096, &RunSpec, &SpecWords, &SpecTexts}; }

}  // namespace kiln::fuzz
