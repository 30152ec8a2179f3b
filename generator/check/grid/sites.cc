#include "generator/check/grid/sites.h"

#include <algorithm>
#include <functional>

#include "generator/ir/tile_node.h"
#include "generator/ir/typing.h"

namespace kiln {
namespace {

class Collector {
 public:
  Collector(const GridContext& context, Locals& locals) : context_(context), locals_(locals) {}

  std::vector<Site> Run() {
    ForEachStatement(context_.kernel, locals_,
                     [this](const Action& action, const std::vector<Enclosing>& enclosing) {
                       enclosing_ = enclosing;
                       Statement(action);
                     });
    return std::move(sites_);
  }

 private:
  void Statement(const Action& action);
  void Expression(const NodePtr& node);
  void Guarded(const NodePtr& condition, bool negated, const NodePtr& node);
  void Subscripts(const std::vector<Subscript>& subscripts, const std::vector<int64_t>& extents,
                  int subject, const std::string& name);
  void CopyWindow(const Window& window);
  void Store(const action::Store& store);
  void Counts(const std::vector<Subscript>& subscripts, int subject, const std::string& name);
  void Ends(const std::vector<Subscript>& subscripts, const std::vector<int64_t>& extents,
            int subject, const std::string& name);
  void Slot(const std::vector<NodePtr>& slot, int semaphore, Span span);
  void Assert(const action::Assert& check, Span span);
  void Add(Site site);
  static std::string Described(size_t dimension, size_t rank, const std::string& name);
  std::vector<int64_t> ViewOf(int ref) const;
  std::vector<int64_t> Extents(const Shape& shape) const;
  int Unnamed() { return -1 - int(sites_.size()); }
  std::string NameOf(int ref) const { return "`" + context_.ref(ref).name + "`"; }

