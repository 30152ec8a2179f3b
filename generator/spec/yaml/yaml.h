#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generator/text/diagnostic.h"
#include "generator/text/source.h"

/// YAML as text with positions: no anchors, tags or implicit types, keys always text.
namespace kiln {

/// What one spec file may hold; more is an error[syntax] that names the limit.
constexpr size_t kMaxYamlBytes = size_t{1} << 20;
constexpr size_t kMaxYamlScalar = size_t{256} << 10;
constexpr int kMaxYamlDepth = 32;
constexpr int kMaxYamlNodes = 20000;

enum class ScalarStyle { kPlain, kSingleQuoted, kDoubleQuoted, kLiteral, kFolded };

struct YamlEntry;

struct YamlNode {
  enum class Kind {
    kNull,      // `text` is "null" where it was written out (`null`, `~`), empty where it was not
    kScalar,    // text, style
    kSequence,  // items
    kMapping,   // entries
    kBad,       // already reported: readers pass it by in silence
  };
  Kind kind = Kind::kNull;
  ScalarStyle style = ScalarStyle::kPlain;
  Span span;
  Text text;
  std::vector<YamlNode> items;
  std::vector<YamlEntry> entries;
};

struct YamlEntry {
  Text key;
  YamlNode value;
};

/// The file's one document, a mapping; nothing when it cannot be read to its end. Duplicate
/// keys and the like are reported and left out (or kBad), and the rest is still returned.
std::optional<YamlNode> ParseYaml(const Source& source, Diagnostics& diagnostics);

// The parts of ParseYaml that look at the text themselves, yaml-cpp giving only where a node
// starts and what its value is.

/// A scalar's style, the file offset of every byte of its value, and where it ends.
struct LocatedScalar {
  ScalarStyle style = ScalarStyle::kPlain;
  Text text;
  uint32_t end = 0;    // past the closing quote
  bool closed = true;  // false: a quoted scalar without its closing quote
};
LocatedScalar LocateScalar(std::string_view source, uint32_t begin, std::string value);

/// What is wrong with the brackets of the flow collection that opens at `begin`.
struct FlowCheck {
  uint32_t end = 0;          // past the closing bracket
  std::vector<Span> splits;  // values that YAML cuts in two
  std::optional<Span> unclosed, mismatched;
};
FlowCheck CheckFlow(std::string_view source, uint32_t begin);

}  // namespace kiln
