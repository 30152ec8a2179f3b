#include <algorithm>

#include "generator/elaborate/elaborate.h"
#include "generator/syntax/names.h"

/// Statements.
namespace kiln {
namespace {

Op UpdateOp(std::string_view op) {
  return op == "+=" ? Op::kAdd : op == "-=" ? Op::kSub : Op::kMul;
}

}  // namespace

Actions Elaborator::ElaborateBlock(const std::vector<Stmt>& statements) {
  Actions out;
  PushScope();
  for (const Stmt& stmt : statements) ElaborateStmt(stmt, out);
  PopScope();
  return out;
}

void Elaborator::ElaborateStmt(const Stmt& stmt, Actions& out) {
  switch (stmt.kind) {
    case Stmt::Kind::kLet:
    case Stmt::Kind::kVar:
      return DefineLocals(stmt, out);
    case Stmt::Kind::kAssign:
      return Assign(stmt, out);
    case Stmt::Kind::kWhen:
      return When(stmt, out);
    case Stmt::Kind::kFor:
      return For(stmt, out);
    case Stmt::Kind::kWhile:
      return While(stmt, out);
    case Stmt::Kind::kAssert:
      return Assert(stmt, out);
    case Stmt::Kind::kCopy:
      return Copy(stmt, out);
    case Stmt::Kind::kWait:
      return Wait(stmt, out);
  }
}

int Elaborator::AddLocal(const Ident& name, DType dtype, Shape shape, Local::Kind kind) {
  const int index = static_cast<int>(kernel_.locals.size());
  kernel_.locals.push_back({name.name, name.span, dtype, std::move(shape), kind});
  Symbol symbol;
  symbol.kind = Symbol::Kind::kLocal;
  symbol.index = index;
  CheckNewName(name, diagnostics_);
  Declare(name, symbol);
  return index;
}

/// The declared type of a var, and its value as that type; null when either is at fault.
NodePtr Elaborator::TypedValue(const Stmt& stmt, NodePtr value, Shape& shape) {
  const auto dtype = ResolveDType(stmt.dtype);
  bool ok = dtype.has_value();
  for (const ExprPtr& e : stmt.shape) {
    const auto size = ElaborateSize(*e);
    ok = ok && size.has_value();
    shape.push_back(size.value_or(1));
  }
  if (!ok || !value) return nullptr;
  value = ConvertTo(value, *dtype, "`" + stmt.name.name + "`", stmt.value->span);
  if (!value) return nullptr;
  const auto common = Broadcast(value->shape, shape, "the value and the type", stmt.value->span);
  if (!common) return nullptr;
  if (common->size() != shape.size()) {
    return Error("shape", stmt.value->span,
                 "a value of shape " + kiln::ToString(value->shape) + " into `" + stmt.name.name +
                     "` of shape " + kiln::ToString(shape));
  }
  return value;
}

/// All values come before any of the names.
void Elaborator::DefineLocals(const Stmt& stmt, Actions& out) {
  if (stmt.IsOneCall()) return DefineResults(stmt, out);
  const NodePtr first = Elaborate(*stmt.value, kBodySetting);
  std::vector<NodePtr> values;
  for (const Naming& other : stmt.others) values.push_back(Elaborate(*other.value, kBodySetting));
  DefineLocal(stmt, first, out);
  for (size_t k = 0; k < values.size(); ++k) {
    Stmt one = stmt;
    one.name = stmt.others[k].name;
    one.value = stmt.others[k].value;
    DefineLocal(one, values[k], out);
  }
}

void Elaborator::DefineLocal(const Stmt& stmt, NodePtr value, Actions& out) {
  const bool is_let = stmt.kind == Stmt::Kind::kLet;
  const bool constant = IsConst(value) && (IsWeak(value->dtype) || value->dtype == DType::kBool);
  Shape shape;
  if (stmt.typed) {
    value = TypedValue(stmt, value, shape);
  } else if (!(is_let && constant)) {
    value = Decide(value);
    if (value) shape = value->shape;
  }
  if (!value || (is_let && constant)) {
    // A constant stays weak: it is its value wherever it is named. A faulty value is declared all
    // the same (as no value), so that its uses are not reported again.
    Symbol symbol;
    symbol.kind = Symbol::Kind::kConstant;
    symbol.value = value;
    CheckNewName(stmt.name, diagnostics_);
    Declare(stmt.name, symbol);
    return;
  }
  const int local = AddLocal(stmt.name, value->dtype, std::move(shape),
                             is_let ? Local::Kind::kLet : Local::Kind::kVar);
  out.push_back({stmt.span, action::Define{local, value}});
}

/// The ref or var that `base` names, as something to assign to; reports what else it is.
bool Elaborator::ResolveTarget(const Expr& base, StoreTarget& out) {
  const Symbol* symbol = base.kind == Expr::Kind::kName ? Find(base.name) : nullptr;
  if (base.kind != Expr::Kind::kName) {
    Error("syntax", base.span, "only an output, a scratch buffer or a var can be assigned to");
    return false;
  }
  out.what = "`" + base.name + "`";
  if (!symbol) {
    std::string hint = DidYouMean(base.name, VisibleNames());
    if (hint.empty())
      hint = "declare a new value: let " + base.name + " = …, or var " + base.name + " = …";
    Error("name", base.span, out.what + " is not defined", hint);
    return false;
  }
  if (symbol->kind == Symbol::Kind::kRef) return ResolveRefTarget(symbol->index, base.span, out);
  const bool local = symbol->kind == Symbol::Kind::kLocal;
  if (local && kernel_[LocalId(symbol->index)].kind == Local::Kind::kVar) {
    const Local& var = kernel_[LocalId(symbol->index)];
    out.local = symbol->index;
    out.dtype = var.dtype;
    out.shape = var.shape;
    return true;
  }
  const bool constant = symbol->kind == Symbol::Kind::kConstant;
  if (constant && !symbol->value)
    return false;  // its declaration was at fault and has been reported
  if (symbol->kind == Symbol::Kind::kAbsent) {
    ElaborateName(base, kBodySetting);
  } else {
    Error("type", base.span, out.what + " cannot be assigned to",
          local || constant ? "a let is immutable; declare it with var"
                            : "only outputs, scratch buffers and vars can");
  }
  return false;
}

bool Elaborator::ResolveRefTarget(int index, Span span, StoreTarget& out) {
  const Ref& ref = kernel_[RefId(index)];
  if (ref.role != Role::kOutput && ref.role != Role::kScratch) {
    Error("type", span,
          out.what + (ref.role == Role::kSemaphore ? " is a semaphore" : " is read-only"),
          "only outputs, scratch buffers and vars are assigned to");
    return false;
  }
  if (ref.memory == Memory::kAny) {
    Error("tier", span, out.what + " stays in HBM (memory: any); it is only copied to",
          "store into a scratch buffer and copy that");
    return false;
  }
  out.ref = index;
  out.dtype = ref.dtype;
  out.shape = ref.view;
  assigned_.push_back(index);
  return true;
}

/// Narrows the target to its subscripts, its mask, or both.
bool Elaborator::NarrowTarget(const Expr& subscripted, StoreTarget& out) {
  const Expr& only = *subscripted.args[1];
  if (const Expr& window = *subscripted.args[0]; window.kind == Expr::Kind::kSubscript) {
    if (!NarrowTarget(window, out)) return false;
    if (out.shape.empty()) {
      Error("shape", subscripted.span, "one element of " + out.what + " takes no mask",
            "write `when c:` around the store");
      return false;
    }
    if (!out.mask && StoreMask(only, out)) return out.mask != nullptr;
    Error("type", only.span, "what follows a window of " + out.what + " must be a mask of it",
          "write one subscript: ref[i, j], or ref[i, a:b][mask]");
    return false;
  }
  const bool may_be_mask = subscripted.args.size() == 2 && only.kind != Expr::Kind::kSlice &&
                           only.kind != Expr::Kind::kEllipsis && !out.shape.empty();
  if (may_be_mask && StoreMask(only, out)) return out.mask != nullptr;
  auto window = ElaborateSubscripts(subscripted, out.shape, out.what, kBodySetting);
  if (!window) return false;
  out.subscripts = std::move(window->subscripts);
  out.shape = std::move(window->shape);
  return true;
}

/// What the target holds now, for += and its like.
NodePtr Elaborator::ReadTarget(const StoreTarget& target, Span span) const {
  Node read;
  read.op = target.ref >= 0 ? Op::kRead : Op::kLocal;
  read.index = target.ref >= 0 ? target.ref : target.local;
  read.dtype = target.dtype;
  read.span = span;
  const bool slice_of_var = target.ref < 0 && !target.subscripts.empty();
  if (slice_of_var) {
    read.shape = kernel_[LocalId(target.local)].shape;
    Node slice;
    slice.op = Op::kSlice;
    slice.dtype = target.dtype;
    slice.args = {std::make_shared<const Node>(std::move(read))};
    read = std::move(slice);
    read.span = span;
  }
  read.subscripts = target.subscripts;
  read.shape = target.shape;
  return std::make_shared<const Node>(std::move(read));
}

/// The value to store, converted and of a shape that broadcasts to the target's; null if it is not.
NodePtr Elaborator::StoredValue(const Stmt& stmt, const StoreTarget& target) {
  NodePtr value = Elaborate(*stmt.value, kBodySetting);
  if (!value) return nullptr;
  if (stmt.op != "=") {
    value = Binary(UpdateOp(stmt.op), ReadTarget(target, stmt.target->span), value, kBodySetting,
                   stmt.span);
    if (!value) return nullptr;
    if (value->dtype != target.dtype && !IsWeak(value->dtype)) {
      const std::string to(Name(target.dtype)), name = ToString(*stmt.target);
      return Error("type", stmt.value->span,
                   "`" + stmt.op + "` computes in " + std::string(Name(value->dtype)) + ", and " +
                       target.what + " is " + to,
                   "write " + name + " = " + to + "(" + name + " " + stmt.op.substr(0, 1) +
                       " …), or accumulate in a wider scratch buffer");
    }
  }
  value = ConvertTo(value, target.dtype, target.what, stmt.value->span);
  if (!value) return nullptr;
  const std::string message = "a value of shape " + kiln::ToString(value->shape) + " into " +
                              target.what + " of shape " + kiln::ToString(target.shape);
  const size_t rank = value->shape.size();
  if (rank > target.shape.size()) return Error("shape", stmt.value->span, message);
  for (size_t d = 0; d < rank; ++d) {
    const Size& extent = value->shape[rank - 1 - d];
    if (extent.IsOne()) continue;
    if (!RequireEqual(extent, target.shape[target.shape.size() - 1 - d], stmt.value->span, message))
      return nullptr;
  }
  return value;
}

void Elaborator::Assign(const Stmt& stmt, Actions& out) {
  const bool subscripted = stmt.target->kind == Expr::Kind::kSubscript;
  StoreTarget target;
  const Expr* base = stmt.target.get();
  while (base->kind == Expr::Kind::kSubscript) base = base->args[0].get();
  const bool usable =
      ResolveTarget(*base, target) && (!subscripted || NarrowTarget(*stmt.target, target));
  if (!usable) {
    Elaborate(*stmt.value, kBodySetting);  // for its own errors
    return;
  }
  NodePtr value = StoredValue(stmt, target);
  if (!value) return;
  action::Store store;
  store.ref = target.ref;
  store.local = target.local;
  store.subscripts = std::move(target.subscripts);
  store.shape = std::move(target.shape);
  store.mask = std::move(target.mask);
  store.value = std::move(value);
  out.push_back({stmt.span, std::move(store)});
}

/// Whether `index` is a mask (a bool tile) rather than a subscript; sets out.mask if it fits.
bool Elaborator::StoreMask(const Expr& index, StoreTarget& out) {
  Diagnostics quiet;  // a first look only: the entry may be an ordinary subscript
  Elaborator probe(*this, quiet);
  const NodePtr node = probe.Elaborate(index, kBodySetting);
  if (!node || node->dtype != DType::kBool) return false;
  const std::string message = "the mask has shape " + kiln::ToString(node->shape) + " and " +
                              out.what + " " + kiln::ToString(out.shape);
  if (node->shape.size() != out.shape.size()) {
    Error("shape", index.span, message,
          "a mask has the shape of what it guards: broadcast(mask, [..])");
    return true;
  }
  for (size_t d = 0; d < out.shape.size(); ++d) {
    if (!RequireEqual(node->shape[d], out.shape[d], index.span, message)) return true;
  }
  out.mask = Elaborate(index, kBodySetting);
  return true;
}

void Elaborator::When(const Stmt& stmt, Actions& out) {
  NodePtr condition = ElaborateCondition(*stmt.condition, kBodySetting);
  if (const auto known = condition ? ConstBool(condition) : std::nullopt) {
    // A branch that cannot run is dropped unread: its names may not even exist.
    Actions taken = ElaborateBlock(*known ? stmt.body : stmt.orelse);
    std::move(taken.begin(), taken.end(), std::back_inserter(out));
    return;
  }
  action::When when;
  when.condition = condition;
  when.body = ElaborateBlock(stmt.body);
  when.orelse = ElaborateBlock(stmt.orelse);
  if (condition) out.push_back({stmt.span, std::move(when)});
}

void Elaborator::For(const Stmt& stmt, Actions& out) {
  action::For loop;
  Setting bounds = kSubscriptSetting;
  bounds.name = "a loop bound";
  loop.low = stmt.low ? ElaborateIndex(*stmt.low, bounds) : MakeInt(0, DType::kIndex, stmt.span);
  loop.high = ElaborateIndex(*stmt.high, bounds);
  const auto low = ConstInt(loop.low), high = ConstInt(loop.high);
  if (low && high && *high - *low == 1) return OneTurn(stmt, *low, out);
  PushScope();
  loop.local = AddLocal(stmt.name, DType::kIndex, {}, Local::Kind::kLoop);
  loop.body = ElaborateBlock(stmt.body);
  PopScope();
  if (loop.low && loop.high) out.push_back({stmt.span, std::move(loop)});
}

/// A loop of one turn is that turn: slices that begin at its counter are of known places then.
void Elaborator::OneTurn(const Stmt& loop, int64_t counter, Actions& out) {
  PushScope();
  Symbol symbol;
  symbol.kind = Symbol::Kind::kConstant;
  symbol.value = MakeInt(counter, DType::kWeakInt, loop.span);
  CheckNewName(loop.name, diagnostics_);
  Declare(loop.name, symbol);
  Actions turn = ElaborateBlock(loop.body);
  PopScope();
  std::move(turn.begin(), turn.end(), std::back_inserter(out));
}

void Elaborator::While(const Stmt& stmt, Actions& out) {
  action::While loop;
  loop.condition = ElaborateCondition(*stmt.condition, kBodySetting);
  if (stmt.high) loop.most = ElaborateSize(*stmt.high);
  if (const auto known = loop.condition ? ConstBool(loop.condition) : std::nullopt) {
    if (!*known) return;  // dropped unread, as a branch is
    Error("assert", stmt.condition->span, "this loop never ends, as its condition always holds",
          "let it depend on a `var` that the loop changes");
    return;
  }
  loop.body = ElaborateBlock(stmt.body);
  if (loop.condition && (loop.most || !stmt.high)) out.push_back({stmt.span, std::move(loop)});
}

void Elaborator::Assert(const Stmt& stmt, Actions& out) {
  NodePtr condition = ElaborateCondition(*stmt.condition, kBodySetting);
  if (const auto known = condition ? ConstBool(condition) : std::nullopt) {
    if (!*known) Error("assert", stmt.span, "this assertion can never hold: " + stmt.message);
    return;
  }
  if (condition) out.push_back({stmt.span, action::Assert{std::move(condition), stmt.message}});
}

}  // namespace kiln
