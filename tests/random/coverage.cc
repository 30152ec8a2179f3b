#include "tests/random/coverage.h"

#include <algorithm>
#include <sstream>

#include "generator/bind/host.h"
#include "generator/elaborate/elaborate.h"
#include "generator/spec/fields.h"
#include "generator/spec/pipeline.h"
#include "tests/random/plant/plant.h"

namespace kiln::soak {
namespace {

constexpr const char* kRoles[] = {"argument", "prefetch", "scalar",   "input",
                                  "output",   "scratch",  "semaphore"};

std::string Entry(const std::string& prefix, std::string_view name) {
  return prefix + " " + std::string(name);
}

/// What the grammar has, which no table lists.
const std::vector<std::string>& GrammarEntries() {
  static const std::vector<std::string> entries = [] {
    std::vector<std::string> all;
    for (const char* kind :
         {"let", "var", "assign", "when", "for", "while", "assert", "copy", "wait"})
      all.push_back(Entry("statement", kind));
    for (const char* more : {"typed var", "several names", "else", "else when", "wait for bytes",
                             "copy of a size known at run time"})
      all.push_back(Entry("statement", more));
    for (const char* op : {"=", "+=", "-=", "*="}) all.push_back(Entry("assign", op));
    for (const char* to :
         {"whole", "point", "slice", "ds", "stride", "...", "mask", "masked window"})
      all.push_back(Entry("store", to));
    for (const char* of : {"point", "slice", "ds", "stride", "..."})
      all.push_back(Entry("subscript", of));
    for (const char* op : {"+",  "-",   "*",  "/",   "//", "%",     "**",      "<<",     ">>",
                           "&",  "|",   "^",  "~",   "<",  ">",     "<=",      ">=",     "==",
                           "!=", "and", "or", "not", "if", "chain", "unary -", "unary +"})
      all.push_back(Entry("operator", op));
    for (const char* name : {"T", "mT"}) all.push_back(Entry("attribute", name));
    for (const char* name : {"inf", "nan", "true", "false", "float", "hexadecimal"})
      all.push_back(Entry("literal", name));
    for (const char* name :
         {"other block", "parallel axes swapped", "other buffers", "axes renamed"})
      all.push_back(Entry("varied", name));
    for (int axes = 0; axes <= 4; ++axes)
      all.push_back("grid of " + std::to_string(axes) + " axes");
    for (const char* name :
         {"parallel axis", "steps of host values", "ragged block", "block of one element",
          "block larger than its array", "lookup in an index map", "element block with halo",
          "semaphores of two dimensions"})
      all.push_back(Entry("layout", name));
    return all;
  }();
  return entries;
}

class Uses {
 public:
  void Add(const std::string& entry) { used_.insert(entry); }
  std::set<std::string> Finish() { return std::move(used_); }

  // Keys of the file, by the table that its reader walks.

  void Walk(const YamlNode& node, const std::string& section) {
    for (const SectionInfo& of : sections_) {
      if (of.id != section || node.kind != YamlNode::Kind::kMapping) continue;
      for (const YamlEntry& entry : node.entries) {
        for (const FieldInfo& field : of.fields) {
          if (field.name != entry.key.value) continue;
          Add("key " + section + "." + field.name);
          Walk(entry.value, field.form, section + "." + field.name);
        }
      }
    }
  }

  void Walk(const YamlNode& node, const ValueForm& form, const std::string& key) {
    switch (form.kind) {
      case ValueForm::Kind::kWord:
        Add("word " + key + " " + node.text.value);
        return;
      case ValueForm::Kind::kList:
        for (const YamlNode& item : node.items) Walk(item, form.of[0], key);
        return;
      case ValueForm::Kind::kFreeKeys:
        for (const YamlEntry& entry : node.entries) Walk(entry.value, form.of[0], key);
        return;
      case ValueForm::Kind::kKeys:
        return Walk(node, form.label);
      case ValueForm::Kind::kOneOf:
        for (const ValueForm& one : form.of) {
          if (Fits(node, one)) return Walk(node, one, key);
        }
        return;
      default:
        return;
    }
  }

