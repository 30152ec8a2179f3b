#include <algorithm>

#include "generator/front/elaborate.h"

/// Statements.
namespace kiln {
namespace {

Op UpdateOp(std::string_view op) {
  return op == "+=" ? Op::kAdd : op == "-=" ? Op::kSub : Op::kMul;
}

}  // namespace

std::vector<Action> Elaborator::ElaborateBlock(const std::vector<Stmt>& statements) {
  std::vector<Action> out;
  PushScope();
  for (const Stmt& stmt : statements) ElaborateStmt(stmt, out);
  PopScope();
  return out;
}

void Elaborator::ElaborateStmt(const Stmt& stmt, std::vector<Action>& out) {
  switch (stmt.kind) {
    case Stmt::Kind::kLet:
    case Stmt::Kind::kVar: return DefineLocal(stmt, out);
    case Stmt::Kind::kAssign: return Assign(stmt, out);
    case Stmt::Kind::kWhen: return When(stmt, out);
    case Stmt::Kind::kFor: return For(stmt, out);
    case Stmt::Kind::kAssert: return Assert(stmt, out);
    case Stmt::Kind::kCopy: return Copy(stmt, out);
    case Stmt::Kind::kWait: return Wait(stmt, out);
  }
}

int Elaborator::AddLocal(const Ident& name, DType dtype, Shape shape, Local::Kind kind) {
  const int index = static_cast<int>(kernel_.locals.size());
  kernel_.locals.push_back({name.name, name.span, dtype, std::move(shape), kind});
  Symbol symbol;
  symbol.kind = Symbol::Kind::kLocal;
  symbol.index = index;
  Declare(name, symbol);
  return index;
}

void Elaborator::DefineLocal(const Stmt& stmt, std::vector<Action>& out) {
  NodePtr value = Elaborate(*stmt.value, kBodyPlace);
  const bool is_let = stmt.kind == Stmt::Kind::kLet;
  if (is_let && value && IsConst(value) && (IsWeak(value->dtype) || value->dtype == DType::kBool)) {
    Symbol symbol;  // a constant stays weak: it is its value wherever it is named
    symbol.kind = Symbol::Kind::kConstant;
    symbol.value = value;
    Declare(stmt.name, symbol);
    return;
  }
  Action action;
  action.kind = Action::Kind::kDefine;
  action.span = stmt.span;
  DType dtype = DType::kF32;
  Shape shape;
  if (stmt.typed) {
    const auto named = ResolveDType(stmt.dtype);
    bool ok = named.has_value();
    for (const ExprPtr& e : stmt.shape) {
      const auto size = ElaborateSize(*e);
      ok = ok && size.has_value();
      shape.push_back(size.value_or(1));
    }
    if (ok) dtype = *named;
    if (value && ok) value = ConvertTo(value, dtype, "`" + stmt.name.name + "`", stmt.value->span);
    if (!ok) value = nullptr;
    if (value) {
      auto common = Broadcast(value->shape, shape, "the value and the type", stmt.value->span);
      if (!common || common->size() != shape.size()) {
        if (common) {
          Error("shape", stmt.value->span, "a value of shape " + kiln::ToString(value->shape) + " into `" +
                                               stmt.name.name + "` of shape " + kiln::ToString(shape));
        }
        value = nullptr;
      }
    }
  } else {
    value = Decide(value);
    if (value) {
      dtype = value->dtype;
      shape = value->shape;
    }
  }
  if (!value) {  // declared all the same, so that its uses do not report it again
    Symbol symbol;
    symbol.kind = Symbol::Kind::kConstant;
    symbol.value = nullptr;
    Declare(stmt.name, symbol);
    return;
  }
  action.local = AddLocal(stmt.name, dtype, shape, is_let ? Local::Kind::kLet : Local::Kind::kVar);
  action.value = value;
  action.shape = std::move(shape);
  out.push_back(std::move(action));
}

/// The target of an assignment: a ref or a var, whole, subscripted, or under a mask.
void Elaborator::Assign(const Stmt& stmt, std::vector<Action>& out) {
  const Expr& target = *stmt.target;
  const bool subscripted = target.kind == Expr::Kind::kSubscript;
  const Expr& base = subscripted ? *target.args[0] : target;
  const Symbol* symbol = base.kind == Expr::Kind::kName ? Find(base.name) : nullptr;
  if (!symbol) {
    if (base.kind == Expr::Kind::kName) {
      std::string hint = DidYouMean(base.name, VisibleNames());
      if (hint.empty()) hint = "a new value is declared: let " + base.name + " = …, or var " + base.name + " = …";
      Error("name", base.span, "`" + base.name + "` is not defined", hint);
    } else {
      Error("syntax", target.span, "only an output, a scratch buffer or a var can be assigned to");
    }
    return;
  }
  Action action;
  action.kind = Action::Kind::kStore;
  action.span = stmt.span;
  DType dtype = DType::kF32;
  Shape shape;
  if (symbol->kind == Symbol::Kind::kRef) {
    const Ref& ref = kernel_.refs[static_cast<size_t>(symbol->index)];
    if (ref.role != Role::kOutput && ref.role != Role::kScratch) {
      Error("type", base.span,
            ref.role == Role::kSemaphore ? "`" + ref.name + "` is a semaphore"
                                         : "`" + ref.name + "` is read-only",
            "only outputs, scratch buffers and vars are assigned to");
      return;
    }
    if (ref.memory == Memory::kAny) {
      Error("tier", base.span, "`" + ref.name + "` stays in HBM (memory: any); it is only copied to",
            "store into a scratch buffer and copy that");
      return;
    }
    action.ref = symbol->index;
    dtype = ref.dtype;
    shape = ref.view;
    assigned_.push_back(symbol->index);
  } else if (symbol->kind == Symbol::Kind::kLocal &&
             kernel_.locals[static_cast<size_t>(symbol->index)].kind == Local::Kind::kVar) {
    const Local& local = kernel_.locals[static_cast<size_t>(symbol->index)];
    action.local = symbol->index;
    dtype = local.dtype;
    shape = local.shape;
  } else {
    if (symbol->kind == Symbol::Kind::kConstant && !symbol->value) return;  // reported before
    if (symbol->kind == Symbol::Kind::kAbsent) {
      ElaborateName(base, kBodyPlace);
      return;
    }
    const bool value = symbol->kind == Symbol::Kind::kLocal || symbol->kind == Symbol::Kind::kConstant;
    Error("type", base.span, "`" + base.name + "` cannot be assigned to",
          value ? "a let is immutable; declare it with var" : "only outputs, scratch buffers and vars can");
    return;
  }
  const std::string what = "`" + base.name + "`";
  NodePtr current;  // the target as a value, for += and its like
  Node read;
  read.op = action.ref >= 0 ? Op::kRead : Op::kLocal;
  read.index = action.ref >= 0 ? action.ref : action.local;
  read.dtype = dtype;
  read.shape = shape;
  read.span = target.span;
  if (subscripted) {
    bool is_mask = false;
    if (target.args.size() == 2 && target.args[1]->kind != Expr::Kind::kSlice &&
        target.args[1]->kind != Expr::Kind::kEllipsis && !shape.empty()) {
      is_mask = StoreMask(*target.args[1], shape, what, action);
      if (is_mask && !action.mask) return;
    }
    if (!is_mask) {
      auto window = ElaborateSubscripts(target, shape, what, kBodyPlace);
      if (!window) {
        Elaborate(*stmt.value, kBodyPlace);
        return;
      }
      action.subscripts = window->subscripts;
      shape = window->shape;
      if (action.ref >= 0) {
        read.subscripts = action.subscripts;
      } else {
        auto whole = std::make_shared<const Node>(read);
        read.op = Op::kSlice;
        read.args = {whole};
        read.index = -1;
        read.subscripts = action.subscripts;
      }
      read.shape = shape;
    }
  }
  action.shape = shape;
  NodePtr value = Elaborate(*stmt.value, kBodyPlace);
  if (!value) return;
  if (stmt.op != "=") {
    value = Binary(UpdateOp(stmt.op), std::make_shared<const Node>(read), value, kBodyPlace, stmt.span);
    if (!value) return;
  }
  if (value->dtype != dtype && stmt.op != "=" && !IsWeak(value->dtype)) {
    Error("type", stmt.value->span,
          "`" + stmt.op + "` computes in " + std::string(Name(value->dtype)) + ", and " + what + " is " +
              std::string(Name(dtype)),
          "write " + ToString(target) + " = " + std::string(Name(dtype)) + "(" + ToString(target) + " " +
              stmt.op.substr(0, 1) + " …), or accumulate in a wider scratch buffer");
    return;
  }
  value = ConvertTo(value, dtype, what, stmt.value->span);
  if (!value) return;
  const std::string message = "a value of shape " + kiln::ToString(value->shape) + " into " + what +
                              " of shape " + kiln::ToString(shape);
  if (value->shape.size() > shape.size()) {
    Error("shape", stmt.value->span, message);
    return;
  }
  for (size_t d = 0; d < value->shape.size(); ++d) {
    const Size& extent = value->shape[value->shape.size() - 1 - d];
    if (extent.IsOne()) continue;
    if (!RequireEqual(extent, shape[shape.size() - 1 - d], stmt.value->span, message)) return;
  }
  action.value = value;
  out.push_back(std::move(action));
}

/// Whether `index` is a mask (a bool tile) rather than a subscript; sets action.mask if it fits.
bool Elaborator::StoreMask(const Expr& index, const Shape& shape, const std::string& what,
                           Action& action) {
  Diagnostics quiet;  // a first look only: the entry may be an ordinary subscript
  Elaborator probe(*this, quiet);
  NodePtr node = probe.Elaborate(index, kBodyPlace);
  if (!node || node->dtype != DType::kBool) return false;
  const std::string message = "the mask has shape " + kiln::ToString(node->shape) + " and " + what +
                              " " + kiln::ToString(shape);
  if (node->shape.size() != shape.size()) {
    Error("shape", index.span, message, "a mask has the shape of what it guards: broadcast(mask, [..])");
    return true;
  }
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!RequireEqual(node->shape[d], shape[d], index.span, message)) return true;
  }
  action.mask = Elaborate(index, kBodyPlace);
  return true;
}

