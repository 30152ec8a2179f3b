#include <algorithm>
#include <set>

#include "generator/plan/stays.h"
#include "generator/plan/walk.h"
#include "generator/render/print/cpp.h"
#include "generator/render/view/body_view.h"
#include "generator/render/view/specialization_view.h"

/// How the walk over the grid holds operands.
namespace kiln::render {
namespace {

using Layout = OperandPlan::Layout;

std::string RowsFormat(const OperandPlan& operand, const std::string& type, size_t rank) {
  const char* const name = operand.copied      ? "CopiedRows<"
                           : operand.has_edges ? "EdgedRows<"
                                               : "Rows<";
  return name + type + ", " + std::to_string(rank) + ">";
}

}  // namespace

bool SpecializationView::IsOfDot(RefId r) const {
  return plan_.operands[r].layout != Layout::kRows;
}

std::string SpecializationView::Type(const Ref& ref) const {
  return (ref.role == Role::kOutput ? "" : "const ") + StorageType(ref.dtype);
}

/// With the array's dimensions that the body sees as one with the dimension before.
std::string SpecializationView::Format(RefId r) const {
  std::string joined;
  for (const size_t dim : kernel_[r].joined) joined += ", " + std::to_string(dim);
  return joined.empty() ? FormatOfView(r) : "Joined<" + FormatOfView(r) + joined + ">";
}

std::string SpecializationView::FormatOfView(RefId r) const {
  const Ref& ref = kernel_[r];
  const std::string type = StorageType(ref.dtype);
  const auto stack = [&](const std::string& matrix) {
    const size_t leading = ref.view.size() - 2;
    return leading == 0 ? matrix : "StackOf<" + matrix + ", " + std::to_string(leading) + ">";
  };
  switch (plan_.operands[r].layout) {
    case Layout::kPackedA:
      return (plan_.operands[r].unpacked ? "UnpackedA<" : "PackedA<") + type + ">";
    case Layout::kPackedAT:
      return "PackedAT<" + type + ">";
    case Layout::kPackedB:
      return stack("PackedB<" + type + ">");
    case Layout::kPackedBT:
      return stack("PackedBT<" + type + ">");
    default:
      return RowsFormat(plan_.operands[r], type, ref.view.size());
  }
}

/// The space of an array's dimension; none where the body does not see it.
SpaceId SpecializationView::SpaceOf(RefId r, size_t dimension) const {
  const std::vector<size_t>& dims = kernel_[r].view_dims;
  for (size_t a = 0; a < dims.size(); ++a) {
    if (dims[a] == dimension) return plan_[BufferOf(r)].spaces[a];
  }
  return {};
}

/// How a dimension of an array is cut.
std::string SpecializationView::BlockOf(RefId r, size_t dimension) const {
  const Ref& ref = kernel_[r];
  const BlockDim& dim = ref.block[dimension];
  const bool clipped = plan_.operands[r].clipped[dimension];
  switch (dim.kind) {
    case BlockDim::Kind::kAll:
      return "All(" + walk_.Print(ref.array[dimension]) + ")";
    case BlockDim::Kind::kSqueezed:
      return "Squeezed()";
    case BlockDim::Kind::kElement:
      return "Element(" + walk_.Print(dim.size) + ", " + walk_.Print(dim.halo_low) + ", " +
             walk_.Print(dim.halo_high) + (clipped ? ", Clip::kYes" : "") + ")";
    case BlockDim::Kind::kBounded:
      return "Bounded(" + walk_.Print(dim.size) + ")";
    case BlockDim::Kind::kBlocked:
      break;
  }
  return (clipped ? "Clipped(" : "Blocked(") + BlockSize(dim.size, SpaceOf(r, dimension)) + ")";
}

std::string SpecializationView::Blocks(RefId r) const {
  const Ref& ref = kernel_[r];
  std::vector<std::string> dims;
  for (size_t d = 0; d < ref.block.size(); ++d) {
    const std::string block = BlockOf(r, d);
    dims.push_back(ref.IsInRow(d) ? "InRow(" + block + ")" : block);
  }
  return "{" + Joined(dims) + "}";
}

/// As an argument, and what it is by default.
std::pair<std::string, std::string> SpecializationView::BuffersOf(const Ref& ref) {
  return {"/*buffers=*/" + std::to_string(ref.buffers), "/*buffers=*/2"};
}

std::string SpecializationView::Window(RefId r) const {
  const auto product = [&](const Axes& axes) {
    std::string text;
    for (const AxisId axis : axes) text += (text.empty() ? "" : " * ") + walk_.names().steps(axis);
    return text;
  };
  std::string text;
  for (const Reuse& reuse : plan_.operands[r].reuse) {
    text += product(reuse.axes) + " > 1 ? " + product(reuse.window) + " : ";
  }
  return text + "0";
}

/// How many rows or columns of the other operand each element of one is multiplied with, where it
/// matters to Direct.
std::string SpecializationView::OthersPerElement(RefId r) const {
  const OperandPlan& operand = plan_.operands[r];
  const bool is_a = bool(operand.columns_per_a);
  const SpaceId others = is_a ? operand.columns_per_a : operand.rows_per_b;
  if (!others) return "";
  if (operand.live_rows) return "/*rows=*/kLiveRows";
  const std::string name = is_a ? "/*columns=*/" : "/*rows=*/";
  AxisId axis_of_others;
  const Size* extent = &plan_[others].extent;
  for (const FreeBlock& block : plan_.free_blocks) {
    if (block.space != others) continue;
    axis_of_others = block.axis;
    extent = &block.extent;
  }
  constexpr int kProduct = 13;
  std::string count = walk_.Print(*extent, kProduct);
  const Space& space = plan_[others];
  if (!axis_of_others && space.clipped && extent->Constant()) {  // such as one query of attention
    const Ref& ref = kernel_[space.ref];
    const Size of_array = ref.ExtentOf(space.view_axis);
    count = "RowsOfBlock(" + count + ", " + walk_.Print(of_array) + ")";
  }
  if (!is_a && operand.products > 1) count = std::to_string(operand.products) + " * " + count;
  for (const Reuse& reuse : operand.reuse) {
    for (const AxisId axis : reuse.axes) {
      if (axis != axis_of_others) count += " * " + walk_.names().steps(axis);
    }
  }
  std::string steps;
  for (const AxisId axis : operand.stays) {
    if (axis != axis_of_others) steps += (steps.empty() ? "" : " * ") + walk_.names().steps(axis);
  }
  if (!steps.empty()) return name + "RowsOfStay(" + count + ", " + steps + ")";
  return name + count;
}

/// Elements from one row of the matrix to the next.
std::string SpecializationView::RowStride(RefId r) const {
  return "call." + names_[ArrayOf(r)] + ".stride[" + std::to_string(kernel_[r].LastDimOf(0)) + "]";
}

std::string SpecializationView::Operand(RefId r) const {
  const Ref& ref = kernel_[r];
  return "{" + Quoted(ref.name) + ", " + std::to_string(r.number()) + ", " +
         std::to_string(Line(ref)) +
         (ref.memory == kiln::Memory::kSmem || ref.role == Role::kPrefetch ? ", Memory::kSmem"
                                                                           : "") +
         "}";
}

/// Prefetch arrays of which the body reads more than single elements.
std::set<RefId> TilesInSmem(const Plan& plan) {
  std::set<RefId> tiles;
  for (const BodyPlan& body : plan.bodies) {
    ForEachPlace(body.stages, [&](const Place& place, bool) {
      const Ref* ref = plan.RefOf(place.buffer);
      const bool loops = std::any_of(place.at.begin(), place.at.end(),
                                     [](const Coordinate& c) { return bool(c.loop); });
      if (loops && ref && ref->role == Role::kPrefetch) tiles.insert(plan[place.buffer].ref);
    });
  }
  return tiles;
}

/// Scalars and prefetch arrays are in SMEM before the grid starts.
void SpecializationView::InSmem(RefId r, std::vector<Fields>* holds) const {
  const Ref& ref = kernel_[r];
  if (ref.role != Role::kPrefetch && ref.role != Role::kScalar) return;
  Fields& h = holds->emplace_back();
  h.Set("type", StorageType(ref.dtype));
  h.Set("operand", "{" + Quoted(ref.name) + ", " + std::to_string(r.number()) + ", " +
                       std::to_string(Line(ref)) + ", Memory::kSmem}");
  std::vector<std::string> extents;
  for (const Size& s : ref.array) extents.push_back(walk_.Print(s));
  h.Set("extents", "{" + Joined(extents) + "}");
}

bool SpecializationView::HasCopies() const {
  return std::any_of(kernel_.refs.begin(), kernel_.refs.end(),
                     [](const Ref& ref) { return ref.role == Role::kSemaphore; });
}

/// Arrays that stay in HBM, for manual copies.
void SpecializationView::Copied() {
  std::vector<Fields> copied;
  for (const RefId r : IdsOf(kernel_.refs)) {
    const Ref& ref = kernel_[r];
    if (ref.memory != kiln::Memory::kAny || ref.view_of >= 0) continue;
    const bool output = ref.role == Role::kOutput;
    const bool due = output && !plan_.operands[r].MayStay();
    const RefId borrower = Borrower(r);
    Fields& f = copied.emplace_back();
    f.Set("verb", output ? "Writes" : "Reads");
    f.Set("arguments", Operand(r) +
                           (borrower ? ", /*lent to=*/" + std::to_string(borrower.number()) : "") +
                           (due ? ", /*due=*/call." + names_[ArrayOf(r)] + ".Count()" : ""));
  }
  std::set<BufferId> may_stay;  // of which copies to them may be left
  for (const BufferId b : plan_.buffers.ids()) {
    if (plan_[b].found) may_stay.insert(plan_[b].same_as);
  }
  for (const BodyPlan& body : plan_.bodies) {
    ForEachStage(body.stages, [&](const Stage& stage) {
      const auto* touch = As<stage::Touch>(stage);
      if (touch && touch->writes) may_stay.erase(touch->window.begin.buffer);
    });
  }
  for (const BufferId b : may_stay) {
    Fields& f = copied.emplace_back();
    f.Set("verb", "MayStay");
    f.Set("arguments", names_[b] + "_memory");
  }
  for (const BufferId b : plan_.buffers.ids()) {
    if (!plan_[b].in_pages) continue;
    Fields& f = copied.emplace_back();
    f.Set("verb", "MayLeave");
    f.Set("arguments", names_[b] + "_memory, " + names_[b] + "_count * sizeof(" +
                           StorageType(plan_[b].dtype) + ")");
  }
  fields_.SetList("copied", std::move(copied));
}

/// Bools of the step that say where stays begin and end.
void SpecializationView::Visits() {
  std::vector<Fields> visits;
  for (const RefId r : IdsOf(kernel_.refs))
    if (IsPipelined(kernel_[r])) VisitsOf(r, &visits);
  fields_.SetList("visits", std::move(visits));
}

void SpecializationView::VisitsOf(RefId r, std::vector<Fields>* visits) {
  for (const bool first : {true, false}) {
    const OperandPlan& operand = plan_.operands[r];
    if (!(first ? operand.knows_first : operand.knows_last)) continue;
    Fields& v = visits->emplace_back();
    const std::string prefix = first ? "first_" : "last_";
    v.Set("visit", prefix + names_[r]);
    InStep("bool", prefix + names_[r], prefix + names_[r]);
    v.SetFlag("is_first", first);
    const std::string block_type = "Index<" + std::to_string(kernel_[r].array.size()) + ">";
    v.Set("block", block_type);
    v.Set("block_name", prefix + names_[r] + "_at");
    const std::string type = operand.index.IsConstant() ? block_type : "";
    v.Set("at_index", type + IndexAt(r, "core", "at"));
    v.Set("next_index", type + IndexAt(r, "next_step", "next"));
  }
}

/// Arguments behind the blocks of an operand, each with its default; the last ones are left out
/// where they are that.
void SpecializationView::AddRest(std::vector<std::pair<std::string, std::string>> arguments,
                                 Fields* operand) {
  while (!arguments.empty() && arguments.back().first == arguments.back().second)
    arguments.pop_back();
  operand->Set("after_blocks", arguments.empty() ? ");" : ",");
  std::vector<std::string> rest;
  for (const auto& [argument, standard] : arguments) rest.push_back(argument);
  operand->SetList("rest", Enumerated("argument", rest, ");"));
}

void SpecializationView::GiveInput(RefId r, Fields* f) {
  const Ref& ref = kernel_[r];
  const std::string pad =
      ref.pad ? "Pad<" + StorageType(ref.dtype) + ">(" + ConstantText(ref.pad, ref.dtype) + ")"
      : plan_.operands[r].reduced ? "NoPad{.reduced = true}"
                                  : "NoPad()";
  AddRest({{pad, "NoPad()"},
           BuffersOf(ref),
           {"/*window=*/" + Window(r), "/*window=*/0"},
           {OthersPerElement(r), ""}},
          f);
  f->Set("borrower", std::to_string(Borrower(r).number()));
  f->SetFlag("lends", bool(Borrower(r)));
  OperandInStep(r, names_[r] + ".WaitIn(" + IndexAt(r, "core", "at") + ")");
  if (IsOfDot(r)) {
    const std::string rank = std::to_string(ref.array.size());
    target_.push_back({"DotFormat<" + rank + ">", names_[r] + "_format",
                       "kDotFormat<" + Format(r) + ", " + rank + ">"});
  }
}

std::string SpecializationView::InitOf(RefId r) const {
  const Ref& ref = kernel_[r];
  switch (plan_.operands[r].start) {
    case OperandPlan::Start::kValue:
      return "Init<" + StorageType(ref.dtype) + ">(" + ConstantText(ref.init, ref.dtype) + ")";
    case OperandPlan::Start::kUndefined:
      return "UndefinedInit()";
    case OperandPlan::Start::kAlias:
      return "NoInit{.is_alias = true}";
    case OperandPlan::Start::kNothing:
      return "NoInit()";
  }
  __builtin_unreachable();
}

void SpecializationView::GiveOutput(RefId r, Fields* f) {
  const Ref& ref = kernel_[r];
  AddRest({{InitOf(r), "NoInit()"}, BuffersOf(ref)}, f);
  f->SetFlag("watched", plan_.operands[r].watched);
  OperandInStep(r, names_[r] + ".Open(" + IndexAt(r, "core", "at") + ", at.run)");
}

void SpecializationView::Operands() {
  std::vector<Fields> ins, outs, holds;
  fields_.SetList("shared_blocks", SharedBlocks());
  fields_.SetList("index_maps", IndexMaps());
  bool any_reads_data = false, any_maps = false, looks_ahead = false;
  const std::set<RefId> tiles_in_smem = TilesInSmem(plan_);
  for (const RefId r : IdsOf(kernel_.refs)) {
    const Ref& ref = kernel_[r];
    InSmem(r, &holds);
    if (tiles_in_smem.count(r)) {
      OperandInStep(r, "TileOf<" + std::to_string(ref.view.size()) + ">(call." + names_[r] + ")");
    }
    if (!IsPipelined(ref)) continue;
    const bool output = ref.role == Role::kOutput;
    Fields& f = (output ? outs : ins).emplace_back();
    f.Set("operand_name", names_[r]);
    f.SetFlag("of_dot", IsOfDot(r));
    f.Set("type", StorageType(ref.dtype));
    f.Set("format", Format(r));
    f.Set("array_rank", std::to_string(ref.array.size()));
    f.Set("operand", Operand(r));
    f.Set("tensor", "call." + names_[ArrayOf(r)]);
    f.Set("blocks", blocks_.contains(r) ? blocks_[r] : Blocks(r));
    f.Set("index_of_from", IndexAt(r, "from", "at"));
    f.Set("next_index", IndexAt(r, "next_step", "next"));
    const IndexMap& index_map = plan_.operands[r].index;
    const bool may_fail = index_map.MayFail();
    any_reads_data = any_reads_data || may_fail;
    looks_ahead = looks_ahead || (may_fail && (output || plan_.operands[r].knows_last));
    any_maps = any_maps || (!output && !index_map.IsConstant());
    output ? GiveOutput(r, &f) : GiveInput(r, &f);
  }
  const auto copy = [&](const char* name, const std::string& from, const std::string& at) {
    fields_.Set(name, (any_reads_data ? from + ", " : "") + at);
  };
  copy("copy_parameters", "[[maybe_unused]] auto& from", PointParameter(any_maps));
  fields_.Set("locate", any_reads_data ? ", locate" : "");
  fields_.SetFlag("looks_ahead", looks_ahead);
  fields_.SetFlag("has_copies", HasCopies());
  Copied();
  fields_.SetList("ins", std::move(ins));
  fields_.SetList("outs", std::move(outs));
  fields_.SetList("holds", std::move(holds));
}

}  // namespace kiln::render
