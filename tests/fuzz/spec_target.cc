// The text of a spec file: YAML, keys, the grammar inside of values, and all that follows from
// them.
#include "tests/fuzz/stages.h"
#include "tests/fuzz/support.h"
#include "tests/fuzz/target.h"

namespace kiln::fuzz {
namespace {

bool RunSpec(std::string_view input) {
  const auto source = std::make_shared<const Source>(kNoFile, std::string(input));
  Diagnostics found;
  const auto spec = ParseSpec(source, found);
  Expect((spec == nullptr) == found.HasErrors(), "a text is a spec unless there are errors");
  bool right = false;
  if (spec) {
    ToString(*spec);
    CheckOptions options;
    right = RunStages(*spec, options, input.size(), found) != nullptr;
    if (spec->instances.size() > 1) {
      options.instance = spec->instances.back().name.name;
      RunStages(*spec, options, input.size() + 1, found);
    }
  }
  ExpectWellFormed(found, *source);
  return right;
}

}  // namespace

Target SpecTarget() { return {"spec", 4096, true, &RunSpec, &SpecWords, &SpecTexts}; }

}  // namespace kiln::fuzz
