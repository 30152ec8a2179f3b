#include "generator/planner/rewrite/named_once.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "generator/ir/tile_node.h"
#include "generator/planner/rewrite/reads.h"
#include "generator/planner/rewrite/value_numbers.h"

namespace kiln {
namespace {

/// How often it pays to compute a value.
enum class Worth { kAnyTime, kOnceInAPass, kOnce };

/// A pass over elements computes a function of them once, however often it is written.
Worth WorthOf(const Node& node) {
  switch (ClassOf(node.op)) {
    case OpClass::kFold:
    case OpClass::kLocation:
    case OpClass::kScan:
    case OpClass::kOrder:
    case OpClass::kProduct:
      return node.args[0]->shape.empty() ? Worth::kAnyTime : Worth::kOnce;
    case OpClass::kShape:
      if (node.op == Op::kConcat) return Worth::kOnce;
      if (node.op == Op::kTake || node.op == Op::kTakeAlong) return Worth::kOnceInAPass;
      return Worth::kAnyTime;
    default:
      return !node.shape.empty() && RowOf(node.op).cpu == CpuCost::kElementary ? Worth::kOnceInAPass
                                                                               : Worth::kAnyTime;
  }
}

/// Whether an operation reads all elements of its argument, and none in the place of its own.
bool Permutes(Op op) { return op == Op::kRoll || op == Op::kFlip || op == Op::kTranspose; }

/// Where a value is computed.
struct Place {
  size_t statement = 0;
  const Node* node = nullptr;
  const Node* pass =
      nullptr;  // what reads it, all at once or in another order; null: the statement

  bool IsInPassOf(const Place& other) const {
    return statement == other.statement && pass == other.pass;
  }
};
struct Repeated {
  NodePtr value;
  size_t nodes = 0;
  Worth worth = Worth::kAnyTime;
  std::vector<Place> places;

  size_t first() const { return places[0].statement; }
  bool IsWorthAName() const {
    const size_t others = std::count_if(places.begin(), places.end(), [this](const Place& place) {
      return worth == Worth::kOnce || !place.IsInPassOf(places[0]);
    });
    return others > (worth == Worth::kOnce ? 1 : 0);
  }
};

class RepeatedValues {
 public:
  explicit RepeatedValues(Kernel* kernel) : kernel_(*kernel) {}

  bool Rewrite(Actions& actions) {
    bool changed = false;
    while (NameOne(actions)) changed = true;
    for (Action& action : actions)
      ChangeBlocks(action, [&](Actions& block) { changed |= Rewrite(block); });
    return changed;
  }

 private:
  /// The largest first, so that its parts are counted once.
  bool NameOne(Actions& actions) {
    std::map<int, Repeated> values;
    ValueNumbers numbers(kernel_);
    for (size_t k = 0; k < actions.size(); ++k) {
      if (Is<action::Define>(actions[k]) || Is<action::Store>(actions[k]))
        ForEachRoot(actions[k], [&](const NodePtr& root) {
          Count(root, {k, nullptr, nullptr}, numbers, &values);
        });
      numbers.Pass(actions[k]);
    }
    const Repeated* largest = nullptr;
    for (const auto& [number, value] : values) {
      if (!value.IsWorthAName()) continue;
      if (!largest || value.nodes > largest->nodes) largest = &value;
    }
    if (!largest) return false;
    Name(*largest, actions);
    return true;
  }

  template <typename Use>
  static void ForEachRoot(const Action& action, const Use& use) {
    if (const auto* define = As<action::Define>(action)) use(define->value);
    const auto* store = As<action::Store>(action);
    if (!store) return;
    use(store->value);
    if (store->mask) use(store->mask);
  }

  struct Tree {
    size_t nodes = 1;
    Worth worth = Worth::kAnyTime;
  };
  /// What conditions may leave out is computed where they do not.
  Tree Count(const NodePtr& node, Place place, ValueNumbers& numbers,
             std::map<int, Repeated>* values) {
    Tree tree;
    tree.worth = WorthOf(*node);
    place.node = node.get();
    Place within = place;
    if (tree.worth == Worth::kOnce || Permutes(node->op)) within.pass = node.get();
    const size_t surely = ClassOf(node->op) == OpClass::kLazy ? 1 : node->args.size();
    for (size_t k = 0; k < surely; ++k) {
      const Tree arg = Count(node->args[k], within, numbers, values);
      tree.nodes += arg.nodes;
      tree.worth = std::max(tree.worth, arg.worth);
    }
    if (tree.worth == Worth::kAnyTime || IsWeak(node->dtype) || node->dtype == DType::kIndex)
      return tree;
    Repeated& value = (*values)[numbers.Of(node)];
    value.value = value.places.empty() ? node : value.value;
    value.nodes = tree.nodes;
    value.worth = tree.worth;
    value.places.push_back(place);
    return tree;
  }

  /// The let that is the value already; none: it has no name.
  std::optional<LocalId> NameOf(const Repeated& value, const Actions& actions) const {
    const auto* define = As<action::Define>(actions[value.first()]);
    if (!define || define->value != value.value) return std::nullopt;
    const Local& local = kernel_[LocalId(define->local)];
    const bool is_value = local.kind == Local::Kind::kLet && local.shape == value.value->shape &&
                          local.dtype == value.value->dtype;
    return is_value ? std::optional(LocalId(define->local)) : std::nullopt;
  }

  void Name(const Repeated& value, Actions& actions) {
    const std::optional<LocalId> has_name = NameOf(value, actions);
    const LocalId local = has_name ? *has_name : NewLet(*value.value);
    Node name = TileNode(Op::kLocal, value.value->dtype, value.value->shape, value.value->span, {});
    name.index = local.number();
    const NodePtr named = Share(std::move(name));
    std::map<size_t, std::set<const Node*>> places;
    for (const Place& place : value.places) places[place.statement].insert(place.node);
    if (has_name) places.erase(value.first());
    for (const auto& [statement, nodes] : places)
      ChangeExpressions(actions[statement], [&nodes = nodes, &named](NodePtr& root) {
        root = With(root, nodes, named);
      });
    if (has_name) return;
    const auto first = actions.begin() + static_cast<std::ptrdiff_t>(value.first());
    actions.insert(first, {value.value->span, action::Define{local.number(), value.value}});
  }

  static NodePtr With(const NodePtr& node, const std::set<const Node*>& places,
                      const NodePtr& named) {
    if (places.count(node.get()) > 0) return named;
    Node with = *node;
    for (NodePtr& arg : with.args) arg = With(arg, places, named);
    return with.args == node->args ? node : Share(std::move(with));
  }

  LocalId NewLet(const Node& value) {
    const LocalId id(static_cast<int>(kernel_.locals.size()));
    kernel_.locals.push_back({"value", value.span, value.dtype, value.shape, Local::Kind::kLet});
    return id;
  }

  Kernel& kernel_;
};

}  // namespace

std::shared_ptr<const Kernel> WithRepeatedValuesNamed(const Kernel& of) {
  auto kernel = std::make_shared<Kernel>(of);
  RepeatedValues values(kernel.get());
  const bool body = values.Rewrite(kernel->body), epilogue = values.Rewrite(kernel->epilogue);
  return body || epilogue ? kernel : nullptr;
}

}  // namespace kiln
