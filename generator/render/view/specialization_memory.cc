#include <set>

#include "generator/plan/walk.h"
#include "generator/render/print/cpp.h"
#include "generator/render/view/specialization_view.h"

/// The memory of a core that a step works in.
namespace kiln::render {

std::string SpecializationView::ExtentList(const Buffer& buffer, bool all) const {
  std::vector<std::string> extents;
  for (size_t d = 0; d < buffer.extents.size(); ++d) {
    if (all || Keeps(buffer, d)) extents.push_back(BlockSize(buffer.extents[d], buffer.spaces[d]));
  }
  return Joined(extents);
}

/// What budgets count of scratch is the spec's shape.
std::string SpecializationView::SpecExtents(RefId scratch) const {
  const Ref& ref = kernel_[scratch];
  if (ref.view == ref.array) return ExtentList(plan_[BufferOf(scratch)], /*all=*/true);
  std::vector<std::string> extents;
  for (const Size& size : ref.array) extents.push_back(walk_.Print(size));
  return Joined(extents);
}

/// Those of A that tiles read where they are: of a B some machines make panels all the same.
std::set<PanelsId> RowsInPlace(const Plan& plan) {
  std::set<PanelsId> in_place, packed;
  for (const BodyPlan& body : plan.bodies) {
    ForEachStage(body.stages, [&](const Stage& stage) {
      const auto* pack = As<stage::Pack>(stage);
      if (!pack) return;
      (NeedsMemory(plan, *pack) ? packed : in_place).insert(pack->panels);
    });
  }
  for (const PanelsId panels : packed) in_place.erase(panels);
  return in_place;
}

/// Scratch, values that need a place, and panels packed where they are used.
void SpecializationView::Memory() {
  std::vector<Fields> scratch, panels;
  bool forgets_any = false;
  const std::set<BufferId> used = UsedBuffers(plan_);
  for (const BufferId b : plan_.buffers.ids()) {
    const Buffer& buffer = plan_[b];
    const bool of_spec = bool(buffer.ref);
    if (of_spec && (buffer.found || kernel_[buffer.ref].role != Role::kScratch)) continue;
    if (!of_spec && (buffer.in_register || !used.count(b))) continue;
    Fields& f = scratch.emplace_back();
    const std::string type = StorageType(buffer.dtype);
    const std::string extents = ExtentList(buffer, /*all=*/false);
    int rank = 0;
    for (size_t d = 0; d < buffer.extents.size(); ++d) rank += Keeps(buffer, d);
    const bool accumulator = plan_.IsAccumulator(b);
    f.Set("buffer", names_[b]);
    f.Set("type", type);
    f.Set("operand", of_spec ? Operand(buffer.ref)
                             : "{" + Quoted(names_[b]) + ", " + std::to_string(b.number()) + "}");
    const std::string count = (buffer.dense ? "DenseSize<" : "TileSize<") + type + ">(" + extents;
    f.SetFlag("counts", !accumulator);
    f.Set("count", count + ")");
    f.Set("count_name", (accumulator ? "target." : "") + names_[b] + "_count");
    if (accumulator)
      target_.push_back({"size_t", names_[b] + "_count", "AccumulatorSize(" + extents + ")"});
    f.Set("extents", "{" + (of_spec ? SpecExtents(buffer.ref) : extents) + "}");
    const std::string memory = names_[buffer.same_as ? buffer.same_as : b] + "_memory";
    f.SetFlag("owns", !buffer.same_as);
    const bool forgets = of_spec && !accumulator;  // the first step stores all of that
    f.SetFlag("forgets", forgets);
    forgets_any = forgets_any || forgets;
    const std::string arguments = "(" + memory + (extents.empty() ? "" : ", " + extents) + ")";
    InStep(accumulator ? type + "*" : "Tile<" + type + ", " + std::to_string(rank) + ">", names_[b],
           accumulator    ? memory
           : buffer.dense ? "MakeDenseTile" + arguments
                          : "MakeTile" + arguments);
  }
  const std::set<PanelsId> in_place = RowsInPlace(plan_);
  for (const PanelsId p : plan_.panels.ids()) {
    if (in_place.count(p)) continue;
    const Panels& source = plan_[p];
    Fields& f = panels.emplace_back();
    f.Set("panel", names_[p]);
    InStep("void*", names_[p] + "_memory", names_[p] + "_memory");
    const std::string element = StorageType(source.element);
    const std::string format = source.side == Side::kA ? "PackedA<" : "PackedB<";
    const std::string depth = BlockSize(source.cols, source.col_space);
    const std::string packed = format + element + ">::Bytes(" +
                               BlockSize(source.rows, source.row_space) + ", " + depth + ")";
    const std::string gathered =
        "GatheredBytes<Dot<" + element + ">>(" + std::to_string(source.taps) + ", " + depth + ")";
    target_.push_back({"size_t", names_[p] + "_bytes", source.taps > 0 ? gathered : packed});
    f.Set("operand", "{" + Quoted(names_[p]) + ", " +
                         std::to_string(plan_.buffers.size() + p.position()) + "}");
  }
  fields_.SetFlag("forgets_any", forgets_any);
  fields_.SetList("scratch", std::move(scratch));
  fields_.SetList("panels", std::move(panels));
}

}  // namespace kiln::render