void Elaborator::When(const Stmt& stmt, std::vector<Action>& out) {
  NodePtr condition = ElaborateCondition(*stmt.condition, kBodyPlace);
  if (const auto known = condition ? ConstBool(condition) : std::nullopt) {
    // A branch that cannot run is dropped unread: its names may not even exist.
    std::vector<Action> taken = ElaborateBlock(*known ? stmt.body : stmt.orelse);
    std::move(taken.begin(), taken.end(), std::back_inserter(out));
    return;
  }
  Action action;
  action.kind = Action::Kind::kWhen;
  action.span = stmt.span;
  action.condition = condition;
  action.body = ElaborateBlock(stmt.body);
  action.orelse = ElaborateBlock(stmt.orelse);
  if (condition) out.push_back(std::move(action));
}

void Elaborator::For(const Stmt& stmt, std::vector<Action>& out) {
  Action action;
  action.kind = Action::Kind::kFor;
  action.span = stmt.span;
  Place bounds = kSubscriptPlace;
  bounds.name = "a loop bound";
  action.low = stmt.low ? ElaborateIndex(*stmt.low, bounds) : MakeInt(0, DType::kIndex, stmt.span);
  action.high = ElaborateIndex(*stmt.high, bounds);
  PushScope();
  action.local = AddLocal(stmt.name, DType::kIndex, {}, Local::Kind::kLoop);
  action.body = ElaborateBlock(stmt.body);
  PopScope();
  if (action.low && action.high) out.push_back(std::move(action));
}

