#include <algorithm>

#include "tests/random/make/maker.h"

/// Copies by hand, and the arrays that they need.
namespace kiln::soak {
namespace {

std::string TypeText(DType dtype, const std::vector<std::string>& shape) {
  std::string text = std::string(kiln::Name(dtype)) + "[";
  for (size_t d = 0; d < shape.size(); ++d) text += (d > 0 ? ", " : "") + shape[d];
  return shape.empty() ? std::string(kiln::Name(dtype)) : text + "]";
}

}  // namespace

/// "sem[1]" of a semaphore of the draft.
std::string Maker::AnySemaphore() {
  const std::string name = Name("m");
  if (Want("layout semaphores of two dimensions", 0.2)) {
    draft_.scratch.push_back({name, {{"semaphore", "dma"}, {"count", "2, 3"}}});
    return name + "[" + IndexBelow({"2", 2}, 0) + ", " + IndexBelow({"3", 3}, 0) + "]";
  }
  const int64_t count = dice_.Chance(0.5) ? 1 : dice_.Between(1, 3);
  std::vector<Key> keys = {{"semaphore", "dma"}};
  if (count > 1 || dice_.Chance(0.3)) keys.push_back({"count", std::to_string(count)});
  draft_.scratch.push_back({name, keys});
  return count == 1 && dice_.Chance(0.5)
             ? name
             : name + "[" + IndexBelow({std::to_string(count), count}, 0) + "]";
}

/// ", s" where the wait is for as many bytes as the window has.
std::string Maker::Awaited(const std::string& window) {
  return Want("statement wait for bytes", 0.3) ? ", " + window : "";
}

/// An array that stays in HBM, a window of which is brought into a buffer. The input is added to
/// the draft now, as it stands before the body.
void Maker::CopyIn(Block& to) {
  const DType dtype = AnyDType();
  const size_t rank = dice_.Weighted({0, 3, 4, 1});
  OperandDraft operand;
  operand.name = Name("x");
  RefInfo buffer;
  buffer.name = Name("s");
  buffer.role = RefInfo::Role::kScratch;
  buffer.dtype = dtype;
  std::vector<std::string> array;
  std::string window, into;
  bool filled = false;  // before, as a step may copy less than all of it
  for (size_t d = 0; d < rank; ++d) {
    const bool old = !dims_.empty() && dice_.Chance(0.5);
    const DimInfo dim = dims_[static_cast<size_t>(
        old ? dice_.Between(0, static_cast<int64_t>(dims_.size()) - 1) : AddDim(SmallSize(17)))];
    array.push_back(dim.name);
    window += d > 0 ? ", " : "";
    const auto all = [&](const Extent& extent) {
      into += (buffer.view.empty() ? "" : ", ") + std::string(":");
      buffer.view.push_back(extent);
    };
    const bool whole = dim.size < 1 || dice_.Chance(0.35);
    if (whole) {
      window += ":";
      all({dim.name, dim.size});
      continue;
    }
    const int64_t size = dice_.Between(1, dim.size), room = dim.size - size;
    if (size == 1 && dice_.Chance(0.5)) {
      window += IndexBelow({dim.name, dim.size}, 1);
      continue;
    }
    const Extent most = {std::to_string(size), size};
    window += "ds(" + IndexBelow({std::to_string(room + 1), room + 1}, 1) + ", ";
    if (!Want("statement copy of a size known at run time", 0.2)) {
      window += most.text + ")";
      all(most);
      continue;
    }
    const std::string count =
        IndexBelow({std::to_string(size + 1), size + 1}, 1) + ", most=" + most.text + ")";
    window += count;
    into += (buffer.view.empty() ? "ds(0, " : ", ds(0, ") + count;
    buffer.view.push_back(most);
    filled = true;
  }
  operand.keys = {{"array", TypeText(dtype, array)}, {"memory", "any"}};
  buffer.facts = FactsOf(dtype, buffer.view.size());
  buffer.edges.resize(buffer.view.size());
  FillInput(operand.name, dtype, buffer.facts);
  draft_.operands.push_back(operand);
  AddScratch(buffer, "");
  const std::string semaphore = AnySemaphore();
  const std::string target = filled ? buffer.name + "[" + into + "]" : buffer.name;
  const auto line = [&](const std::string& text) { to.push_back({text, {}, {}, {}}); };
  if (filled) line(buffer.name + (dtype == DType::kBool ? " = false" : " = 0"));
  line("copy " + operand.name + "[" + window + "] -> " + target + ", " + semaphore);
  if (dice_.Chance(0.4)) Define(to);
  line("wait " + semaphore + Awaited(target));
  refs_.push_back(buffer);
}

/// An output in HBM, of which each step writes its own part.
void Maker::CopyOut(Block& to) {
  for (const AxisInfo& axis : axes_) {
    if (axis.kind == AxisInfo::Kind::kHost) return;
  }
  std::vector<RefInfo> whole;
  for (const RefInfo& ref : refs_) {
    const bool clean =
        ref.facts.Clean() && std::all_of(ref.edges.begin(), ref.edges.end(),
                                         [](const std::string& edge) { return edge.empty(); });
    if (ref.role == RefInfo::Role::kScratch && ref.readable && clean) whole.push_back(ref);
  }
  if (whole.empty()) return;
  const RefInfo from = dice_.Pick(whole);
  OperandDraft operand;
  operand.name = Name("o");
  operand.output = true;
  std::vector<std::string> array;
  std::string window;
  for (const AxisInfo& axis : axes_) {
    array.push_back(axis.steps_text);
    window += (window.empty() ? "" : ", ") + axis.name;
  }
  for (const Extent& extent : from.view) {
    array.push_back(extent.text);
    window += (window.empty() ? "" : ", ") + std::string(":");
  }
  operand.keys = {{"array", TypeText(from.dtype, array)}, {"memory", "any"}};
  draft_.operands.push_back(operand);
  draft_.exact[operand.name] = !from.loose;
  const std::string semaphore = AnySemaphore();
  to.push_back({"copy " + from.name + " -> " + operand.name +
                    (window.empty() ? "" : "[" + window + "]") + ", " + semaphore,
                {},
                {},
                {}});
  to.push_back({"wait " + semaphore + Awaited(from.name), {}, {}, {}});
}

}  // namespace kiln::soak