  // Expressions and statements.

  void Walk(const Expr& expr) {
    switch (expr.kind) {
      case Expr::Kind::kCall:
        if (FindFunction(expr.name)) Add(Entry("function", expr.name));
        for (const Keyword& keyword : expr.keywords) Walk(*keyword.value);
        break;
      case Expr::Kind::kUnary:
        Add(expr.name == "-" || expr.name == "+" ? "operator unary " + expr.name
                                                 : Entry("operator", expr.name));
        break;
      case Expr::Kind::kBinary:
        Add(Entry("operator", expr.name));
        break;
      case Expr::Kind::kCompare:
        for (const std::string& op : expr.ops) Add(Entry("operator", op));
        if (expr.ops.size() > 1) Add("operator chain");
        break;
      case Expr::Kind::kIf:
        Add("operator if");
        break;
      case Expr::Kind::kAttribute:
        Add(Entry("attribute", expr.name));
        break;
      case Expr::Kind::kSubscript:
        Subscripts(expr, "subscript");
        break;
      case Expr::Kind::kBool:
        Add(expr.int_value ? "literal true" : "literal false");
        break;
      case Expr::Kind::kFloat:
        Add(expr.float_value != expr.float_value ? "literal nan"
            : expr.float_value > 1e300           ? "literal inf"
                                                 : "literal float");
        break;
      default:
        break;
    }
    for (const ExprPtr& arg : expr.args) {
      if (arg) Walk(*arg);
    }
  }

  void Walk(const std::vector<Stmt>& statements) {
    constexpr const char* kKinds[] = {"let",   "var",    "assign", "when", "for",
                                      "while", "assert", "copy",   "wait"};
    for (const Stmt& stmt : statements) {
      Add(Entry("statement", kKinds[static_cast<size_t>(stmt.kind)]));
      if (stmt.typed) Add("statement typed var");
      if (!stmt.others.empty()) Add("statement several names");
      if (stmt.kind == Stmt::Kind::kWait && stmt.target) Add("statement wait for bytes");
      for (const Naming& other : stmt.others) Walk(*other.value);
      if (stmt.kind == Stmt::Kind::kAssign) {
        Add(Entry("assign", stmt.op));
        const Expr& target = *stmt.target;
        if (target.kind == Expr::Kind::kSubscript && target.args[0]->kind == target.kind)
          Add("store masked window");
        else if (target.kind == Expr::Kind::kSubscript)
          Subscripts(target, "store");
        else
          Add("store whole");
      }
      for (const ExprPtr& expr : {stmt.target, stmt.value, stmt.condition, stmt.low, stmt.high}) {
        if (expr) Walk(*expr);
      }
      Walk(stmt.body);
      if (!stmt.orelse.empty())
        Add(stmt.orelse[0].kind == Stmt::Kind::kWhen ? "statement else when" : "statement else");
      Walk(stmt.orelse);
    }
  }

  void Subscripts(const Expr& expr, const std::string& prefix) {
    for (size_t i = 1; i < expr.args.size(); ++i) {
      const Expr& entry = *expr.args[i];
      const bool is_mask = prefix == "store" && expr.args.size() == 2 &&
                           (entry.kind == Expr::Kind::kCompare || entry.kind == Expr::Kind::kCall ||
                            entry.kind == Expr::Kind::kBinary || entry.kind == Expr::Kind::kUnary);
      const bool is_ds = entry.kind == Expr::Kind::kCall && entry.name == "ds";
      const std::string keyword =
          is_ds && !entry.keywords.empty() ? entry.keywords[0].name.name : "";
      if (keyword == "most") Add("statement copy of a size known at run time");
      if (entry.kind == Expr::Kind::kSlice ? entry.args[2] != nullptr : keyword == "stride")
        Add(prefix + " stride");
      if (entry.kind == Expr::Kind::kSlice)
        Add(prefix + " slice");
      else if (entry.kind == Expr::Kind::kEllipsis)
        Add(prefix + " ...");
      else if (is_ds)
        Add(prefix + " ds");
      else
        Add(is_mask ? prefix + " mask" : prefix + " point");
    }
  }

