#include "generator/render/template/template.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "generator/render/template/template_parse.h"
#include "generator/text/diagnostic.h"

namespace kiln::render {

// Fields ------------------------------------------------------------------------------------------

Fields::Value& Fields::New(const std::string& name) {
  Value& value = values_[name];
  if (value.kind != Value::Kind::kNew) {
    throw std::logic_error("the template field `" + name + "` is set twice");
  }
  return value;
}

Fields& Fields::Set(const std::string& name, std::string text) {
  Value& value = New(name);
  value.kind = Value::Kind::kText;
  value.text = std::move(text);
  return *this;
}

Fields& Fields::SetFlag(const std::string& name, bool on) {
  Value& value = New(name);
  value.kind = Value::Kind::kFlag;
  value.flag = on;
  return *this;
}

Fields& Fields::SetList(const std::string& name, std::vector<Fields> items) {
  Value& value = New(name);
  value.kind = Value::Kind::kList;
  value.items = std::move(items);
  return *this;
}

Fields& Fields::Add(const std::string& list) {
  if (!Find(list)) SetList(list, {});
  Value& value = values_[list];
  if (value.kind != Value::Kind::kList) {
    throw std::logic_error("the template field `" + list + "` is not a list");
  }
  return value.items.emplace_back();
}

Fields& Fields::Group(const std::string& name) {
  if (!Find(name)) {
    Value& value = New(name);
    value.kind = Value::Kind::kGroup;
    value.items.resize(1);
  }
  Value& value = values_[name];
  if (value.kind != Value::Kind::kGroup) {
    throw std::logic_error("the template field `" + name + "` is not a group");
  }
  return value.items[0];
}

const Fields::Value* Fields::Find(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

std::vector<std::string> Fields::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : values_) names.push_back(name);
  return names;
}

// Rendering ---------------------------------------------------------------------------------------

namespace {

using Parsed = std::map<std::string, std::shared_ptr<const ParsedTemplate>>;
using Kind = Fields::Value::Kind;

/// Generated code nests as deep as a spec's body does; deeper is a part that includes itself
/// without end.
constexpr int kMaxDepth = 200;

constexpr size_t kColumns = 100;

std::string_view Name(Kind kind) {
  switch (kind) {
    case Kind::kText:
      return "a text";
    case Kind::kFlag:
      return "a flag";
    case Kind::kList:
      return "a list";
    default:
      return "a group of fields";
  }
}

/// By its whole name, or by the stem if only one has it. Null: none or several.
const ParsedTemplate* FindTemplate(const Parsed& parsed, const std::string& name) {
  if (const auto exact = parsed.find(name); exact != parsed.end()) return exact->second.get();
  const ParsedTemplate* found = nullptr;
  for (const auto& [key, value] : parsed) {
    if (key.substr(0, key.find('.')) != name) continue;
    if (found) return nullptr;
    found = value.get();
  }
  return found;
}

/// The column behind the bracket that the text leaves open.
size_t ColumnInBracket(std::string_view text) {
  std::vector<size_t> open{0};
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '(' || text[at] == '{') open.push_back(at + 1);
    if ((text[at] == ')' || text[at] == '}') && open.size() > 1) open.pop_back();
  }
  return open.back();
}

/// The parts one after the other, in lines of at most `columns` where they have room.
std::vector<std::string> InLines(const std::vector<std::string>& parts, bool break_first,
                                 size_t indent, size_t columns) {
  std::vector<std::string> lines{parts[0]};
  for (size_t p = 1; p < parts.size(); ++p) {
    const char end = lines.back().back();
    const bool opens = end == '(' || end == '{', closes = parts[p][0] == ')' || parts[p][0] == '}';
    const std::string space = opens || closes ? "" : " ";
    const bool fits = lines.back().size() + space.size() + parts[p].size() <= columns;
    if (fits && !(break_first && p == 1)) {
      lines.back() += space + parts[p];
    } else {
      lines.push_back(std::string(indent, ' ') + parts[p]);
    }
  }
  return lines;
}

