#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "tests/random/draft.h"

namespace kiln::soak {
namespace {

std::string Filled(const std::string& text, const std::vector<Term>& args);

/// Each `$n` replaced by that argument.
std::string Filled(const std::string& text, const std::vector<Term>& args) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '$')
      out += ToText(args[static_cast<size_t>(text[++i] - '0')]);
    else
      out += text[i];
  }
  return out;
}

class Writer {
 public:
  void Line(int depth, const std::string& text) {
    text_ += std::string(static_cast<size_t>(depth) * 2, ' ') + text + "\n";
  }

  void Keys(int depth, const std::string& section, const std::vector<Key>& keys) {
    if (keys.empty()) return;
    Line(depth, section + ":");
    for (const Key& key : keys) Line(depth + 1, Entry(key));
  }

  void Statements(int depth, const std::vector<Statement>& statements) {
    for (const Statement& statement : statements) {
      Line(depth, Filled(statement.text, statement.args));
      Statements(depth + 1, statement.body);
      if (statement.orelse.empty()) continue;
      Line(depth, "else:");
      Statements(depth + 1, statement.orelse);
    }
  }

  void Body(int depth, const std::string& key, const std::vector<Statement>& statements) {
    if (statements.empty()) return;
    Line(depth, key + ": |");
    Statements(depth + 1, statements);
  }

  void Operands(const std::string& section, const Draft& draft, bool output) {
    bool any = false;
    for (const OperandDraft& operand : draft.operands) {
      if (operand.output != output) continue;
      if (!any) Line(0, section + ":");
      any = true;
      if (operand.alternatives.empty()) {
        Keys(1, operand.name, InPipeline(draft, operand) ? InHbm(operand) : operand.keys);
        continue;
      }
      Line(1, operand.name + ":");
      for (const std::vector<Key>& keys : operand.alternatives) Alternative(keys);
      Alternative(operand.keys);
    }
  }

  /// The windows of the operands that a pipeline walks.
  void Over(const Draft& draft) {
    Line(1, "over:");
    for (const OperandDraft& operand : draft.operands) {
      if (!InPipeline(draft, operand)) continue;
      std::vector<Key> keys;
      for (const Key& key : operand.keys) {
        if (!IsOutside(key)) keys.push_back(key);
      }
      if (keys.empty())
        Line(2, operand.name + ": {}");
      else
        Keys(2, operand.name, keys);
    }
  }

  std::string Finish() { return std::move(text_); }

  static bool InPipeline(const Draft& draft, const OperandDraft& operand) {
    return draft.outside &&
           std::none_of(operand.keys.begin(), operand.keys.end(),
                        [](const Key& key) { return key.name == "memory" && key.value == "any"; });
  }

  /// The operand itself, whose window is elsewhere; a view is where its array is.
  static std::vector<Key> InHbm(const OperandDraft& operand) {
    std::vector<Key> keys;
    bool view = false;
    for (const Key& key : operand.keys) {
      if (IsOutside(key)) keys.push_back(key);
      view = view || key.name == "view";
    }
    if (!view) keys.push_back({"memory", "any"});
    return keys;
  }

  static std::string Entry(const Key& key) {
    return key.value.empty() ? key.name + ":" : key.name + ": " + key.value;
  }

 private:
  static bool IsOutside(const Key& key) {
    return key.name == "array" || key.name == "view" || key.name == "alias" || key.name == "if";
  }

  void Alternative(const std::vector<Key>& keys) {
    bool first = true;
    for (const Key& key : keys) {
      Line(2, (first ? "- " : "  ") + Entry(key));
      first = false;
    }
  }

  std::string text_;
};

void WriteHost(Writer& writer, const Draft& draft) {
  writer.Keys(0, "params", draft.params);
  writer.Keys(0, "dims", draft.dims);
  writer.Keys(0, "let", draft.lets);
  writer.Keys(0, "scalars", draft.scalars);
  writer.Keys(0, "prefetch", draft.prefetch);
  writer.Keys(0, "arguments", draft.arguments);
  if (!draft.require.empty()) writer.Line(0, "require:");
  for (const std::string& condition : draft.require) writer.Line(1, "- " + condition);
  if (!draft.prepare.empty()) writer.Line(0, "prepare:");
  for (const std::vector<Key>& keys : draft.prepare) {
    for (size_t k = 0; k < keys.size(); ++k)
      writer.Line(1, (k == 0 ? "- " : "  ") +
                         (keys[k].name.empty() ? keys[k].value : Writer::Entry(keys[k])));
  }
}