  // What it means.

  void Walk(const Node& node) {
    Add(Entry("op", kiln::Name(node.op)));
    for (const NodePtr& arg : node.args) Walk(*arg);
  }

  void Walk(const Actions& actions) {
    ForEachAction(actions, [this](const Action& action) {
      Match(
          action, [this](const action::Define& define) { Walk(*define.value); },
          [this](const action::Store& store) {
            Walk(*store.value);
            if (store.mask) Walk(*store.mask);
          },
          [this](const action::When& when) { Walk(*when.condition); },
          [this](const action::Assert& check) { Walk(*check.condition); },
          [this](const action::While& loop) { Walk(*loop.condition); }, [](const action::For&) {},
          [](const action::Copy&) {}, [](const action::Wait&) {});
    });
  }

  void Walk(const Kernel& kernel) {
    Add("grid of " + std::to_string(kernel.axes.size()) + " axes");
    for (const Axis& axis : kernel.axes) {
      if (axis.parallel) Add("layout parallel axis");
      if (Reads(*axis.steps)) Add("layout steps of host values");
    }
    for (const Ref& ref : kernel.refs) {
      if (ref.role == Role::kSemaphore) {
        if (ref.counts.size() > 1) Add("layout semaphores of two dimensions");
        continue;
      }
      Add(std::string(kRoles[static_cast<size_t>(ref.role)]) + " " +
          std::string(kiln::Name(ref.dtype)));
      for (const BlockDim& dim : ref.block) {
        if (dim.kind == BlockDim::Kind::kBlocked && dim.size.Constant() == 1)
          Add("layout block of one element");
        if (dim.kind == BlockDim::Kind::kElement && (dim.halo_low.Constant().value_or(1) != 0))
          Add("layout element block with halo");
        if (dim.index && Reads(*dim.index)) Add("layout lookup in an index map");
      }
    }
    for (const HostCall& call : kernel.prepare) Add(Entry("host", call.function));
    Walk(kernel.body);
    Walk(kernel.epilogue);
  }

  /// How blocks cover the arrays of a call.
  void Walk(const Binding& binding) {
    for (size_t r = 0; r < binding.kernel->refs.size(); ++r) {
      const Ref& ref = binding.kernel->refs[r];
      for (size_t d = 0; d < ref.block.size() && d < binding.arrays[r].size(); ++d) {
        if (ref.block[d].kind != BlockDim::Kind::kBlocked) continue;
        const int64_t block = ref.block[d].size.Constant().value_or(1),
                      extent = binding.arrays[r][d];
        if (block > extent) Add("layout block larger than its array");
        if (extent % block != 0) Add("layout ragged block");
      }
    }
  }

 private:
  static bool Reads(const Node& node) {
    return node.op == Op::kRead || std::any_of(node.args.begin(), node.args.end(),
                                               [](const NodePtr& arg) { return Reads(*arg); });
  }

  static bool Fits(const YamlNode& node, const ValueForm& form) {
    switch (form.kind) {
      case ValueForm::Kind::kNull:
        return node.kind == YamlNode::Kind::kNull;
      case ValueForm::Kind::kList:
        return node.kind == YamlNode::Kind::kSequence;
      case ValueForm::Kind::kFreeKeys:
      case ValueForm::Kind::kKeys:
        return node.kind == YamlNode::Kind::kMapping;
      default:
        return node.kind == YamlNode::Kind::kScalar;
    }
  }