/// In as few lines as they take: behind the open bracket, or in lines of their own.
std::string Filled(const std::vector<std::string>& parts, size_t columns) {
  if (parts.empty()) return "";
  auto lines = InLines(parts, false, ColumnInBracket(parts[0]), columns);
  auto own = InLines(parts, true, 4, columns);
  const auto too_long = [&](const std::string& line) { return line.size() > columns; };
  if (own.size() < lines.size() || std::any_of(lines.begin(), lines.end(), too_long)) lines = own;
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "\n") + line;
  return text;
}

class Renderer {
 public:
  Renderer(const Parsed& parsed, const Fields& fields) : parsed_(parsed) {
    scopes_.push_back({"", &fields});
  }

  void Render(const ParsedTemplate& part) {
    const ParsedTemplate* outer = part_;
    part_ = &part;
    Run(part.items);
    part_ = outer;
  }

  std::string Take() { return std::move(out_); }

 private:
  struct Scope {
    std::string item;  // the name of a loop's item; empty: the outermost fields
    const Fields* fields;
  };

  [[noreturn]] void Error(int line, const std::string& message) const {
    Fail(*part_, line, message);
  }

  void Run(const Items& items) {
    for (const Item& item : items) {
      switch (item.kind) {
        case Item::Kind::kLine:
          Line(item);
          break;
        case Item::Kind::kFor:
          For(item);
          break;
        case Item::Kind::kIf: {
          const bool set = Find(item.line, item.name, Kind::kFlag).flag;
          Run(set != item.negated ? item.body : item.orelse);
          break;
        }
        case Item::Kind::kFill:
          Fill(item);
          break;
        case Item::Kind::kInclude:
          Include(item);
          break;
      }
    }
  }

  void For(const Item& loop) {
    for (const Fields& fields : Find(loop.line, loop.name, Kind::kList).items) {
      scopes_.push_back({loop.item, &fields});
      Run(loop.body);
      scopes_.pop_back();
    }
  }

  void Include(const Item& item) {
    if (++depth_ > kMaxDepth) {
      Error(item.line, "`" + item.name + "` is included " + std::to_string(kMaxDepth) +
                           " levels deep: does it include itself without end?");
    }
    indent_ += item.column;
    Render(*FindTemplate(parsed_, item.name));
    indent_ -= item.column;
    --depth_;
  }

  void Fill(const Item& item) {
    std::string before = std::exchange(out_, "");
    const size_t indent = std::exchange(indent_, 0);
    Run(item.body);
    std::istringstream lines(std::exchange(out_, std::move(before)));
    indent_ = indent + item.column;
    std::vector<std::string> parts;
    for (std::string line; std::getline(lines, line);) {
      const size_t begin = line.find_first_not_of(' ');
      if (begin != std::string::npos) parts.push_back(line.substr(begin));
    }
    Emit(Filled(parts, kColumns - indent_));
    indent_ = indent;
  }

  /// A line whose substitutions leave nothing is not there.
  void Line(const Item& item) {
    std::string line;
    bool named = false, texts = false;
    for (const Piece& piece : item.pieces) {
      if (!piece.is_name) {
        texts |= piece.text.find_first_not_of(' ') != std::string::npos;
        line += piece.text;
        continue;
      }
      named = true;
      Append(line, Find(item.line, piece.text, Kind::kText).text);
    }
    const size_t last = line.find_last_not_of(' ');
    line.resize(last == std::string::npos ? 0 : last + 1);
    if (named && !texts && line.empty()) return;
    Emit(line);
  }

  /// The further lines of a text start in the column of its first, and in a comment if that does.
  static void Append(std::string& line, std::string_view text) {
    if (!text.empty() && text.back() == '\n') text.remove_suffix(1);
    const size_t start = line.rfind('\n') + 1;  // npos + 1 is 0
    std::string lead = line.substr(start);
    const size_t first = lead.find_first_not_of(' ');
    const bool comment = first != std::string::npos && lead.compare(first, 2, "//") == 0;
    const size_t keep = comment ? std::min(lead.find_first_not_of('/', first), lead.size()) : 0;
    std::fill(lead.begin() + static_cast<std::ptrdiff_t>(keep), lead.end(), ' ');
    for (const char c : text) {
      line += c;
      if (c == '\n') line += lead;
    }
  }

