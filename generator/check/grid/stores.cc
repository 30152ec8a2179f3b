// [coverage] of blocks that are visited but never stored, and [key]: the stays of the epilogue's
// outputs. Both walk the grid stay by stay.
#include <algorithm>

#include "generator/check/grid/rules.h"
#include "generator/check/grid/statements.h"

namespace kiln {
namespace {

/// A store into one output with what encloses it.
struct Store {
  Span span;
  std::vector<Enclosing> enclosing;
};

std::vector<Store> StoresOf(const GridContext& context, int ref, Locals& locals) {
  std::vector<Store> stores;
  const std::vector<int>& fused = context.kernel.epilogue_outputs;
  const bool in_epilogue = std::find(fused.begin(), fused.end(), ref) != fused.end();
  ForEachStatement(
      context.kernel, locals, [&](const Action& action, const std::vector<Enclosing>& enclosing) {
        const auto* into = As<action::Store>(action);
        const auto* copy = As<action::Copy>(action);
        if (!(into && into->ref == ref) && !(copy && copy->target.ref == ref)) return;
        Store store{action.span, {}};
        for (const Enclosing& around : enclosing) {
          const bool always =
              IsLastVisitOf(around, ref) || (in_epilogue && IsLastVisitOf(around, fused.front()));
          if (!always) store.enclosing.push_back(around);
        }
        stores.push_back(std::move(store));
      });
  return stores;
}

/// A register that is 1 wherever the store may run; -1 when the grid does not decide it at all.
int MayRun(ProgramBuilder& builder, const Store& store) {
  int mask = -1;
  for (const Enclosing& around : store.enclosing) {
    int runs = -1;
    if (around.condition) {
      runs = builder.AddCondition(*around.condition, !around.negated, mask);
      if (around.negated) runs = builder.AddNot(runs);
      const bool unknown =
          !builder.Known(*around.condition) && builder.Constant(runs) == std::optional<int64_t>(1);
      if (unknown) continue;
    } else if (builder.Known(*around.low) && builder.Known(*around.high)) {
      runs = builder.AddBinary(Op::kLt, builder.Add(*around.low, mask),
                               builder.Add(*around.high, mask));
    } else {
      continue;
    }
    mask = builder.AddAnd(mask, runs);
  }
  return mask;
}

struct Bare {
  int64_t first = 0;  // the step at which the first stay without a store begins
  int64_t count = 0;
};

/// Stays in which `stored` is 1 at no step.
Bare FindBareStays(GridContext& context, IndexProgram& program, const std::vector<int>& map,
                   int stored, const GridSpace& space) {
  Bare bare;
  StayTracker tracker(map, space.serial_size());
  Sweep sweep(context.binding, program, space, &context.progress);
  int64_t stay = -1;
  bool any = true;
  const auto end_stay = [&] {
    if (any) return;
    if (bare.count++ == 0) bare.first = stay;
  };
  while (sweep.Next()) {
    const std::vector<int>& starts = tracker.Starts(sweep);
    const int64_t* runs = program.Lanes(stored);
    size_t next = 0;
    for (int lane = 0; lane < sweep.count(); ++lane) {
      if (next < starts.size() && starts[next] == lane) {
        end_stay();
        stay = sweep.begin() + lane;
        any = false;
        ++next;
      }
      // A condition that cannot be computed is another diagnostic's matter.
      any = any || runs[lane] != 0 || program.Faulted(lane);
    }
  }
  end_stay();
  return bare;
}

std::vector<int> AddMap(ProgramBuilder& builder, const Ref& ref) {
  std::vector<int> out;
  for (const BlockDim& dim : ref.block) {
    if (dim.kind != BlockDim::Kind::kAll) out.push_back(builder.Add(*dim.index));
    if (dim.extent) out.push_back(builder.Add(*dim.extent));
  }
  return out;
}

/// An output whose stays are known and whose blocks must be stored.
bool MustStore(const GridContext& context, int ref) {
  const Ref& r = context.ref(ref);
  return r.role == Role::kOutput && r.memory != Memory::kAny && !r.init && !r.init_undefined &&
         !context.out_of_range.count(ref) && !context.conflicting.count(ref) &&
         MapIsKnown(context.binding, ref);
}

}  // namespace

void CheckStoresRun(GridContext& context, int ref) {
  if (!MustStore(context, ref)) return;
  Locals locals;
  const std::vector<Store> stores = StoresOf(context, ref, locals);
  if (stores.empty()) return;  // found without sizes
  ProgramBuilder builder(context.binding, &locals, /*visits=*/true);
  const std::vector<int> map = AddMap(builder, context.ref(ref));
  int stored = -1;
  for (const Store& store : stores) {
    const int runs = MayRun(builder, store);
    if (runs < 0) return;
    stored = stored < 0 ? runs : builder.AddBinary(Op::kOr, stored, runs);
  }
  IndexProgram program = builder.Finish();
  const auto space =
      GridSpace::Make(context.binding, program.axis_use(), GridSpace::Unused::kTwice);
  const Ref& r = context.ref(ref);
  if (!context.Spend(space, program)) {
    context.NotChecked("coverage", ref, MapSpan(r),
                       "whether every block of `" + r.name + "` that is visited is stored");
    return;
  }
  const Bare bare = FindBareStays(context, program, map, stored, *space);
  if (bare.count == 0) return;
  const std::vector<int64_t> at = space->AxesAt(bare.first);
  context.Error(
      "coverage", ref, MapSpan(r),
      "block " + BlockIndexAt(context.binding, ref, at).text + " of `" + r.name + "` is visited" +
          AtPoint(context.kernel, at) + ", but no store into it runs in that stay" +
          AndMore(bare.count - 1, "block"),
      "store into every block that is visited, or give the output an `init`",
      {{stores[0].span, stores.size() == 1 ? "the only store" : "the first of the stores"}});
}

void CheckEpilogueStays(GridContext& context) {
  const std::vector<int>& outputs = context.kernel.epilogue_outputs;
  if (outputs.size() < 2) return;
  ProgramBuilder builder(context.binding);
  std::vector<std::vector<int>> maps;
  for (const int ref : outputs) {
    if (context.out_of_range.count(ref) || !MapIsKnown(context.binding, ref)) return;
    maps.push_back(AddMap(builder, context.ref(ref)));
  }
  IndexProgram program = builder.Finish();
  const auto space =
      GridSpace::Make(context.binding, program.axis_use(), GridSpace::Unused::kTwice);
  if (!context.Spend(space, program)) {
    context.NotChecked("key", outputs[0], MapSpan(context.ref(outputs[0])),
                       "whether the outputs of the epilogue change blocks at the same steps");
    return;
  }
  std::vector<StayTracker> trackers;
  for (const std::vector<int>& map : maps) trackers.emplace_back(map, space->serial_size());
  Sweep sweep(context.binding, program, *space, &context.progress);
  while (sweep.Next()) {
    const std::vector<int> first = trackers[0].Starts(sweep);
    for (size_t o = 1; o < outputs.size(); ++o) {
      const std::vector<int>& other = trackers[o].Starts(sweep);
      if (first == other) continue;
      const auto [a, b] = std::mismatch(first.begin(), first.end(), other.begin(), other.end());
      const bool ours = b == other.end() || (a != first.end() && *a < *b);
      const int lane = ours ? *a : *b;
      const std::string begins = context.ref(ours ? outputs[0] : outputs[o]).name;
      const std::string stays = context.ref(ours ? outputs[o] : outputs[0]).name;
      context.Error("key", outputs[o], MapSpan(context.ref(outputs[o])),
                    "the outputs of the epilogue must change blocks at the same steps, but" +
                        AtPoint(context.kernel, space->AxesAt(sweep.begin() + lane)) + " `" +
                        begins + "` begins another block and `" + stays + "` does not",
                    "store the one that changes less often in the body, when last(o) holds for it");
      return;
    }
  }
}

}  // namespace kiln
