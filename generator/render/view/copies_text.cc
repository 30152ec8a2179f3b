#include "generator/render/view/body_view.h"

/// Manual copies, and checks of ranges.
namespace kiln::render {

std::string BodyView::Semaphore(const Stage& stage) const {
  const Ref& ref = kernel_.refs[static_cast<size_t>(stage.semaphore)];
  return "{" + Quoted(ref.name) + ", " + std::to_string(stage.semaphore) + ", " +
         std::to_string(ref.count) + ", " + std::to_string(SpecLine(stage)) + "}, " +
         scalars_.Print(*stage.value);
}

int BodyView::SpecLine(const Stage& stage) const {
  return kernel_.source->Locate(stage.span.begin).line;
}

/// The window of an array in HBM, or of a tile.
std::string BodyView::PartOf(const Place& place, const std::vector<WindowDim>& window) {
  const Ref& ref = kernel_.refs[static_cast<size_t>(place.buffer)];
  const bool hbm = ref.memory == Memory::kAny;
  const size_t array = static_cast<size_t>(kernel_.ArrayOf(place.buffer));
  const std::string name =
      hbm ? "call." + names_.buffers[array] : names_.buffers[static_cast<size_t>(place.buffer)];
  const Shape& extents = hbm ? ref.array : ref.view;
  std::string cuts;
  for (size_t d = 0; d < window.size(); ++d) {
    const std::string start = scalars_.Print(place.at[d]);
    const std::string extent = scalars_.Print(extents[d]);
    cuts += d == 0 ? "" : ", ";
    cuts += window[d].point
                ? "CutPoint(" + start + ", " + extent + ")"
                : "CutRange(" + start + ", " + scalars_.Print(window[d].size) + ", " + extent + ")";
  }
  const std::string operand =
      hbm ? "{" + Quoted(ref.name) + ", " + std::to_string(array) + "}" : Quoted(ref.name);
  return "PartOf(" + operand + ", " + name + ", std::array<Cut, " + std::to_string(window.size()) +
         ">{" + cuts + "})";
}

void BodyView::Copy(const Stage& stage, std::vector<std::string>* lines) {
  const DType dtype = kernel_.refs[static_cast<size_t>(stage.place.buffer)].dtype;
  lines->push_back("if (!copies.Start(" + Semaphore(stage) + ", sizeof(" + StorageType(dtype) +
                   "),");
  lines->push_back("        " + PartOf(stage.from, stage.from_window) + ",");
  lines->push_back("        " + PartOf(stage.place, stage.place_window) + ")) {");
  lines->push_back("  return;");
  lines->push_back("}");
}

void BodyView::Wait(const Stage& stage, std::vector<std::string>* lines) {
  lines->push_back("if (!copies.Wait(" + Semaphore(stage) + ")) return;");
}

void BodyView::Touch(const Stage& stage, std::vector<std::string>* lines) {
  lines->push_back("if (!copies." + std::string(stage.writes ? "MayWrite(" : "MayRead(") +
                   std::to_string(SpecLine(stage)) + ", [&]() HWY_ATTR {");
  lines->push_back("      return " + PartOf(stage.place, stage.place_window) + ";");
  lines->push_back("    })) {");
  lines->push_back("  return;");
  lines->push_back("}");
}

void BodyView::Range(const Stage& stage, std::vector<std::string>* lines) {
  lines->push_back("if (!InRange(core, " + std::to_string(SpecLine(stage)) + ", " +
                   Quoted(stage.text) + ", " + scalars_.Print(*stage.value) + ", " +
                   scalars_.Print(*stage.low) + ", " + scalars_.Print(*stage.high) + ")) return;");
}

}  // namespace kiln::render