  void Emit(std::string_view lines) {
    for (;;) {
      const size_t end = lines.find('\n');
      std::string_view line = lines.substr(0, end);
      while (!line.empty() && line.back() == ' ') line.remove_suffix(1);
      if (!line.empty()) out_.append(indent_, ' ');
      out_ += line;
      out_ += '\n';
      if (end == std::string_view::npos) return;
      lines.remove_prefix(end + 1);
    }
  }

  const Fields::Value& Find(int line, const std::string& name, Kind kind) const {
    const size_t dot = name.find('.');
    const Fields::Value* value = nullptr;
    const Fields* in = nullptr;
    FindFirst(name.substr(0, dot), dot != std::string::npos, value, in);
    for (size_t at = dot; at != std::string::npos && (value || in);) {
      const size_t next = name.find('.', at + 1);
      if (value && value->kind != Kind::kGroup) {
        Error(line, "`" + name.substr(0, at) + "` is " + std::string(Name(value->kind)) +
                        ", and has no `" + name.substr(at + 1) + "`");
      }
      if (value) in = &value->items[0];
      value = in->Find(name.substr(at + 1, next - at - 1));
      if (!value) Unknown(line, name, name.substr(at + 1, next - at - 1), in->Names());
      at = next;
    }
    if (!value && !in) Unknown(line, name, name, Visible());
    const Kind is = value ? value->kind : Kind::kGroup;
    if (is != kind) {
      Error(line,
            "`" + name + "` is " + std::string(Name(is)) + ", not " + std::string(Name(kind)));
    }
    return *value;
  }

  /// From the innermost scope outwards: a field, or the item of a loop, of which more is asked.
  void FindFirst(const std::string& name, bool dotted, const Fields::Value*& value,
                 const Fields*& item) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      if (dotted && scope->item == name) {
        item = scope->fields;
        return;
      }
      if ((value = scope->fields->Find(name))) return;
      if (scope->item == name) {
        item = scope->fields;
        return;
      }
    }
  }

  std::vector<std::string> Visible() const {
    std::vector<std::string> names;
    for (const Scope& scope : scopes_) {
      const std::vector<std::string> more = scope.fields->Names();
      names.insert(names.end(), more.begin(), more.end());
    }
    return names;
  }

  [[noreturn]] void Unknown(int line, const std::string& name, const std::string& part,
                            const std::vector<std::string>& candidates) const {
    const std::string hint = DidYouMean(part, candidates);
    Error(line, "nothing is called `" + name + "`" + (hint.empty() ? "" : "; " + hint));
  }

  const Parsed& parsed_;
  const ParsedTemplate* part_ = nullptr;
  std::vector<Scope> scopes_;
  std::string out_;
  size_t indent_ = 0;
  int depth_ = 0;
};

void CheckIncludes(const ParsedTemplate& in, const Items& items, const Parsed& parsed) {
  for (const Item& item : items) {
    if (item.kind == Item::Kind::kInclude && !FindTemplate(parsed, item.name)) {
      std::vector<std::string> names;
      for (const auto& [name, value] : parsed) names.push_back(name);
      const std::string hint = DidYouMean(item.name, names);
      Fail(in, item.line,
           "there is not exactly one template `" + item.name + "`" +
               (hint.empty() ? "" : "; " + hint));
    }
    CheckIncludes(in, item.body, parsed);
    CheckIncludes(in, item.orelse, parsed);
  }
}

}  // namespace

TemplateSet::TemplateSet(const std::map<std::string, std::string>& texts) {
  for (const auto& [name, text] : texts) parsed_[name] = ParseTemplate(name + ".in", text);
  for (const auto& [name, part] : parsed_) CheckIncludes(*part, part->items, parsed_);
}

std::string TemplateSet::Render(std::string_view name, const Fields& fields) const {
  const ParsedTemplate* part = FindTemplate(parsed_, std::string(name));
  if (!part) throw TemplateError("there is not exactly one template `" + std::string(name) + "`");
  Renderer renderer(parsed_, fields);
  renderer.Render(*part);
  return renderer.Take();
}

const TemplateSet& Templates() {
  static const TemplateSet templates(TemplateTexts());
  return templates;
}

}  // namespace kiln::render
