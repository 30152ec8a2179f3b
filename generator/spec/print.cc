#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

#include "generator/spec/spec.h"

/// The text form of a Spec: YAML again, every key in one order and one spelling. Reading it
/// gives the same Spec.
namespace kiln {
namespace {

class Printer {
 public:
  std::string Take() { return std::move(out_); }

  void Line(int indent, const std::string& text) {
    const int before = item_ ? indent - 2 : indent;
    out_ += std::string(static_cast<size_t>(before), ' ') + (item_ ? "- " : "") + text + "\n";
    item_ = false;
  }
  /// The next line begins an item of a list.
  void Item() { item_ = true; }
  void Header(const std::string& key) { Line(0, key + ":"); }
  void Value(int indent, const std::string& key, const std::string& value) {
    if (!value.empty()) Line(indent, key + ": " + value);
  }
  void Value(int indent, const std::string& key, const Ident& name) {
    Value(indent, key, name.name);
  }
  void Value(int indent, const std::string& key, const ExprPtr& expr) {
    if (expr) Value(indent, key, ToString(*expr));
  }

  /// Named things under one key, which is left out when there are none.
  template <typename List, typename Print>
  void Section(const std::string& key, const List& list, Print print) {
    if (list.empty()) return;
    Header(key);
    for (const auto& item : list) print(item);
  }

  /// The pairs of a `set` or a golden size in `{ }`.
  template <typename List, typename ValueOf>
  static std::string Braces(const List& list, ValueOf value_of) {
    std::string out = "{";
    for (const auto& item : list) out += (out.size() > 1 ? ", " : "") + value_of(item);
    return out + "}";
  }

 private:
  std::string out_;
  bool item_ = false;
};

/// A YAML double-quoted string.
std::string YamlString(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else {
      out += c;
    }
  }
  return out + "\"";
}

/// A value inside `{ }`, in quotes unless it is plainly a word or a number.
std::string ScalarText(const std::string& text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
  });
  return plain ? text : YamlString(text);
}

std::string TypeText(const ArrayType& type) {
  return type.shape.empty() ? type.dtype.name : type.dtype.name + "[" + ToString(type.shape) + "]";
}

std::string EntryText(const BlockEntry& entry) {
  const auto text = [](const ExprPtr& e) { return e ? ToString(*e) : std::string("0"); };
  switch (entry.kind) {
    case BlockEntry::Kind::kSize:
      return text(entry.size);
    case BlockEntry::Kind::kAll:
      return "all";
    case BlockEntry::Kind::kSqueezed:
      return "null";
    case BlockEntry::Kind::kBounded:
      return "bounded(" + text(entry.size) + ")";
    case BlockEntry::Kind::kElement:
      break;
  }
  if (!entry.halo_low && !entry.halo_high) return "element(" + text(entry.size) + ")";
  return "element(" + text(entry.size) + ", halo=(" + text(entry.halo_low) + ", " +
         text(entry.halo_high) + "))";
}

std::string BlockText(const std::vector<BlockEntry>& block) {
  std::string out;
  for (const BlockEntry& entry : block) out += (out.empty() ? "" : ", ") + EntryText(entry);
  return out.empty() ? "[]" : out;
}

std::string SetText(const std::vector<ParamSpec>& set) {
  return Printer::Braces(set, [](const ParamSpec& p) {
    return p.name.name + ": " + (p.value ? ScalarText(ToString(*p.value)) : "null");
  });
}

void PrintDims(const Spec& spec, Printer& p) {
  if (spec.dims_closed) {
    std::string names;
    for (const DimSpec& dim : spec.dims) names += (names.empty() ? "" : ", ") + dim.name.name;
    p.Line(0, "dims: [" + names + "]");
    return;
  }
  p.Section("dims", spec.dims, [&](const DimSpec& dim) {
    if (dim.fixed) {
      p.Value(2, dim.name.name, dim.fixed);
      return;
    }
    p.Line(2, dim.name.name + ":");
    p.Value(4, "multiple_of", dim.multiple_of);
    p.Value(4, "min", dim.min);
    p.Value(4, "max", dim.max);
  });
}

void PrintOperand(const OperandSpec& operand, int indent, Printer& p) {
  if (operand.array) p.Value(indent, "array", TypeText(*operand.array));
  p.Value(indent, "view", operand.view);
  p.Value(indent, "like", operand.like);
  if (operand.block) p.Value(indent, "block", BlockText(*operand.block));
  if (operand.index) {
    const std::string text = ToString(*operand.index);
    p.Value(indent, "index", text.empty() ? "[]" : text);
  }
  p.Value(indent, "memory", operand.memory);
  p.Value(indent, "pad", operand.pad);
  p.Value(indent, "init", operand.init);
  if (operand.init_undefined) p.Value(indent, "init", std::string("undefined"));
  p.Value(indent, "buffers", operand.buffers);
  p.Value(indent, "alias", operand.alias);
}

void PrintOperands(const std::string& key, const std::vector<OperandEntry>& operands, Printer& p) {
  p.Section(key, operands, [&](const OperandEntry& entry) {
    p.Line(2, entry.name.name + ":");
    const bool list = entry.alternatives.size() > 1;
    for (const OperandSpec& operand : entry.alternatives) {
      if (list) p.Item();
      p.Value(list ? 6 : 4, "if", operand.condition);
      PrintOperand(operand, list ? 6 : 4, p);
    }
  });
}

