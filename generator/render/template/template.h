#pragma once

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

/// The template engine: a template reads as the text that it becomes, and has no language of its
/// own. In it,
///
///   ${name}                    is replaced by a text
///   //% for row in rows        repeats what follows up to its `end`, once an item
///   //% if flag                keeps what follows if the flag is set (`if not flag`: if not) …
///   //% else                   … and otherwise this
///   //% end
///   //% include part           puts another template here, indented as the directive is
///   //% fill                   puts the lines up to its `end` into as few as they take, behind the
///                              bracket that the first one leaves open, or indented
///
/// Directives have a line each, which vanishes; other lines keep their columns. Blocks nest, and
/// to show it, directives may be indented by spaces after `//%`.
///
/// A name is looked up in the item of the innermost loop, then outwards, and last in the fields
/// given to Render. `${row.name}` asks the item of the loop over `row` in particular; dots lead
/// into groups too. A template can decide nothing beyond a flag: no arithmetic, no comparison, no
/// call. Whatever is not exactly right is an error, since a mistake would show only in the
/// behaviour of generated code.
namespace kiln::render {

/// What a template may name: texts, flags, lists of further fields, groups of further fields. Each
/// name is given once; a second time is an error (std::logic_error), as it would be a left-over.
class Fields {
 public:
  Fields& Set(const std::string& name, std::string text);
  Fields& SetFlag(const std::string& name, bool on);
  /// A whole list. An empty list has to be set, too.
  Fields& SetList(const std::string& name, std::vector<Fields> items);
  /// Appends an item to a list, which starts here if there is none; returns the item, to be filled
  /// before the next is added.
  Fields& Add(const std::string& list);
  /// Fields under a name of their own: `${group.name}`. Returns the group, new or not.
  Fields& Group(const std::string& name);

  struct Value;
  /// Null if there is none.
  const Value* Find(std::string_view name) const;
  std::vector<std::string> Names() const;

 private:
  Value& New(const std::string& name);

  std::map<std::string, Value, std::less<>> values_;
};

struct Fields::Value {
  enum class Kind { kNew, kText, kFlag, kList, kGroup } kind = Kind::kNew;
  std::string text;
  bool flag = false;
  std::vector<Fields> items;  // of a group: one
};

/// `stage.cc.in:12: …`
class TemplateError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct ParsedTemplate;

/// Templates that may include each other, by the names of their files without `.in`: `stage.cc`,
/// or `stage` if no other has that stem.
class TemplateSet {
 public:
  /// Parses all; throws TemplateError if one is not well formed or includes what is not there.
  explicit TemplateSet(const std::map<std::string, std::string>& texts);

  /// Throws TemplateError when template and fields do not match.
  std::string Render(std::string_view name, const Fields& fields) const;

 private:
  std::map<std::string, std::shared_ptr<const ParsedTemplate>> parsed_;
};

/// The files of templates/, which are part of the program.
const TemplateSet& Templates();
/// Their texts, by file name without `.in`.
const std::map<std::string, std::string>& TemplateTexts();

}  // namespace kiln::render
