// A lock file beside the spec of a matmul: what its variants set reaches checker and planner.
#include "generator/spec/fields.h"
#include "generator/spec/lock.h"
#include "tests/fuzz/stages.h"
#include "tests/fuzz/support.h"
#include "tests/fuzz/target.h"

namespace kiln::fuzz {
namespace {

const Spec& Matmul() {
  static const std::unique_ptr<Spec> spec = [] {
    Diagnostics found;
    const fs::path path = fs::path(KILN_SOURCE_DIR) / "specs/matmul.yaml";
    return ParseSpec(std::make_shared<const Source>("matmul.yaml", ReadText(path)), found);
  }();
  return *spec;
}

bool RunLock(std::string_view input) {
  Spec spec = Matmul();
  const auto source = std::make_shared<const Source>("matmul.lock.yaml", std::string(input));
  Diagnostics found;
  bool right = false;
  if (AttachLock(spec, source, found)) {
    const std::string text = ToString(*spec.lock);
    Spec again = Matmul();
    Diagnostics none;
    const bool read =
        AttachLock(again, std::make_shared<const Source>("again.lock.yaml", text), none);
    Expect(read, "a lock that is written can be read");
    Expect(ToString(*again.lock) == text, "a lock that is read again says the same");
    CheckOptions options;
    options.instance = spec.instances[input.size() % spec.instances.size()].name.name;
    right = RunStages(spec, options, input.size(), found) != nullptr;
  }
  ExpectWellFormed(found, *spec.source);
  return right;
}

std::vector<std::string> LockWords() {
  std::vector<std::string> words;
  for (const SectionInfo& section : LockSections()) {
    for (const FieldInfo& field : section.fields) {
      words.push_back(field.name + ": ");
      words.push_back("\n    " + field.name + ": " + field.example + "\n");
    }
  }
  for (const char* word : {"matmul_bf16", "matmul_f32", "bm: ", "bn: ", "bk: ", "T: f32",
                           "m == ", "n <= ", " and ", "fixed", "cdiv(m, 8)", "2147483648"})
    words.emplace_back(word);
  return words;
}

std::vector<std::string> LockSeeds() {
  const std::string head = "lock: matmul\nvariants:\n";
  return {
      head +
          "  - instance: matmul_f32\n    when: \"m == 256 and n == 384\"\n"
          "    set: {bm: 64, bn: 128, bk: 256}\n",
      head +
          "  - instance: matmul_bf16\n    when: m <= 64\n    set: {bm: 16}\n    blocks: fixed\n"
          "    note: \"1.2 x of the spec's own\"\n"
          "  - instance: matmul_bf16\n    when: k > 4096 or n % 128 != 0\n    set: {T: f32}\n",
      "lock: matmul\nvariants: []\n",
  };
}

}  // namespace

Target LockTarget() { return {"lock", 1024, true, &RunLock, &LockWords, &LockSeeds}; }

}  // namespace kiln::fuzz
