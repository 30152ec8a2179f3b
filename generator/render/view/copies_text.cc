#include "generator/render/view/body_view.h"

/// Manual copies, and checks of ranges.
namespace kiln::render {

/// The semaphores of a name, and which one of them.
std::string BodyView::Semaphore(const SemaphoreSlot& on, int line) const {
  const Ref& ref = kernel_[on.ref];
  std::string counts, at;
  for (size_t d = 0; d < ref.counts.size(); ++d) {
    counts += (d == 0 ? "" : ", ") + std::to_string(ref.counts[d]);
    at += (d == 0 ? "" : ", ") + scalars_.Print(*on.at[d]);
  }
  if (ref.counts.size() > 1) {
    counts = "{" + counts + "}";
    at = "{" + at + "}";
  }
  return "{" + Quoted(ref.name) + ", " + std::to_string(on.ref.number()) + ", " + counts + ", " +
         std::to_string(line) + "}, " + at;
}

/// What a window takes of each dimension.
std::string BodyView::CutsOf(const CopyWindow& window) {
  const Ref& ref = kernel_[plan_[window.begin.buffer].ref];
  const Shape& extents = ref.memory == Memory::kAny ? ref.array : ref.view;
  std::string cuts;
  for (size_t d = 0; d < window.dimensions.size(); ++d) {
    const auto& [size, point, count] = window.dimensions[d];
    const std::string start = scalars_.Print(window.begin.at[d]);
    const std::string extent = scalars_.Print(extents[d]);
    cuts += d == 0 ? "" : ", ";
    const std::string most = scalars_.Print(size);
    cuts += point   ? "CutPoint(" + start + ", " + extent + ")"
            : count ? "CutUpTo(" + start + ", " + scalars_.Print(*count) + ", " + most + ", " +
                          extent + ")"
                    : "CutRange(" + start + ", " + most + ", " + extent + ")";
  }
  return "std::array<Cut, " + std::to_string(window.dimensions.size()) + ">{" + cuts + "}";
}

/// The window of an array in HBM, or of a tile.
std::string BodyView::PartOf(const CopyWindow& window) {
  const RefId ref = plan_[window.begin.buffer].ref;
  const bool hbm = kernel_[ref].memory == Memory::kAny;
  const RefId array(kernel_.ArrayOf(ref.number()));
  const std::string name = hbm ? "call." + names_[array] : names_[ref];
  const std::string quoted = Quoted(kernel_[ref].name);
  const std::string operand =
      hbm ? "{" + quoted + ", " + std::to_string(array.number()) + "}" : quoted;
  return "PartOf(" + operand + ", " + name + ", " + CutsOf(window) + ")";
}

void BodyView::CopyLines(const stage::Copy& copy, int line, std::vector<std::string>* lines) {
  const DType dtype = plan_[copy.to.begin.buffer].dtype;
  lines->push_back("if (!copies.Start(" + Semaphore(copy.on, line) + ", sizeof(" +
                   StorageType(dtype) + "),");
  lines->push_back("        " + PartOf(copy.from) + ",");
  lines->push_back("        " + PartOf(copy.to) + ")) {");
  lines->push_back("  return;");
  lines->push_back("}");
}

void BodyView::WaitLines(const stage::Wait& wait, int line, std::vector<std::string>* lines) {
  if (wait.window) {
    lines->push_back("if (!copies.Wait(" + Semaphore(wait.on, line) + ", sizeof(" +
                     StorageType(plan_[wait.window->begin.buffer].dtype) + "),");
    lines->push_back("        " + PartOf(*wait.window) + ")) {");
    lines->push_back("  return;");
    lines->push_back("}");
    return;
  }
  lines->push_back("if (!copies.Wait(" + Semaphore(wait.on, line) + ")) return;");
}

void BodyView::TouchLines(const stage::Touch& touch, int line, std::vector<std::string>* lines) {
  if (touch.seen_as) {
    const Buffer& buffer = plan_[touch.seen_as];
    lines->push_back("const Tile<" + StorageType(buffer.dtype) + ", " +
                     std::to_string(buffer.extents.size()) + "> " + names_[touch.seen_as] +
                     " = copies." + (touch.ahead ? "Ahead(" : "Find(") + std::to_string(line) +
                     ", " + Quoted(kernel_[buffer.ref].name) + ", " + names_[buffer.ref] + ",");
    lines->push_back("        " + CutsOf(touch.window) + (touch.ahead ? "," : ");"));
    if (touch.ahead) lines->push_back("        " + PartOf(*touch.ahead) + ");");
    lines->push_back("if (!core.ok()) return;");
    return;
  }
  lines->push_back("if (!copies." + std::string(touch.writes ? "MayWrite(" : "MayRead(") +
                   std::to_string(line) + ", [&]() HWY_ATTR {");
  lines->push_back("      return " + PartOf(touch.window) + ";");
  lines->push_back("    })) {");
  lines->push_back("  return;");
  lines->push_back("}");
}

void BodyView::RangeLines(const stage::Range& range, int line, std::vector<std::string>* lines) {
  lines->push_back("if (!InRange(core, " + std::to_string(line) + ", " + Quoted(range.of) + ", " +
                   scalars_.Print(*range.start) + ", " + scalars_.Print(*range.size) + ", " +
                   scalars_.Print(*range.extent) + ")) return;");
}

}  // namespace kiln::render
