#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// A template as a tree of lines and directives.
namespace kiln::render {

struct Item;
using Items = std::vector<Item>;

/// Text as it stands, or the name in `${…}`.
struct Piece {
  bool is_name = false;
  std::string text;
};

struct Item {
  enum class Kind { kLine, kFor, kIf, kFill, kInclude } kind = Kind::kLine;
  int line = 0;
  size_t column = 0;          // of the directive's //%; kInclude, kFill
  std::vector<Piece> pieces;  // kLine
  std::string name;           // kFor: the list; kIf: the flag; kInclude: the template
  std::string item;           // kFor: what the item is called
  bool negated = false;       // kIf
  Items body, orelse;
};

struct ParsedTemplate {
  std::string file;
  Items items;
};

/// Throws TemplateError.
std::shared_ptr<const ParsedTemplate> ParseTemplate(const std::string& file, std::string_view text);

[[noreturn]] void Fail(const ParsedTemplate& in, int line, const std::string& message);

}  // namespace kiln::render