  const GridContext& context_;
  Locals& locals_;
  std::vector<Enclosing> enclosing_;
  std::vector<Site> sites_;
};

/// What subscripts of a ref are counted in; -1 where it is not bound.
std::vector<int64_t> Collector::ViewOf(int ref) const {
  const auto r = size_t(ref);
  const Binding& binding = context_.binding;
  if (r < binding.host.size() && binding.host[r]) return binding.host[r]->shape;
  if (r < binding.views.size() && !binding.views[r].empty()) return binding.views[r];
  return Extents(context_.ref(ref).view);
}

std::vector<int64_t> Collector::Extents(const Shape& shape) const {
  std::vector<int64_t> out;
  for (const Size& size : shape) out.push_back(Evaluate(size, context_.binding).value_or(-1));
  return out;
}

/// In range at every step by the form of the subscript alone.
bool IsPlainlyInside(const Site& site) {
  if (site.value->op != Op::kConst) return false;
  const int64_t start = site.value->int_value;
  return start >= 0 && site.size <= site.extent && start <= site.extent - site.size;
}

void Collector::Subscripts(const std::vector<Subscript>& subscripts,
                           const std::vector<int64_t>& extents, int subject,
                           const std::string& name) {
  if (subscripts.size() != extents.size()) return;
  for (size_t d = 0; d < subscripts.size(); ++d) {
    const Subscript& subscript = subscripts[d];
    // Sizes that only a step knows are sites of their own.
    const auto size = subscript.count ? 0 : Evaluate(ReachOf(subscript), context_.binding);
    if (extents[d] < 0 || !size || *size < 0) continue;
    Site site;
    site.kind = subscript.range ? Site::Kind::kSlice : Site::Kind::kSubscript;
    site.span = subscript.span;
    site.value = subscript.start;
    site.size = *size;
    site.extent = extents[d];
    site.subject = subject;
    site.description = Described(d, subscripts.size(), name);
    Add(std::move(site));
  }
}

/// A size that only a step knows is not larger than its most.
void Collector::Counts(const std::vector<Subscript>& subscripts, int subject,
                       const std::string& name) {
  for (size_t d = 0; d < subscripts.size(); ++d) {
    const Subscript& subscript = subscripts[d];
    const auto most = Evaluate(subscript.size, context_.binding);
    if (!subscript.count || !most) continue;
    Site site;
    site.kind = Site::Kind::kSize;
    site.span = subscript.count->span;
    site.value = subscript.count;
    site.size = 0;
    site.extent = *most;
    site.subject = subject;
    site.description = Described(d, subscripts.size(), name);
    Add(std::move(site));
  }
}

/// What has such a size ends within the extent.
void Collector::Ends(const std::vector<Subscript>& subscripts, const std::vector<int64_t>& extents,
                     int subject, const std::string& name) {
  for (size_t d = 0; d < subscripts.size() && d < extents.size(); ++d) {
    const Subscript& subscript = subscripts[d];
    if (!subscript.count || extents[d] < 0) continue;
    Site site;
    site.kind = Site::Kind::kEnd;
    site.span = subscript.span;
    site.value = Share(
        TileNode(Op::kAdd, DType::kIndex, {}, subscript.span, {subscript.start, subscript.count}));
    site.size = 0;
    site.extent = extents[d];
    site.subject = subject;
    site.description = Described(d, subscripts.size(), name);
    Add(std::move(site));
  }
}

/// What has no elements may be anywhere.
NodePtr IsPositive(const NodePtr& count) {
  return Share(TileNode(Op::kGt, DType::kBool, {}, count->span,
                        {count, MakeInt(0, DType::kIndex, count->span)}));
}

void Collector::Add(Site site) {
  site.enclosing = enclosing_;
  if (!IsPlainlyInside(site)) sites_.push_back(std::move(site));
}

std::string Collector::Described(size_t dimension, size_t rank, const std::string& name) {
  return rank == 1 ? name : "dimension " + std::to_string(dimension) + " of " + name;
}

void Collector::Guarded(const NodePtr& condition, bool negated, const NodePtr& node) {
  enclosing_.push_back({condition, negated, -1, nullptr, nullptr});
  Expression(node);
  enclosing_.pop_back();
}

/// The lazy operations reach their later arguments only under a condition.
void Collector::Expression(const NodePtr& node) {
  if (!node) return;
  for (const Subscript& subscript : node->subscripts) Expression(subscript.start);
  if (node->op == Op::kRead) {
    Subscripts(node->subscripts, ViewOf(node->index), node->index, NameOf(node->index));
  } else if (node->op == Op::kSlice) {
    Subscripts(node->subscripts, Extents(node->args[0]->shape), Unnamed(), "the sliced value");
  }
  if (node->op == Op::kAnd || node->op == Op::kOr) {
    Expression(node->args[0]);
    Guarded(node->args[0], node->op == Op::kOr, node->args[1]);
  } else if (node->op == Op::kIf) {
    Expression(node->args[0]);
    Guarded(node->args[0], false, node->args[1]);
    Guarded(node->args[0], true, node->args[2]);
  } else {
    for (const NodePtr& arg : node->args) Expression(arg);
  }
}

void Collector::CopyWindow(const Window& window) {
  for (const Subscript& subscript : window.subscripts) {
    Expression(subscript.start);
    Expression(subscript.count);
  }
  const std::vector<int64_t> extents = ViewOf(window.ref);
  Counts(window.subscripts, window.ref, NameOf(window.ref));
  const size_t depth = enclosing_.size();
  for (const Subscript& subscript : window.subscripts) {
    if (subscript.count) enclosing_.push_back({IsPositive(subscript.count), false, -1, {}, {}});
  }
  Subscripts(window.subscripts, extents, window.ref, NameOf(window.ref));
  Ends(window.subscripts, extents, window.ref, NameOf(window.ref));
  enclosing_.resize(depth);
}

void Collector::Slot(const std::vector<NodePtr>& slot, int semaphore, Span span) {
  const std::vector<int64_t>& counts = context_.ref(semaphore).counts;
  for (size_t d = 0; d < slot.size(); ++d) {
    Expression(slot[d]);
    Site site;
    site.span = slot[d]->span.end > 0 ? slot[d]->span : span;
    site.value = slot[d];
    site.extent = counts[d];
    site.subject = semaphore;
    site.description = Described(d, slot.size(), "semaphore " + NameOf(semaphore));
    Add(std::move(site));
  }
}

void Collector::Assert(const action::Assert& check, Span span) {
  Expression(check.condition);
  Site site;
  site.kind = Site::Kind::kAssert;
  site.span = span;
  site.value = check.condition;
  site.subject = Unnamed();
  site.description = check.message;
  site.enclosing = enclosing_;
  sites_.push_back(std::move(site));
}

void Collector::Store(const action::Store& store) {
  Expression(store.value);
  Expression(store.mask);
  for (const Subscript& subscript : store.subscripts) Expression(subscript.start);
  const bool ref = store.ref >= 0;
  const Local* local = ref ? nullptr : &context_.kernel.locals[size_t(store.local)];
  Subscripts(store.subscripts, ref ? ViewOf(store.ref) : Extents(local->shape),
             ref ? store.ref : Unnamed(), ref ? NameOf(store.ref) : "`" + local->name + "`");
}

void Collector::Statement(const Action& action) {
  Match(
      action, [&](const action::Define& define) { Expression(define.value); },
      [&](const action::Store& store) { Store(store); },
      [&](const action::When& when) { Expression(when.condition); },
      [&](const action::For& loop) { Expression(loop.low), Expression(loop.high); },
      [&](const action::While& loop) { Expression(loop.condition); },
      [&](const action::Assert& check) { Assert(check, action.span); },
      [&](const action::Copy& copy) {
        CopyWindow(copy.source);
        CopyWindow(copy.target);
        Slot(copy.slot, copy.semaphore, action.span);
      },
      [&](const action::Wait& wait) {
        Slot(wait.slot, wait.semaphore, action.span);
        if (wait.window) CopyWindow(*wait.window);
      });
}

}  // namespace

std::vector<Site> CollectSites(const GridContext& context, Locals& locals) {
  return Collector(context, locals).Run();
}

}  // namespace kiln
