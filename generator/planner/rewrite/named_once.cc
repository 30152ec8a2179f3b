#include "generator/planner/rewrite/named_once.h"

#include <algorithm>
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
struct Occurrence {
  size_t statement = 0;
  const Node* node = nullptr;
  const Node* reader = nullptr;  // all at once or in another order; null: the statement

  bool IsInPassOf(const Occurrence& other) const {
    return statement == other.statement && reader == other.reader;
  }
};
struct Repeated {
  NodePtr value;
  size_t nodes = 0;
  Worth worth = Worth::kAnyTime;
  std::vector<Occurrence> places;

  size_t first() const { return places[0].statement; }
  bool IsWorthAName() const {
    if (worth == Worth::kOnce) return places.size() > 1;
    return std::any_of(places.begin(), places.end(),
                       [this](const Occurrence& place) { return !place.IsInPassOf(places[0]); });
  }
};

class RepeatedValues {
 public:
  explicit RepeatedValues(Kernel* kernel) : kernel_(*kernel) {}

  bool Rewrite(Actions& actions) {
    bool changed = false;
    while (NameLargest(actions)) changed = true;
    for (Action& action : actions)
      ChangeBlocks(action, [&](Actions& block) { changed |= Rewrite(block); });
    return changed;
  }

 private:
  using Names = std::map<const Node*, NodePtr>;  // of values in one statement

  /// Those that are no part of others; what is left of their parts is counted anew.
  bool NameLargest(Actions& actions) {
    std::map<int, Repeated> values;
    ValueNumbers numbers(kernel_);
    for (size_t k = 0; k < actions.size(); ++k) {
      if (Is<action::Define>(actions[k]) || Is<action::Store>(actions[k]))
        ForEachRoot(actions[k], [&](const NodePtr& root) {
          Count(root, {k, nullptr, nullptr}, numbers, &values);
        });
      numbers.Pass(actions[k]);
    }
    std::vector<const Repeated*> repeated;
    for (const auto& [number, value] : values)
      if (value.IsWorthAName()) repeated.push_back(&value);
    std::stable_sort(repeated.begin(), repeated.end(),
                     [](const Repeated* a, const Repeated* b) { return a->nodes > b->nodes; });
    std::set<const Node*> named;  // with all that they are made of
    std::vector<std::pair<size_t, Action>> lets;
    std::map<size_t, Names> names;
    for (const Repeated* value : repeated) {
      const bool is_part =
          std::any_of(value->places.begin(), value->places.end(),
                      [&](const Occurrence& place) { return named.count(place.node) > 0; });
      if (is_part) continue;
      for (const Occurrence& place : value->places) AddAll(*place.node, &named);
      Name(*value, actions, &names, &lets);
    }
    for (const auto& [statement, of] : names)
      ChangeExpressions(actions[statement], [&of = of](NodePtr& root) { root = With(root, of); });
    std::stable_sort(lets.begin(), lets.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    for (auto& [statement, let] : lets)
      actions.insert(actions.begin() + static_cast<std::ptrdiff_t>(statement), std::move(let));
    return !repeated.empty();
  }

  static void AddAll(const Node& node, std::set<const Node*>* to) {
    if (!to->insert(&node).second) return;
    for (const NodePtr& arg : node.args) AddAll(*arg, to);
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
  Tree Count(const NodePtr& node, Occurrence place, ValueNumbers& numbers,
             std::map<int, Repeated>* values) {
    Tree tree;
    tree.worth = WorthOf(*node);
    place.node = node.get();
    Occurrence within = place;
    if (tree.worth == Worth::kOnce || Permutes(node->op)) within.reader = node.get();
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

  void Name(const Repeated& value, const Actions& actions, std::map<size_t, Names>* names,
            std::vector<std::pair<size_t, Action>>* lets) {
    const std::optional<LocalId> has_name = NameOf(value, actions);
    Actions define;
    const LocalId let = has_name ? *has_name : NewLet("value", value.value, &kernel_, &define);
    const NodePtr name = ReadOf(let, *value.value);
    for (const Occurrence& place : value.places)
      if (!has_name || place.statement != value.first())
        (*names)[place.statement][place.node] = name;
    if (!has_name) lets->push_back({value.first(), std::move(define.front())});
  }

  static NodePtr With(const NodePtr& node, const Names& names) {
    const auto name = names.find(node.get());
    if (name != names.end()) return name->second;
    Node with = *node;
    for (NodePtr& arg : with.args) arg = With(arg, names);
    return with.args == node->args ? node : Share(std::move(with));
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