void WriteGrid(Writer& writer, int depth, const std::vector<AxisDraft>& axes) {
  if (axes.empty()) return;
  writer.Line(depth, "grid:");
  std::string semantics;
  bool parallel = false;
  for (const AxisDraft& axis : axes) {
    writer.Line(depth + 1, axis.name + ": " + axis.steps);
    semantics += (semantics.empty() ? "" : ", ");
    semantics += axis.parallel ? "parallel" : "arbitrary";
    parallel = parallel || axis.parallel;
  }
  if (parallel) writer.Line(depth, "dimension_semantics: " + semantics);
}

/// The last axis outside is parallel, so that the pipeline of each step has blocks of its own.
std::ptrdiff_t AxesOutside(const Draft& draft) {
  const auto serial = std::find_if(draft.axes.begin(), draft.axes.end(),
                                   [](const AxisDraft& axis) { return !axis.parallel; });
  return std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(draft.outside.value_or(0)),
                                  serial - draft.axes.begin());
}

void WritePipeline(Writer& writer, const Draft& draft) {
  writer.Line(0, "pipeline:");
  const std::vector<AxisDraft> inside(draft.axes.begin() + AxesOutside(draft), draft.axes.end());
  if (inside.empty()) writer.Line(1, "grid: {}");
  WriteGrid(writer, 1, inside);
  writer.Over(draft);
  writer.Body(1, "body", draft.body);
  writer.Body(1, "epilogue", draft.epilogue);
}

}  // namespace

std::string ToText(const Term& term) { return Filled(term.text, term.args); }

/// A kernel has the name of its file.
std::string Renamed(const std::string& text, const std::string& name) {
  const std::string key = "\nkernel: ";
  const size_t at = text.find(key) + key.size();
  return text.substr(0, at) + name + text.substr(text.find('\n', at));
}

Draft ReadDraft(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  Draft draft;
  draft.text = text.str();
  const std::string key = "# sizes:";
  if (!in || draft.text.rfind(key, 0) != 0)
    throw std::runtime_error(path + " does not begin with \"" + key + "\"");
  std::istringstream line(draft.text.substr(key.size(), draft.text.find('\n') - key.size()));
  for (std::string word; line >> word;) {
    const size_t equals = word.find('=');
    draft.sizes[word.substr(0, equals)] = std::stoll(word.substr(equals + 1));
  }
  return draft;
}

std::string Write(const Draft& draft) {
  if (!draft.text.empty()) return Renamed(draft.text, draft.name);
  Writer writer;
  writer.Line(0, "kernel: " + draft.name);
  writer.Line(0, "doc: Random kernel of seed " + std::to_string(draft.seed) + ".");
  WriteHost(writer, draft);
  if (draft.outside)
    WriteGrid(writer, 0, {draft.axes.begin(), draft.axes.begin() + AxesOutside(draft)});
  else
    WriteGrid(writer, 0, draft.axes);
  writer.Operands("inputs", draft, false);
  writer.Operands("outputs", draft, true);
  if (!draft.scratch.empty()) writer.Line(0, "scratch:");
  for (const auto& [name, keys] : draft.scratch) {
    if (keys.size() == 1 && keys[0].name.empty())
      writer.Line(1, name + ": " + keys[0].value);
    else
      writer.Keys(1, name, keys);
  }
  if (draft.outside) {
    WritePipeline(writer, draft);
  } else {
    writer.Body(0, "body", draft.body);
    writer.Body(0, "epilogue", draft.epilogue);
  }
  if (!draft.instances.empty()) writer.Line(0, "instances:");
  for (const auto& [end, set] : draft.instances) {
    std::string text;
    for (const Key& key : set) text += (text.empty() ? "" : ", ") + Writer::Entry(key);
    writer.Line(1, draft.name + "_" + end + ": {" + text + "}");
  }
  for (const auto& [key, lines] : draft.extra) {
    writer.Line(0, key + ":");
    std::istringstream in(lines);
    for (std::string line; std::getline(in, line);) writer.Line(1, line);
  }
  return writer.Finish();
}

}  // namespace kiln::soak
