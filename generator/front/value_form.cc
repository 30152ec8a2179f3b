#include <algorithm>

#include "generator/front/read_value.h"

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

std::string Words(const ValueForm& form) {
  std::vector<std::string> quoted;
  for (const std::string& word : form.words) quoted.push_back(Quote(word));
  return Join(quoted);
}

std::string KindOf(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull: return node.text.value.empty() ? "nothing" : "`null`";
    case YamlNode::Kind::kScalar: return "text";
    case YamlNode::Kind::kSequence: return "a list";
    case YamlNode::Kind::kMapping: return "a mapping";
    case YamlNode::Kind::kBad: break;
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
    case ValueForm::Kind::kWord: return node.kind == Kind::kScalar;
    case ValueForm::Kind::kNull: return node.kind == Kind::kNull;
    // A section whose entries are all commented out is empty.
    case ValueForm::Kind::kList: return node.kind == Kind::kSequence || IsUnwritten(node);
    case ValueForm::Kind::kFreeKeys: return node.kind == Kind::kMapping || IsUnwritten(node);
    case ValueForm::Kind::kKeys: return node.kind == Kind::kMapping;
    case ValueForm::Kind::kOneOf: break;
  }
  return std::any_of(form.of.begin(), form.of.end(),
                     [&](const ValueForm& one) { return KindFits(node, one); });
}

class FormChecker {
 public:
  FormChecker(Reader& reader, const FieldInfo& field) : reader_(reader), field_(field) {}

  /// `subject` and `place` say what the value belongs to.
  bool Check(const YamlNode& node, const ValueForm& form, const std::string& subject, Span place) {
    if (node.kind == YamlNode::Kind::kBad) return true;
    if (!KindFits(node, form)) return Mismatch(node, form, subject, place);
    switch (form.kind) {
      case ValueForm::Kind::kWord: return CheckWord(node, form, subject);
      case ValueForm::Kind::kList: return CheckItems(node, form.of[0]);
      case ValueForm::Kind::kFreeKeys: return CheckValues(node, form.of[0]);
      case ValueForm::Kind::kOneOf: {
        const auto one = std::find_if(form.of.begin(), form.of.end(),
                                      [&](const ValueForm& s) { return KindFits(node, s); });
        return Check(node, *one, subject, place);
      }
      default: return true;
    }
  }

 private:
  bool Mismatch(const YamlNode& node, const ValueForm& form, const std::string& subject, Span place) {
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
    return false;
  }

  bool CheckWord(const YamlNode& node, const ValueForm& form, const std::string& subject) {
    const std::string& word = node.text.value;
    if (std::find(form.words.begin(), form.words.end(), word) != form.words.end()) return true;
    reader_.diagnostics.Error("key", node.span,
                              subject + " takes " + Words(form) + ", not " + Quote(word),
                              DidYouMean(word, form.words));
    return false;
  }

  bool CheckItems(const YamlNode& node, const ValueForm& form) {
    bool good = true;
    for (const YamlNode& item : node.items) {
      good &= Check(item, form, "an entry of " + Quote(field_.name), item.span);
    }
    return good;
  }

  bool CheckValues(const YamlNode& node, const ValueForm& form) {
    bool good = true;
    for (const YamlEntry& entry : node.entries) {
      good &= Check(entry.value, form, Quote(entry.key.value), entry.key.span());
    }
    return good;
  }

  Reader& reader_;
  const FieldInfo& field_;
};

}  // namespace

std::string Describe(const ValueForm& form) {
  switch (form.kind) {
    case ValueForm::Kind::kScalar: return form.label;
    case ValueForm::Kind::kName: return "a name";
    case ValueForm::Kind::kWord: return Words(form);
    case ValueForm::Kind::kNull: return "`null`";
    case ValueForm::Kind::kList: return "a list, each entry " + Describe(form.of[0]);
    case ValueForm::Kind::kFreeKeys:
      return "a mapping from each " + form.label + " to " + Describe(form.of[0]);
    case ValueForm::Kind::kKeys: return "a mapping with the keys of a " + form.label;
    case ValueForm::Kind::kOneOf: break;
  }
  std::vector<std::string> parts;
  for (const ValueForm& one : form.of) parts.push_back(Describe(one));
  return Join(parts);
}

bool CheckForm(Reader& reader, const YamlEntry& entry, const FieldInfo& field) {
  FormChecker checker(reader, field);
  return checker.Check(entry.value, field.form, Quote(field.name), entry.key.span());
}

}  // namespace kiln
