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
    std::string line = "AddElement(core, call." + names_[place->buffer] + ", " +
                       Quoted(plan_.RefOf(place->buffer)->name);
    for (const Coordinate& c : place->at) line += ", " + walk_.Print(c);
    line += ");";
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
  bool may_fail = false;  // without an element, too: then there is nothing to add
  for (const RefId r : IdsOf(kernel_.refs)) {
    if (!IsPipelined(kernel_[r])) continue;
    may_fail = may_fail || plan_.operands[r].index.MayFail();
    for (const std::string& element : ElementsBehind(r)) {
      about.emplace_back()
          .Set("ordinal", std::to_string(r.number()))
          .Set("about_name", kernel_[r].name)
          .Set("text", element);
    }
  }
  fields_.SetFlag("locates", may_fail);
  fields_.SetList("about", std::move(about));
}

}  // namespace kiln::render
