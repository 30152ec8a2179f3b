// The body of a kernel, in the place of that of a spec which is right otherwise: mutation then is
// spent on statements and expressions alone, and these get as far as generated text.
#include <map>

#include "tests/fuzz/stages.h"
#include "tests/fuzz/support.h"
#include "tests/fuzz/target.h"

namespace kiln::fuzz {
namespace {

/// An input's first byte says which spec: 'a' is the first. What is added goes to the end, or the
/// corpus loses its meaning.
constexpr const char* kSpecs[] = {
    "specs/matmul.yaml",
    "specs/stencil2d.yaml",
    "specs/gmm.yaml",
    "specs/segment_sum.yaml",
    "tests/pallas/specs/flash_attention.yaml",
    "tests/pallas/specs/dma_gather.yaml",
    "tests/pallas/specs/double_buffer.yaml",
    "tests/pallas/specs/int_arithmetic.yaml",
    "tests/pallas/specs/reductions.yaml",
    "tests/pallas/specs/rolled_sums.yaml",
    "tests/pallas/specs/mask_stores.yaml",
    "tests/pallas/specs/subscripts.yaml",
    "tests/pallas/specs/top_k.yaml",
    "tests/pallas/specs/conv2d_dots.yaml",
    "tests/pallas/specs/scalar_kinds.yaml",
    "tests/pallas/specs/histogram.yaml",
    "tests/pallas/specs/softmax_online.yaml",
    "tests/pallas/specs/shape_functions.yaml",
    "tests/pallas/specs/unary_smooth.yaml",
    "tests/pallas/specs/casts_from_float.yaml",
    "tests/pallas/specs/bitcasts.yaml",
    "tests/pallas/specs/threefry.yaml",
    "tests/pallas/specs/dma_store.yaml",
    "tests/pallas/specs/paged_attention.yaml",
    "tests/pallas/specs/vmap_matmul.yaml",
    "tests/pallas/specs/update_blocks.yaml",
};
constexpr std::string_view kKey = "\nbody: |\n";

/// A spec's text around its body, and its body without the indentation.
struct Wrapper {
  std::string before, body, after;
};

Wrapper Split(const std::string& text) {
  Wrapper wrapper;
  const size_t begin = text.find(kKey);
  Expect(begin != text.npos, "the spec has a body of several lines");
  wrapper.before = text.substr(0, begin + kKey.size());
  std::istringstream lines(text.substr(wrapper.before.size()));
  for (std::string line; std::getline(lines, line);) {
    const bool inside = wrapper.after.empty() && (line.empty() || line[0] == ' ');
    if (inside)
      wrapper.body += (line.empty() ? line : line.substr(2)) + "\n";
    else
      wrapper.after += line + "\n";
  }
  return wrapper;
}

const std::vector<Wrapper>& Wrappers() {
  static const std::vector<Wrapper> wrappers = [] {
    std::vector<Wrapper> all;
    for (const char* spec : kSpecs)
      all.push_back(Split(ReadText(fs::path(KILN_SOURCE_DIR) / spec)));
    return all;
  }();
  return wrappers;
}

std::string SpecWith(const Wrapper& wrapper, std::string_view body) {
  std::string text = wrapper.before + "  ";
  for (const char c : body) {
    text += c;
    if (c == '\n') text += "  ";
  }
  return text + "\n" + wrapper.after;
}

bool RunBody(std::string_view input) {
  if (input.empty()) return false;
  const size_t index = static_cast<size_t>(static_cast<unsigned char>(input[0] - 'a'));
  const Wrapper& wrapper = Wrappers()[index % Wrappers().size()];
  const std::string text = SpecWith(wrapper, input.substr(1));
  const auto source = std::make_shared<const Source>(kNoFile, text);
  Diagnostics found;
  bool right = false;
  if (const auto spec = ParseSpec(source, found)) {
    ToString(*spec);
    right = RunStages(*spec, {}, input.size(), found) != nullptr;
  }
  ExpectWellFormed(found, *source);
  return right;
}

std::vector<std::string> BodyWords() {
  std::vector<std::string> words = SpecWords();
  for (const char* word : {"when ",    "else:",    "else when ", "for r in range(0, ",
                           "let t = ", "var v = ", "copy ",      " -> ",
                           "wait ",    "assert ",  "first(",     "last(",
                           "ds(",      "axis=",    "keep=true",  " if ",
                           " else ",   "not ",     " and ",      " or ",
                           "inf",      "nan",      "**",         "//",
                           "<<",       ">>",       "+=",         "*=",
                           "...",      ".T"})
    words.emplace_back(word);
  return words;
}

std::vector<std::string> BodySeeds() {
  std::vector<std::string> seeds;
  for (size_t i = 0; i < Wrappers().size(); ++i)
    seeds.push_back(static_cast<char>('a' + i) + Wrappers()[i].body);
  return seeds;
}

}  // namespace

Target BodyTarget() { return {"body", 2048, true, &RunBody, &BodyWords, &BodySeeds}; }

}  // namespace kiln::fuzz
