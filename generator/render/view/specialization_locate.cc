#include <algorithm>

#include "generator/plan/stays.h"
#include "generator/plan/walk.h"
#include "generator/render/print/cpp.h"
#include "generator/render/view/specialization_view.h"

/// What a diagnostic about a block says besides: the elements of prefetch arrays that chose it.
namespace kiln::render {
/// The prefetch elements that an operand's index map reads, each once.
std::vector<std::string> SpecializationView::ElementsBehind(size_t r) const {
  std::vector<std::string> lines;
  const auto add = [&](const Element& e) {
    if (e.kind != Element::Kind::kLoad) return;
    const Ref& array = kernel_.refs[static_cast<size_t>(e.place.buffer)];
    std::string subscripts;
    for (const Coordinate& c : e.place.at)
      subscripts += (subscripts.empty() ? "" : ", ") + walk_.Print(c);
    const std::string line = "core.AddElement(" + Quoted(array.name) + ", {" + subscripts + "}, " +
                             walk_.Print(e) + ");";
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  };
  for (const BlockDim& dim : kernel_.refs[r].block) {
    ForEachElement(IndexElement(kernel_, *dim.index), add);
    if (dim.extent) ForEachElement(IndexElement(kernel_, *dim.extent), add);
  }
  return lines;
}

void SpecializationView::Locate() {
  std::vector<Fields> about;
  for (size_t r = 0; r < kernel_.refs.size(); ++r) {
    if (!IsPipelined(kernel_.refs[r])) continue;
    const std::vector<std::string> elements = ElementsBehind(r);
    if (elements.empty()) continue;
    Fields& operand = about.emplace_back();
    operand.Set("ordinal", std::to_string(r)).Set("about_name", kernel_.refs[r].name);
    std::vector<Fields> lines;
    for (const std::string& element : elements) lines.emplace_back().Set("text", element);
    operand.SetList("elements", std::move(lines));
  }
  fields_.SetFlag("locates", !about.empty());
  fields_.SetList("about", std::move(about));
}

}  // namespace kiln::render