void Elaborator::Assert(const Stmt& stmt, std::vector<Action>& out) {
  Action action;
  action.kind = Action::Kind::kAssert;
  action.span = stmt.span;
  action.condition = ElaborateCondition(*stmt.condition, kBodyPlace);
  action.message = stmt.message;
  if (const auto known = action.condition ? ConstBool(action.condition) : std::nullopt) {
    if (!*known) Error("assert", stmt.span, "this assertion can never hold: " + stmt.message);
    return;
  }
  if (action.condition) out.push_back(std::move(action));
}

std::optional<Window> Elaborator::CopyWindow(const Expr& expr, bool target) {
  const bool subscripted = expr.kind == Expr::Kind::kSubscript;
  const Expr& base = subscripted ? *expr.args[0] : expr;
  const Symbol* symbol = RefNamed(base);
  if (!symbol) {
    if (base.kind == Expr::Kind::kName && !Find(base.name)) ElaborateName(base, kBodyPlace);
    else Error("type", expr.span, "`copy` moves between operands and scratch buffers, named with or without a subscript");
    return std::nullopt;
  }
  const Ref& ref = kernel_.refs[static_cast<size_t>(symbol->index)];
  const bool writable = ref.role == Role::kOutput || ref.role == Role::kScratch;
  const bool readable = writable || ref.role == Role::kInput;
  if (target ? !writable : !readable) {
    Error("type", base.span, "`" + ref.name + "` cannot be the " + (target ? "target" : "source") + " of a copy",
          target ? "outputs and scratch buffers can" : "inputs, outputs and scratch buffers can");
    return std::nullopt;
  }
  Window window;
  window.ref = symbol->index;
  window.span = expr.span;
  window.shape = ref.view;
  if (subscripted) {
    auto entries = ElaborateSubscripts(expr, ref.view, "`" + ref.name + "`", kBodyPlace);
    if (!entries) return std::nullopt;
    window.subscripts = std::move(entries->subscripts);
    window.shape = std::move(entries->shape);
  }
  if (target) assigned_.push_back(symbol->index);
  return window;
}