void PrintArguments(const Spec& spec, Printer& p) {
  const auto array = [&](const ArraySpec& a) { p.Value(2, a.name.name, TypeText(a.type)); };
  p.Section("scalars", spec.scalars,
            [&](const ScalarSpec& s) { p.Value(2, s.name.name, s.dtype); });
  p.Section("arguments", spec.arguments, array);
  p.Section("prefetch", spec.prefetch, array);
  p.Section("prepare", spec.prepare, [&](const PrepareSpec& prepare) {
    std::string text;
    for (const Ident& result : prepare.results) text += (text.empty() ? "" : ", ") + result.name;
    text += " = " + (prepare.call ? ToString(*prepare.call) : "");
    p.Item();
    p.Value(4, "call", text);
    p.Value(4, "header", prepare.header);
  });
}

void PrintGrid(const std::vector<AxisSpec>& grid, const std::vector<Ident>& words, int indent,
               Printer& p) {
  if (!grid.empty()) p.Line(indent, "grid:");
  for (const AxisSpec& axis : grid) p.Value(indent + 2, axis.name.name, axis.steps);
  std::string semantics;
  for (const Ident& word : words) semantics += (semantics.empty() ? "" : ", ") + word.name;
  p.Value(indent, "dimension_semantics", semantics);
}

void PrintScratch(const Spec& spec, Printer& p) {
  p.Section("scratch", spec.scratch, [&](const ScratchSpec& scratch) {
    p.Line(2, scratch.name.name + ":");
    if (scratch.array) p.Value(4, "array", TypeText(*scratch.array));
    p.Value(4, "memory", scratch.memory);
    p.Value(4, "semaphore", scratch.semaphore);
    if (!scratch.count.empty()) p.Value(4, "count", ToString(scratch.count));
  });
}

void PrintBody(const std::string& key, const std::vector<Stmt>& body, int indent, Printer& p) {
  if (body.empty()) return p.Line(indent, key + ": \"\"");
  p.Line(indent, key + ": |");
  std::string text = ToString(body, indent + 2);
  if (text.ends_with('\n')) text.pop_back();
  p.Line(0, text);
}

void PrintStatements(const std::vector<Stmt>& body, const std::vector<Stmt>& epilogue, int indent,
                     Printer& p) {
  PrintBody("body", body, indent, p);
  if (!epilogue.empty()) PrintBody("epilogue", epilogue, indent, p);
}

void PrintPipeline(const PipelineSpec& pipeline, Printer& p) {
  p.Header("pipeline");
  if (pipeline.grid.empty()) p.Line(2, "grid: {}");
  PrintGrid(pipeline.grid, pipeline.semantics, 2, p);
  p.Line(2, pipeline.over.empty() ? "over: {}" : "over:");
  for (const PipelineSpec::Over& over : pipeline.over) {
    p.Line(4, over.operand.name + ":");
    PrintOperand(over.window, 6, p);
  }
  PrintStatements(pipeline.body, pipeline.epilogue, 2, p);
}

void PrintUses(const Spec& spec, Printer& p) {
  p.Section("variants", spec.variants, [&](const VariantSpec& variant) {
    p.Item();
    p.Value(4, "when", variant.when);
    p.Value(4, "set", SetText(variant.set));
    if (variant.fixed_blocks) p.Line(4, "blocks: fixed");
  });
  if (spec.vmap) {
    p.Header("vmap");
    p.Value(2, "axis", spec.vmap->axis);
    p.Value(2, "dim", spec.vmap->dim);
    p.Line(2, "over:");
    for (const VmapSpec::Over& over : spec.vmap->over) p.Value(4, over.operand.name, over.position);
  }
  p.Section("instances", spec.instances, [&](const InstanceSpec& instance) {
    p.Value(2, instance.name.name, SetText(instance.set));
  });
  p.Section("golden", spec.golden, [&](const GoldenSpec& golden) {
    p.Line(2, "- " + Printer::Braces(golden.sizes, [](const auto& size) {
                return size.first.name + ": " + ScalarText(size.second);
              }));
  });
  p.Section("reference", spec.reference, [&](const ReferenceSpec& reference) {
    if (reference.file.empty())
      p.Value(2, reference.output.name, reference.value);
    else
      p.Value(2, reference.output.name, YamlString("@" + reference.file));
  });
}

}  // namespace

std::string ToString(const Spec& spec) {
  Printer p;
  p.Value(0, "kernel", spec.kernel);
  if (!spec.doc.empty()) p.Value(0, "doc", YamlString(spec.doc));
  p.Section("params", spec.params, [&](const ParamSpec& s) { p.Value(2, s.name.name, s.value); });
  PrintDims(spec, p);
  p.Section("require", spec.require, [&](const ExprPtr& e) {
    if (e) p.Line(2, "- " + ToString(*e));
  });
  p.Section("let", spec.lets, [&](const LetSpec& l) { p.Value(2, l.name.name, l.value); });
  PrintArguments(spec, p);
  PrintGrid(spec.grid, spec.semantics, 0, p);
  PrintOperands("inputs", spec.inputs, p);
  PrintOperands("outputs", spec.outputs, p);
  PrintScratch(spec, p);
  if (spec.pipeline)
    PrintPipeline(*spec.pipeline, p);
  else
    PrintStatements(spec.body, spec.epilogue, 0, p);
  PrintUses(spec, p);
  return p.Take();
}

}  // namespace kiln
