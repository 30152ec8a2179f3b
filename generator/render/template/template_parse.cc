#include "generator/render/template/template_parse.h"

#include <algorithm>
#include <sstream>

#include "generator/render/template/template.h"

namespace kiln::render {
namespace {

constexpr std::string_view kMark = "//%";

bool IsName(std::string_view text, bool dots) {
  bool at_start = true;
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    const bool digit = c >= '0' && c <= '9';
    if (c == '.' && dots && !at_start) {
      at_start = true;
      continue;
    }
    if (!letter && !(digit && !at_start)) return false;
    at_start = false;
  }
  return !at_start;
}

std::vector<std::string> Words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

class Parser {
 public:
  explicit Parser(ParsedTemplate& out) : out_(out) { blocks_.push_back({&out.items, nullptr}); }

  void Parse(std::string_view text) {
    while (!text.empty()) {
      const size_t end = text.find('\n');
      ++line_;
      Line(std::string(text.substr(0, end)));
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    if (blocks_.size() > 1) {
      const Item& open = *blocks_.back().owner;
      Fail(out_, open.line, "`" + Spelt(open) + "` has no `//% end`");
    }
  }

 private:
  /// An open block: where items go, and the directive that opened it.
  struct Block {
    Items* items;
    Item* owner;
    bool in_else = false;
  };

  static std::string Spelt(const Item& item) {
    if (item.kind == Item::Kind::kFill) return "//% fill";
    return item.kind == Item::Kind::kFor ? "//% for " + item.item + " in " + item.name
                                         : "//% if " + item.name;
  }

  [[noreturn]] void Error(const std::string& message) const { Fail(out_, line_, message); }

  void Line(std::string text) {
    const size_t start = text.find_first_not_of(' ');
    if (start != std::string::npos && text.compare(start, kMark.size(), kMark) == 0) {
      Directive(start, text.substr(start + kMark.size()));
      return;
    }
    if (text.find(kMark) != std::string::npos) Error("a directive needs a line of its own");
    if (text.find_first_of("\t\r") != std::string::npos) {
      Error("a tab or carriage return; columns are counted in spaces");
    }
    Item& item = Append(Item::Kind::kLine);
    item.pieces = Pieces(text);
  }

  std::vector<Piece> Pieces(const std::string& text) const {
    std::vector<Piece> pieces;
    size_t at = 0;
    while (at < text.size()) {
      const size_t open = text.find("${", at);
      if (open != at) pieces.push_back({false, text.substr(at, open - at)});
      if (open == std::string::npos) break;
      const size_t close = std::min(text.find('}', open), text.size());
      const std::string name = text.substr(open + 2, close - open - 2);
      if (close == text.size() || !IsName(name, /*dots=*/true)) {
        Error("`" + text.substr(open, close - open + 1) + "` is not `${name}`");
      }
      pieces.push_back({true, name});
      at = close + 1;
    }
    return pieces;
  }

  Item& Append(Item::Kind kind) {
    Items& items = *blocks_.back().items;
    items.emplace_back();
    items.back().kind = kind;
    items.back().line = line_;
    return items.back();
  }

  /// The pointers of outer blocks stay good: a list of items grows only while no block in it is
  /// open.
  void Open(Item& item) { blocks_.push_back({&item.body, &item}); }

  void Directive(size_t column, const std::string& text) {
    const std::vector<std::string> words = Words(text);
    const std::string what = words.empty() ? "" : words[0];
    const size_t count = words.size();
    if (what == "for" && count == 4 && words[2] == "in" && IsName(words[1], false) &&
        IsName(words[3], true)) {
      Item& item = Append(Item::Kind::kFor);
      item.item = words[1];
      item.name = words[3];
      Open(item);
    } else if (what == "if" && IsName(words.back(), true) &&
               (count == 2 || (count == 3 && words[1] == "not"))) {
      Item& item = Append(Item::Kind::kIf);
      item.negated = count == 3;
      item.name = words.back();
      Open(item);
    } else if (what == "fill" && count == 1) {
      Item& item = Append(Item::Kind::kFill);
      item.column = column;
      Open(item);
    } else if (what == "include" && count == 2 && IsName(words[1], true)) {
      Item& item = Append(Item::Kind::kInclude);
      item.column = column;
      item.name = words[1];
    } else if (what == "else" && count == 1) {
      Else();
    } else if (what == "end" && count == 1) {
      if (blocks_.size() == 1) Error("`//% end` without `for`, `if` or `fill`");
      blocks_.pop_back();
    } else {
      Error("`" + std::string(kMark) + text +
            "` is none of: for NAME in LIST, if FLAG, if not FLAG, else, fill, end, include PART");
    }
  }

  void Else() {
    Block& block = blocks_.back();
    if (!block.owner || block.owner->kind != Item::Kind::kIf) Error("`//% else` without `if`");
    if (block.in_else) Error("a second `//% else`");
    block.in_else = true;
    block.items = &block.owner->orelse;
  }

  ParsedTemplate& out_;
  std::vector<Block> blocks_;
  int line_ = 0;
};

}  // namespace

void Fail(const ParsedTemplate& in, int line, const std::string& message) {
  throw TemplateError(in.file + ":" + std::to_string(line) + ": " + message);
}

std::shared_ptr<const ParsedTemplate> ParseTemplate(const std::string& file,
                                                    std::string_view text) {
  auto parsed = std::make_shared<ParsedTemplate>();
  parsed->file = file;
  Parser(*parsed).Parse(text);
  return parsed;
}

}  // namespace kiln::render