bool Elaborator::SemaphoreSlot(const Expr& expr, Action& action) {
  const bool subscripted = expr.kind == Expr::Kind::kSubscript;
  const Expr& base = subscripted ? *expr.args[0] : expr;
  const Symbol* symbol = RefNamed(base);
  if (!symbol || kernel_.refs[static_cast<size_t>(symbol->index)].role != Role::kSemaphore) {
    if (!symbol && base.kind == Expr::Kind::kName && !Find(base.name)) ElaborateName(base, kBodyPlace);
    else Error("type", expr.span, "a semaphore is needed here", "declare it in scratch: sem: {semaphore: dma, count: 2}");
    return false;
  }
  const Ref& ref = kernel_.refs[static_cast<size_t>(symbol->index)];
  action.ref = symbol->index;
  if (!subscripted) {
    if (ref.count != 1) {
      Error("shape", expr.span, "`" + ref.name + "` has " + std::to_string(ref.count) + " semaphores",
            "name one: " + ref.name + "[0]");
      return false;
    }
    action.slot = MakeInt(0, DType::kIndex, expr.span);
    return true;
  }
  auto entries = ElaborateSubscripts(expr, {Size(ref.count)}, "`" + ref.name + "`", kBodyPlace);
  if (!entries) return false;
  if (entries->subscripts[0].range) {
    Error("shape", expr.span, "one semaphore is needed, not a range of them");
    return false;
  }
  action.slot = entries->subscripts[0].start;
  return true;
}

void Elaborator::Copy(const Stmt& stmt, std::vector<Action>& out) {
  Action action;
  action.kind = Action::Kind::kCopy;
  action.span = stmt.span;
  const auto source = CopyWindow(*stmt.target, false);
  const auto target = CopyWindow(*stmt.value, true);
  const bool slot = SemaphoreSlot(*stmt.semaphore, action);
  if (!source || !target || !slot) return;
  const Ref& from = kernel_.refs[static_cast<size_t>(source->ref)];
  const Ref& to = kernel_.refs[static_cast<size_t>(target->ref)];
  if (from.dtype != to.dtype) {
    Error("type", stmt.span, "a copy of " + std::string(Name(from.dtype)) + " into " + std::string(Name(to.dtype)),
          "a copy moves bytes; convert in the body");
    return;
  }
  const std::string message = "a copy of shape " + kiln::ToString(source->shape) + " into shape " +
                              kiln::ToString(target->shape);
  if (source->shape.size() != target->shape.size()) {
    Error("shape", stmt.span, message);
    return;
  }
  for (size_t d = 0; d < source->shape.size(); ++d) {
    if (!RequireEqual(source->shape[d], target->shape[d], stmt.span, message)) return;
  }
  action.source = *source;
  action.target = *target;
  out.push_back(std::move(action));
}

void Elaborator::Wait(const Stmt& stmt, std::vector<Action>& out) {
  Action action;
  action.kind = Action::Kind::kWait;
  action.span = stmt.span;
  if (SemaphoreSlot(*stmt.semaphore, action)) out.push_back(std::move(action));
}

}  // namespace kiln