  const std::vector<SectionInfo> sections_ = Sections();
  std::set<std::string> used_;
};

/// The words that a form takes, wherever they are in it.
void AddWords(const ValueForm& form, const std::string& key, std::vector<std::string>& to) {
  if (form.kind == ValueForm::Kind::kWord) {
    for (const std::string& word : form.words) to.push_back("word " + key + " " + word);
  }
  for (const ValueForm& one : form.of) AddWords(one, key, to);
}

std::vector<std::string> AllEntries() {
  std::vector<std::string> all = GrammarEntries();
  for (const SectionInfo& section : Sections()) {
    for (const FieldInfo& field : section.fields) {
      all.push_back("key " + section.id + "." + field.name);
      if (field.name != "dimension_semantics")
        AddWords(field.form, section.id + "." + field.name, all);
    }
  }
  for (const BlockForm& form : BlockForms()) all.push_back(Entry("block", form.name));
  for (const Operation& function : Functions()) all.push_back(Entry("function", function.name));
  for (const std::string& name : HostFunctionNames()) all.push_back(Entry("host", name));
  // Steps, axes and dimensions are no operations of values; they are counted all the same.
  for (const Operation& row : AllOperations()) all.push_back(Entry("op", row.name));
  for (const DType dtype : ArrayTypes()) {
    for (const std::string role : {"prefetch", "scalar", "input", "output", "scratch"}) {
      if (IsPacked(dtype) && (role == "prefetch" || role == "scalar")) continue;
      all.push_back(Entry(role, kiln::Name(dtype)));
    }
  }
  for (const Planter& planter : Planters()) all.push_back(Entry("fault", planter.kind));
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace

const std::vector<std::string>& Entries() {
  static const std::vector<std::string> entries = AllEntries();
  return entries;
}

std::set<std::string> EntriesOf(const Spec& as_written, const Binding& binding) {
  Uses uses;
  Diagnostics ignored;
  const Spec spec = ApplyPipeline(as_written, ignored);
  if (const auto yaml = ParseYaml(*spec.source, ignored)) uses.Walk(*yaml, Sections()[0].id);
  for (const std::vector<OperandEntry>* operands : {&spec.inputs, &spec.outputs}) {
    for (const OperandEntry& operand : *operands) {
      for (const OperandSpec& one : operand.alternatives) {
        for (const BlockEntry& block : one.block.value_or(std::vector<BlockEntry>())) {
          for (const BlockForm& form : BlockForms()) {
            if (form.kind == block.kind) uses.Add(Entry("block", form.name));
          }
        }
        for (const ExprPtr& index : one.index.value_or(std::vector<ExprPtr>())) uses.Walk(*index);
        if (one.init_undefined) uses.Add("literal undefined");
      }
    }
  }
  for (const AxisSpec& axis : spec.grid) uses.Walk(*axis.steps);
  uses.Walk(spec.body);
  uses.Walk(spec.epilogue);
  for (const std::string_view number : {"0x", "0X"}) {
    if (spec.source->text().find(number) != std::string::npos) uses.Add("literal hexadecimal");
  }
  uses.Walk(*binding.kernel);
  uses.Walk(binding);
  return uses.Finish();
}

std::string CoverageReport(const Coverage& coverage, int64_t goal) {
  std::vector<std::pair<int64_t, std::string>> lines;
  for (const std::string& entry : Entries()) {
    const auto at = coverage.find(entry);
    lines.emplace_back(at == coverage.end() ? 0 : at->second, entry);
  }
  std::sort(lines.begin(), lines.end());
  std::ostringstream out;
  int64_t fewer = 0;
  for (const auto& [count, entry] : lines) {
    out << count << "  " << entry << "\n";
    fewer += count < goal;
  }
  out << fewer << " of " << lines.size() << " entries are used fewer than " << goal << " times\n";
  return out.str();
}

}  // namespace kiln::soak
