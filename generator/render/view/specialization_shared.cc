#include <algorithm>

#include "generator/render/view/mentions.h"
#include "generator/render/view/specialization_view.h"

/// What several operands have in common, the shape of their blocks and where these are at a step,
/// has one name in the text.
namespace kiln::render {
std::string SpecializationView::IndexList(RefId r) const {
  std::vector<std::string> index;
  for (const auto& [start, extent] : plan_.operands[r].index.dimensions) {
    const std::string at = map_.Print(*start);
    index.push_back(extent ? "Ds(" + at + ", " + map_.Print(*extent) + ")" : at);
  }
  return "{" + Joined(index) + "}";
}

/// The index of an operand's block at a step; what goes wrong is reported to `from`.
std::string SpecializationView::IndexAt(RefId r, const std::string& from,
                                        const std::string& point) const {
  const IndexMap& index = plan_.operands[r].index;
  if (index.IsConstant()) return IndexList(r);
  return index_maps_.at(r) + "(" + (index.MayFail() ? from + ", " : "") + point + ")";
}

/// What several operands have in common is named after them: "x_y_".
std::string SpecializationView::NameOfAll(const std::vector<RefId>& operands) const {
  constexpr size_t kMostNames = 3;
  std::string name;
  for (size_t i = 0; i < std::min(operands.size(), kMostNames); ++i)
    name += names_[operands[i]] + "_";
  return operands.size() > kMostNames ? name + "and_more_" : name;
}

/// Matrices with the same blocks share their text.
std::vector<Fields> SpecializationView::SharedBlocks() {
  std::map<std::string, std::vector<RefId>> operands;  // by their blocks
  for (const RefId r : IdsOf(kernel_.refs)) {
    const bool is_matrix = IsPipelined(kernel_[r]) && kernel_[r].block.size() > 1;
    if (is_matrix) operands[Blocks(r)].push_back(r);
  }
  std::erase_if(operands, [](const auto& entry) { return entry.second.size() == 1; });
  std::vector<Fields> fields;
  for (const auto& [blocks, of] : operands) {
    const std::string name =
        names_.scope.New(operands.size() == 1 ? "block" : NameOfAll(of) + "block");
    for (const RefId r : of) blocks_[r] = name;
    fields.emplace_back().Set("shape", name).Set("dims", blocks);
  }
  return fields;
}

/// One map for all operands whose blocks have the same index at every step, named after these, or
/// after none where it is the only one.
std::vector<Fields> SpecializationView::IndexMaps() {
  struct Map {
    std::string rank, index;
    bool may_fail;
    std::vector<RefId> of;
  };
  std::vector<Map> maps;
  for (const RefId r : IdsOf(kernel_.refs)) {
    const IndexMap& index = plan_.operands[r].index;
    if (!IsPipelined(kernel_[r]) || index.IsConstant()) continue;
    const Map map{std::to_string(kernel_[r].array.size()), IndexList(r), index.MayFail(), {}};
    const auto same = std::find_if(maps.begin(), maps.end(), [&](const Map& other) {
      return other.rank == map.rank && other.index == map.index;
    });
    (same == maps.end() ? maps.emplace_back(map) : *same).of.push_back(r);
  }
  std::vector<Fields> fields;
  for (const Map& map : maps) {
    const bool is_only = maps.size() == 1 && map.of.size() > 1;
    const std::string name = is_only ? "block_index" : NameOfAll(map.of) + "index";
    for (const RefId r : map.of) index_maps_[r] = name;
    const std::string parameters =
        (map.may_fail ? "auto& from, " : "") + PointParameter(Mentions(map.index, "at"));
    constexpr size_t kAround = 48;  // columns of a line that are none of these
    fields.emplace_back()
        .Set("index_map", name)
        .Set("parameters", parameters)
        .Set("array_rank", map.rank)
        .Set("index", map.index)
        .SetFlag("fits", kAround + name.size() + parameters.size() + map.index.size() <= 100);
  }
  return fields;
}

/// A parameter that the text does not mention has no name.
std::string SpecializationView::PointParameter(bool named) const {
  return "const Point<" + std::to_string(kernel_.axes.size()) + ">&" + (named ? " at" : "");
}

}  // namespace kiln::render
