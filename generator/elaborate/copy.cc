#include "generator/elaborate/elaborate.h"

/// Copies, waits, and what they name.
namespace kiln {
namespace {

/// Which dimensions of a window have a size that only a call knows.
std::vector<bool> CountsOf(const Window& window) {
  std::vector<bool> counts;
  for (const Subscript& subscript : window.subscripts) {
    if (subscript.range) counts.push_back(subscript.count != nullptr);
  }
  counts.resize(window.shape.size());
  return counts;
}

}  // namespace

std::optional<Window> Elaborator::CopyWindow(const Expr& expr, bool target) {
  const bool subscripted = expr.kind == Expr::Kind::kSubscript;
  const Expr& base = subscripted ? *expr.args[0] : expr;
  const Symbol* symbol = RefNamed(base);
  if (!symbol) {
    if (base.kind == Expr::Kind::kName && !Find(base.name))
      ElaborateName(base, kBodySetting);
    else
      Error("type", expr.span,
            "`copy` moves between operands and scratch buffers, named with or without a subscript");
    return std::nullopt;
  }
  const Ref& ref = kernel_[RefId(symbol->index)];
  const bool writable = ref.role == Role::kOutput || ref.role == Role::kScratch;
  const bool readable = writable || ref.role == Role::kInput;
  if (target ? !writable : !readable) {
    Error("type", base.span,
          "`" + ref.name + "` cannot be the " + (target ? "target" : "source") + " of a copy",
          target ? "outputs and scratch buffers can" : "inputs, outputs and scratch buffers can");
    return std::nullopt;
  }
  Window window;
  window.ref = symbol->index;
  window.span = expr.span;
  window.shape = ref.view;
  if (subscripted) {
    Setting setting = kBodySetting;
    setting.most = true;
    auto entries = ElaborateSubscripts(expr, ref.view, "`" + ref.name + "`", setting);
    if (!entries) return std::nullopt;
    for (const Subscript& subscript : entries->subscripts) {
      if (subscript.stride == 1) continue;
      Error("type", subscript.span,
            "a copy moves neighbours; this window of `" + ref.name + "` has a stride of " +
                std::to_string(subscript.stride),
            "copy all of it, and take the stride where it is read");
      return std::nullopt;
    }
    window.subscripts = std::move(entries->subscripts);
    window.shape = std::move(entries->shape);
  }
  if (target) assigned_.push_back(symbol->index);
  return window;
}

/// The semaphore that a copy or a wait names.
std::optional<action::Wait> Elaborator::SemaphoreSlot(const Expr& expr) {
  const bool subscripted = expr.kind == Expr::Kind::kSubscript;
  const Expr& base = subscripted ? *expr.args[0] : expr;
  const Symbol* symbol = RefNamed(base);
  if (!symbol || kernel_[RefId(symbol->index)].role != Role::kSemaphore) {
    if (!symbol && base.kind == Expr::Kind::kName && !Find(base.name))
      ElaborateName(base, kBodySetting);
    else
      Error("type", expr.span, "a semaphore is needed here",
            "declare it in scratch: sem: {semaphore: dma, count: 2}");
    return std::nullopt;
  }
  const int semaphore = symbol->index;
  const Ref& ref = kernel_[RefId(semaphore)];
  if (!subscripted) {
    const std::vector<NodePtr> first(ref.counts.size(), MakeInt(0, DType::kIndex, expr.span));
    if (ref.CountOfSemaphores() == 1) return action::Wait{semaphore, first, {}};
    std::string zeros;
    for (size_t d = 0; d < ref.counts.size(); ++d) zeros += d == 0 ? "0" : ", 0";
    Error("shape", expr.span,
          "`" + ref.name + "` has " + std::to_string(ref.CountOfSemaphores()) + " semaphores",
          "name one: " + ref.name + "[" + zeros + "]");
    return std::nullopt;
  }
  const Shape shape(ref.counts.begin(), ref.counts.end());
  auto entries = ElaborateSubscripts(expr, shape, "`" + ref.name + "`", kBodySetting);
  if (!entries) return std::nullopt;
  if (!entries->shape.empty()) {
    Error("shape", expr.span, "one semaphore is needed, not a range of them");
    return std::nullopt;
  }
  action::Wait on{semaphore, {}, {}};
  for (Subscript& subscript : entries->subscripts) on.slot.push_back(std::move(subscript.start));
  return on;
}

void Elaborator::Copy(const Stmt& stmt, Actions& out) {
  const auto source = CopyWindow(*stmt.target, false);
  const auto target = CopyWindow(*stmt.value, true);
  const auto on = SemaphoreSlot(*stmt.semaphore);
  if (!source || !target || !on) return;
  const Ref& from = kernel_[RefId(source->ref)];
  const Ref& to = kernel_[RefId(target->ref)];
  if (from.dtype != to.dtype) {
    Error("type", stmt.span,
          "a copy of " + std::string(Name(from.dtype)) + " into " + std::string(Name(to.dtype)),
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
  if (CountsOf(*source) != CountsOf(*target)) {
    Error("shape", stmt.span, "only one end of the copy has a size known at run time",
          "write ds(start, size, most=…) in the same place of the other end");
    return;
  }
  out.push_back({stmt.span, action::Copy{*source, *target, on->semaphore, on->slot}});
}

void Elaborator::Wait(const Stmt& stmt, Actions& out) {
  auto on = SemaphoreSlot(*stmt.semaphore);
  if (stmt.target) {
    // What it counts may be either end of a copy.
    auto window = CopyWindow(*stmt.target, false);
    if (!window) return;
    if (on) on->window = std::move(window);
  }
  if (on) out.push_back({stmt.span, *std::move(on)});
}

}  // namespace kiln
