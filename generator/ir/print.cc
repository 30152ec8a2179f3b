#include <charconv>
#include <cmath>

#include "generator/ir/kernel.h"

/// The stable text form of a Kernel and of its expressions.
namespace kiln {
namespace {

std::string FloatText(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

bool Infix(Binds binds) {
  return binds != Binds::kCall && binds != Binds::kUnary && binds != Binds::kNot &&
         binds != Binds::kIf;
}

Binds Tighter(Binds binds) { return static_cast<Binds>(static_cast<uint8_t>(binds) + 1); }

class Printer {
 public:
  explicit Printer(const Kernel& kernel) : kernel_(kernel) {}

  std::string Print(const Node& node, Binds at_least = Binds::kLowest) const {
    const Binds own = RowOf(node.op).binds;
    std::string text = Bare(node, own);
    return own < at_least ? "(" + text + ")" : text;
  }

  std::string Subscripts(const std::vector<Subscript>& subscripts) const {
    if (subscripts.empty()) return "";
    std::string out;
    for (const Subscript& s : subscripts) {
      if (!out.empty()) out += ", ";
      const std::string start = Print(*s.start);
      const std::string stride = s.stride == 1 ? "" : ", stride=" + std::to_string(s.stride);
      const std::string size =
          s.count ? Print(*s.count) + ", most=" + s.size.ToString() : s.size.ToString();
      out += s.range ? "ds(" + start + ", " + size + stride + ")" : start;
    }
    return "[" + out + "]";
  }

 private:
  std::string Bare(const Node& node, Binds own) const {
    const size_t index = static_cast<size_t>(node.index);
    switch (node.op) {
      case Op::kConst:
        if (node.dtype == DType::kBool) return node.int_value ? "true" : "false";
        return IsFloat(node.dtype) ? FloatText(node.float_value) : std::to_string(node.int_value);
      case Op::kAxis:
        return kernel_.axes[index].name;
      case Op::kDim:
        return kernel_.dims[index].name;
      case Op::kLocal:
        return kernel_.locals[index].name;
      case Op::kRead:
        return kernel_.refs[index].name + Subscripts(node.subscripts);
      case Op::kSteps:
      case Op::kFirstStep:
      case Op::kLastStep:
        return std::string(Name(node.op)) + "(" + kernel_.axes[index].name + ")";
      case Op::kFirstVisit:
      case Op::kLastVisit:
      case Op::kInside:
        return std::string(Name(node.op)) + "(" + kernel_.refs[index].name + ")";
      case Op::kAt:
        return "at(" + kernel_.refs[index].name + ", " + std::to_string(node.axes[0]) + ")";
      case Op::kCast:
        return std::string(Name(node.dtype)) + "(" + Print(*node.args[0]) + ")";
      case Op::kBitcast:
        return "bitcast(" + std::string(Name(node.dtype)) + ", " + Print(*node.args[0]) + ")";
      case Op::kSlice:
        return Print(*node.args[0], Binds::kCall) + Subscripts(node.subscripts);
      case Op::kIf:
        return Print(*node.args[1], Binds::kOr) + " if " + Print(*node.args[0], Binds::kOr) +
               " else " + Print(*node.args[2], Binds::kIf);
      case Op::kNot:
        return "not " + Print(*node.args[0], Binds::kNot);
      case Op::kNeg:
      case Op::kBitNot:
        return std::string(Name(node.op)) + Print(*node.args[0], Binds::kUnary);
      default:
        break;
    }
    if (Infix(own)) {
      const bool right = node.op == Op::kPow;
      return Print(*node.args[0], right ? Tighter(own) : own) + " " + std::string(Name(node.op)) +
             " " + Print(*node.args[1], right ? own : Tighter(own));
    }
    return Call(node);
  }

  std::string Call(const Node& node) const {
    std::string out;
    const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
    if (node.op == Op::kConcat) {
      std::string list;
      for (const NodePtr& arg : node.args) list += (list.empty() ? "" : ", ") + Print(*arg);
      add("[" + list + "]");
    } else {
      for (const NodePtr& arg : node.args) add(Print(*arg));
    }
    if (node.op == Op::kTopPositions) add(node.shape[static_cast<size_t>(node.axes[0])].ToString());
    if (node.op == Op::kIota || node.op == Op::kBroadcast || node.op == Op::kReshape)
      add(ToString(node.shape));
    if (node.op == Op::kTranspose) {
      add(AxisList(node.axes));
    } else if (node.axes.size() == 1) {
      add("axis=" + std::to_string(node.axes[0]));
    } else if (!node.axes.empty()) {
      add("axis=" + AxisList(node.axes));
    }
    if (node.keep) add("keep=true");
    if (node.descending) add("descending=true");
    return std::string(Name(node.op)) + "(" + out + ")";
  }

  static std::string AxisList(const std::vector<int>& axes) {
    std::string out;
    for (int axis : axes) out += (out.empty() ? "" : ", ") + std::to_string(axis);
    return "[" + out + "]";
  }

  const Kernel& kernel_;
};

std::string Typed(DType dtype, const Shape& shape) {
  return std::string(Name(dtype)) + (shape.empty() ? "" : ToString(shape));
}

const char* RoleName(Role role) {
  switch (role) {
    case Role::kArgument:
      return "argument";
    case Role::kPrefetch:
      return "prefetch";
    case Role::kScalar:
      return "scalar";
    case Role::kInput:
      return "input";
    case Role::kOutput:
      return "output";
    case Role::kScratch:
      return "scratch";
    case Role::kSemaphore:
      return "semaphore";
  }
  return "";
}

const char* MemoryName(Memory memory) {
  return memory == Memory::kVmem ? "vmem" : memory == Memory::kSmem ? "smem" : "any";
}

std::string BlockText(const BlockDim& dim) {
  switch (dim.kind) {
    case BlockDim::Kind::kBlocked:
      return dim.size.ToString();
    case BlockDim::Kind::kAll:
      return "all";
    case BlockDim::Kind::kSqueezed:
      return "null";
    case BlockDim::Kind::kElement:
      return "element(" + dim.size.ToString() + ", halo=(" + dim.halo_low.ToString() + ", " +
             dim.halo_high.ToString() + "))";
    case BlockDim::Kind::kBounded:
      return "bounded(" + dim.size.ToString() + ")";
  }
  return "";
}

class KernelPrinter {
 public:
  explicit KernelPrinter(const Kernel& kernel) : kernel_(kernel), print_(kernel) {}

  std::string Run() {
    Line("kernel " + kernel_.name + (kernel_.instance.empty() ? "" : ":" + kernel_.instance));
    for (const Param& p : kernel_.params) Line("param " + p.name + " = " + p.value);
    for (const Dim& d : kernel_.dims) Line(DimText(d));
    for (const Require& r : kernel_.require) Line("require " + print_.Print(*r.condition));
    for (const Ref& r : kernel_.refs) RefLines(r);
    for (const HostCall& c : kernel_.prepare) Line(HostText(c));
    for (const Axis& a : kernel_.axes) {
      Line("axis " + a.name + ": " + print_.Print(*a.steps) +
           (a.parallel ? ", parallel" : ", arbitrary") +
           (a.outside ? ", outside of the pipeline" : ""));
    }
    for (const Obligation& o : kernel_.obligations) {
      Line("check[" + o.rule + "] " + o.left.ToString() +
           (o.kind == Obligation::Kind::kEqual ? " == " : " >= ") + o.right.ToString());
    }
    for (const Variant& v : kernel_.variants) {
      std::string text = "variant when " + print_.Print(*v.when) + ":";
      for (const auto& [name, value] : v.set) text += " " + name + "=" + value;
      if (v.fixed_blocks) text += ", blocks fixed";
      if (v.lock) text += " (of the lock)";
      Line(text);
    }
    Line("body:");
    Block(kernel_.body, 1);
    if (!kernel_.epilogue.empty()) {
      std::string outputs;
      for (int ref : kernel_.epilogue_outputs) outputs += " " + Named(ref);
      Line("epilogue of" + outputs + ":");
      Block(kernel_.epilogue, 1);
    }
    for (const Reference& r : kernel_.references) {
      if (!r.file.empty()) Line("reference " + Named(r.ref) + " = @" + r.file);
    }
    if (kernel_.reference) {
      for (const Action& a : kernel_.reference->body) {
        const auto& store = std::get<action::Store>(a.what);
        Line("reference " + kernel_.reference->refs[static_cast<size_t>(store.ref)].name + " = " +
             ToString(*store.value, *kernel_.reference));
      }
    }
    return std::move(out_);
  }

 private:
  void Line(const std::string& text, int indent = 0) {
    out_ += std::string(static_cast<size_t>(indent) * 2, ' ') + text + "\n";
  }
  const std::string& Named(int ref) const { return kernel_[RefId(ref)].name; }
  const Local& LocalAt(int local) const { return kernel_[LocalId(local)]; }

  static std::string DimText(const Dim& d) {
    std::string text = "dim " + d.name;
    if (d.fixed) text += " = " + std::to_string(*d.fixed);
    if (d.multiple_of != 1) text += ", multiple of " + std::to_string(d.multiple_of);
    if (d.min != 0) text += ", at least " + std::to_string(d.min);
    if (d.max) text += ", at most " + std::to_string(*d.max);
    return text;
  }

  void RefLines(const Ref& r) {
    std::string text = std::string(RoleName(r.role)) + " " + r.name + ": ";
    if (r.role == Role::kSemaphore) {
      text += "dma, count ";
      for (size_t d = 0; d < r.counts.size(); ++d)
        text += (d == 0 ? "" : ", ") + std::to_string(r.counts[d]);
      Line(text);
      return;
    }
    text += Typed(r.dtype, r.array) + " in " + MemoryName(r.memory);
    if (r.view_of >= 0) text += ", view of " + Named(r.view_of);
    if (r.alias >= 0) text += ", alias of " + Named(r.alias);
    if (r.pad) text += ", pad " + print_.Print(*r.pad);
    if (r.init) text += ", init " + print_.Print(*r.init);
    if (r.init_undefined) text += ", init undefined";
    if (r.buffers != 2) text += ", buffers " + std::to_string(r.buffers);
    if (r.prepared) text += ", prepared";
    Line(text);
    if (r.block.empty()) return;
    std::string block, index;
    for (const BlockDim& d : r.block) {
      block += (block.empty() ? "" : ", ") + BlockText(d);
      const std::string start = print_.Print(*d.index);
      index += (index.empty() ? "" : ", ") +
               (d.extent ? "ds(" + start + ", " + print_.Print(*d.extent) + ")" : start);
    }
    Line("block " + block + " at " + index + " -> " + ToString(r.view), 1);
  }

  std::string HostText(const HostCall& c) const {
    std::string results, arguments;
    for (int ref : c.results)
      results += (results.empty() ? "" : ", ") + (ref < 0 ? "?" : Named(ref));
    for (const HostArgument& a : c.arguments) {
      arguments += (arguments.empty() ? "" : ", ") + (a.keyword.empty() ? "" : a.keyword + "=") +
                   (a.ref >= 0 ? Named(a.ref)
                    : a.value  ? print_.Print(*a.value)
                               : "?");
    }
    return "prepare " + results + " = " + c.function + "(" + arguments + ")" +
           (c.header.empty() ? "" : " from " + c.header);
  }

  std::string WindowText(const Window& w) const {
    return Named(w.ref) + print_.Subscripts(w.subscripts);
  }

  void Block(const Actions& actions, int indent) {
    for (const Action& action : actions) Statement(action, indent);
  }

  void Statement(const Action& action, int indent) {
    Match(
        action, [&](const action::Define& a) { Define(a, indent); },
        [&](const action::Store& a) {
          const std::string target = a.ref >= 0 ? Named(a.ref) : LocalAt(a.local).name;
          const std::string window =
              a.mask ? "[" + print_.Print(*a.mask) + "]" : print_.Subscripts(a.subscripts);
          Line(target + window + " = " + print_.Print(*a.value), indent);
        },
        [&](const action::When& a) {
          Line("when " + print_.Print(*a.condition) + ":", indent);
          Block(a.body, indent + 1);
          if (a.orelse.empty()) return;
          Line("else:", indent);
          Block(a.orelse, indent + 1);
        },
        [&](const action::For& a) {
          Line("for " + LocalAt(a.local).name + " in range(" + print_.Print(*a.low) + ", " +
                   print_.Print(*a.high) + "):",
               indent);
          Block(a.body, indent + 1);
        },
        [&](const action::While& a) {
          Line("while " + print_.Print(*a.condition) +
                   (a.most ? ", most=" + a.most->ToString() : "") + ":",
               indent);
          Block(a.body, indent + 1);
        },
        [&](const action::Assert& a) { Line("assert " + print_.Print(*a.condition), indent); },
        [&](const action::Copy& a) {
          Line("copy " + WindowText(a.source) + " -> " + WindowText(a.target) + ", " +
                   SlotText(a.semaphore, a.slot),
               indent);
        },
        [&](const action::Wait& a) {
          Line("wait " + SlotText(a.semaphore, a.slot) +
                   (a.window ? ", " + WindowText(*a.window) : ""),
               indent);
        });
  }

  std::string SlotText(int semaphore, const std::vector<NodePtr>& slot) {
    std::string out;
    for (const NodePtr& at : slot) out += (out.empty() ? "[" : ", ") + print_.Print(*at);
    return Named(semaphore) + out + "]";
  }

  void Define(const action::Define& a, int indent) {
    const Local& l = LocalAt(a.local);
    Line((l.kind == Local::Kind::kVar ? "var " : "let ") + l.name + ": " + Typed(l.dtype, l.shape) +
             " = " + print_.Print(*a.value),
         indent);
  }

  const Kernel& kernel_;
  Printer print_;
  std::string out_;
};

}  // namespace

std::string ToString(const Node& node, const Kernel& kernel) { return Printer(kernel).Print(node); }

std::string ToString(const Kernel& kernel) { return KernelPrinter(kernel).Run(); }

}  // namespace kiln
