#include <algorithm>
#include <utility>

#include "generator/spec/read_value.h"

namespace kiln {
namespace {

std::string Join(const std::vector<std::string>& parts) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += i + 1 == parts.size() ? " or " : ", ";
    out += parts[i];
  }
  return out;
}

std::string QuotedWords(const ValueForm& form) {
  std::vector<std::string> quoted;
  for (const std::string& word : form.words) quoted.push_back(Quote(word));
  return Join(quoted);
}

template <typename Function>
std::vector<std::string> EachOf(const ValueForm& form, Function describe) {
  std::vector<std::string> parts;
  for (const ValueForm& one : form.of) parts.push_back(describe(one));
  return parts;
}

/// "axes" for "axis", "block entries" for "a block entry"; what has no article stays.
std::string Plural(std::string noun) {
  const size_t space = noun.find(' ');
  const bool article = noun.starts_with("a ") || noun.starts_with("an ");
  if (article) noun = noun.substr(space + 1);
  const size_t of = std::min(noun.find(" of "), noun.size());
  const std::string head = noun.substr(0, of), tail = noun.substr(of);
  if (!article && space != std::string::npos) return noun;
  if (head.ends_with("is")) return head.substr(0, head.size() - 2) + "es" + tail;
  if (head.ends_with("ry")) return head.substr(0, head.size() - 1) + "ies" + tail;
  return head + "s" + tail;
}

std::string Many(const ValueForm& form);

/// A collection, without an article.
std::string Singular(const ValueForm& form, const std::string& ending = "") {
  switch (form.kind) {
    case ValueForm::Kind::kList:
      return "list" + ending + " of " + Many(form.of[0]);
    case ValueForm::Kind::kFreeKeys:
      return "mapping" + ending + " of " + Plural(form.label) + " to " + Many(form.of[0]);
    default:
      return "mapping" + ending + " with the keys of " + Quote(form.label);
  }
}

std::string Many(const ValueForm& form) {
  switch (form.kind) {
    case ValueForm::Kind::kScalar:
      return Plural(form.label);
    case ValueForm::Kind::kName:
      return "names";
    case ValueForm::Kind::kWord:
      return QuotedWords(form);
    case ValueForm::Kind::kNull:
      return "`null`";
    case ValueForm::Kind::kOneOf:
      return Join(EachOf(form, Many));
    case ValueForm::Kind::kList:
      if (!form.label.empty()) return Plural(form.label);
      [[fallthrough]];
    default:
      return Singular(form, "s");
  }
}

std::string KindOf(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return node.text.value.empty() ? "nothing" : "`null`";
    case YamlNode::Kind::kScalar:
      return "text";
    case YamlNode::Kind::kSequence:
      return "a list";
    case YamlNode::Kind::kMapping:
      return "a mapping";
    case YamlNode::Kind::kBad:
      break;
  }
  return "what stands here";
}

bool IsUnwritten(const YamlNode& node) {
  return node.kind == YamlNode::Kind::kNull && node.text.value.empty();
}

/// Whether the node's own kind is right; what it holds is looked at later.
bool KindFits(const YamlNode& node, const ValueForm& form) {
  using Kind = YamlNode::Kind;
  switch (form.kind) {
    case ValueForm::Kind::kScalar:
    case ValueForm::Kind::kName:
    case ValueForm::Kind::kWord:
      return node.kind == Kind::kScalar;
    case ValueForm::Kind::kNull:
      return node.kind == Kind::kNull;
    // A section whose entries are all commented out is empty.
    case ValueForm::Kind::kList:
      return node.kind == Kind::kSequence || IsUnwritten(node);
    case ValueForm::Kind::kFreeKeys:
      return node.kind == Kind::kMapping || IsUnwritten(node);
    case ValueForm::Kind::kKeys:
      return node.kind == Kind::kMapping;
    case ValueForm::Kind::kOneOf:
      break;
  }
  return std::any_of(form.of.begin(), form.of.end(),
                     [&](const ValueForm& one) { return KindFits(node, one); });
}

void MarkBad(YamlNode& node) {
  YamlNode bad;
  bad.kind = YamlNode::Kind::kBad;
  bad.span = node.span;
  node = std::move(bad);
}

class FormChecker {
 public:
  FormChecker(Reader& reader, const FieldInfo& field) : reader_(reader), field_(field) {}

  /// `subject` and `place` say what the value belongs to.
  void Check(YamlNode& node, const ValueForm& form, const std::string& subject, Span place) {
    if (node.kind == YamlNode::Kind::kBad) return;
    if (!KindFits(node, form)) {
      Mismatch(node, form, subject, place);
      return MarkBad(node);
    }
    switch (form.kind) {
      case ValueForm::Kind::kWord:
        return CheckWord(node, form, subject);
      case ValueForm::Kind::kList:
        for (YamlNode& item : node.items) {
          Check(item, form.of[0], "an entry of " + Quote(field_.name), item.span);
        }
        return;
      case ValueForm::Kind::kFreeKeys:
        for (YamlEntry& entry : node.entries) {
          Check(entry.value, form.of[0], Quote(entry.key.value), entry.key.span());
        }
        return;
      case ValueForm::Kind::kOneOf: {
        const auto one = std::find_if(form.of.begin(), form.of.end(),
                                      [&](const ValueForm& s) { return KindFits(node, s); });
        return Check(node, *one, subject, place);
      }
      default:
        return;
    }
  }

 private:
  void Mismatch(const YamlNode& node, const ValueForm& form, const std::string& subject,
                Span place) {
    const std::string takes = "takes " + Describe(form);
    const std::string example = "for example `" + field_.name + ": " + field_.example + "`";
    if (IsUnwritten(node)) {
      reader_.diagnostics.Error("key", place, subject + " has no value; it " + takes, example);
    } else {
      const bool collection =
          node.kind == YamlNode::Kind::kSequence || node.kind == YamlNode::Kind::kMapping;
      reader_.diagnostics.Error("key", collection ? place : node.span,
                                subject + " " + takes + ", not " + KindOf(node), example);
    }
  }

  void CheckWord(YamlNode& node, const ValueForm& form, const std::string& subject) {
    const std::string& word = node.text.value;
    if (std::find(form.words.begin(), form.words.end(), word) != form.words.end()) return;
    reader_.diagnostics.Error("key", node.span,
                              subject + " takes " + QuotedWords(form) + ", not " + Quote(word),
                              DidYouMean(word, form.words));
    MarkBad(node);
  }

  Reader& reader_;
  const FieldInfo& field_;
};

}  // namespace

std::string Describe(const ValueForm& form) {
  switch (form.kind) {
    case ValueForm::Kind::kScalar:
      return form.label;
    case ValueForm::Kind::kName:
      return "a name";
    case ValueForm::Kind::kWord:
      return QuotedWords(form);
    case ValueForm::Kind::kNull:
      return "`null`";
    case ValueForm::Kind::kOneOf:
      return Join(EachOf(form, [](const ValueForm& each) { return Describe(each); }));
    case ValueForm::Kind::kList:
      if (!form.label.empty()) return form.label;
      [[fallthrough]];
    default:
      return "a " + Singular(form);
  }
}

bool CheckForm(Reader& reader, YamlEntry& entry, const FieldInfo& field) {
  FormChecker checker(reader, field);
  checker.Check(entry.value, field.form, Quote(field.name), entry.key.span());
  return entry.value.kind != YamlNode::Kind::kBad;
}

}  // namespace kiln
