#include <algorithm>

#include "generator/plan/stays.h"
#include "generator/plan/walk.h"
#include "generator/render/print/cpp.h"
#include "generator/render/view/specialization_view.h"

/// What a diagnostic about a block says besides: the elements of prefetch arrays that chose it.
namespace kiln::render {
/// The prefetch elements that an operand's index map reads, each once.
std::vector<std::string> SpecializationView::ElementsBehind(RefId r) const {
  std::vector<std::string> lines;
  const auto add = [&](const Element& e) {
    const Place* place = LoadedBy(e);
    if (!place) return;
    const Ref& array = *plan_.RefOf(place->buffer);
    std::string subscripts;
    for (const Coordinate& c : place->at)
      subscripts += (subscripts.empty() ? "" : ", ") + walk_.Print(c);
    const std::string line = "core.AddElement(" + Quoted(array.name) + ", {" + subscripts + "}, " +
                             walk_.Print(e) + ");";
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  };
  for (const auto& [start, extent] : plan_.operands[r].index.dimensions) {
    ForEachElement(start, add);
    ForEachElement(extent, add);
  }
  return lines;
}

void SpecializationView::Locate() {
  std::vector<Fields> about;
  for (const RefId r : IdsOf(kernel_.refs)) {
    if (!IsPipelined(kernel_[r])) continue;
    const std::vector<std::string> elements = ElementsBehind(r);
    if (elements.empty()) continue;
    Fields& operand = about.emplace_back();
    operand.Set("ordinal", std::to_string(r.number())).Set("about_name", kernel_[r].name);
    std::vector<Fields> lines;
    for (const std::string& element : elements) lines.emplace_back().Set("text", element);
    operand.SetList("elements", std::move(lines));
  }
  fields_.SetFlag("locates", !about.empty());
  fields_.SetList("about", std::move(about));
}

}  // namespace kiln::render
