#include "tests/random/pallas/writer.h"

#include <algorithm>

#include "tests/random/pallas/body.h"

namespace kiln::soak {
namespace {

using Kind = BlockDim::Kind;

/// Elements by hand in front of an array and behind it.
struct Edge {
  int64_t low = 0, high = 0;
};

std::string ToText(const Edge& edge) {
  return "(" + std::to_string(edge.low) + ", " + std::to_string(edge.high) + ")";
}

std::string Join(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

class Writer {
 public:
  explicit Writer(const Binding& binding)
      : binding_(binding), kernel_(*binding.kernel), say_(binding), body_(say_, kernel_) {}

  std::string Write(const std::string& function) {
    Sort();
    std::string text = "def " + function + "(a):\n" + Arrays();
    for (const int ref : inputs_) text += IndexMap(ref);
    for (const int ref : outputs_) text += IndexMap(ref);
    return text + KernelText() + CallText();
  }

 private:
  /// What is an argument of the Pallas kernel, and how.
  void Sort() {
    for (size_t r = 0; r < kernel_.refs.size(); ++r) {
      const Ref& ref = kernel_.refs[r];
      const int index = static_cast<int>(r);
      if (ref.role == Role::kPrefetch || ref.role == Role::kScalar) host_.push_back(index);
      if (ref.role == Role::kInput) inputs_.push_back(index);
      if (ref.role == Role::kOutput) outputs_.push_back(index);
      if (ref.role == Role::kScratch || ref.role == Role::kSemaphore) scratch_.push_back(index);
      if (ref.role == Role::kArgument || ref.role == Role::kSemaphore) continue;
      for (const int64_t extent : binding_.arrays[r]) {
        if (extent == 0) throw CannotSay("an array without elements");
      }
    }
    for (const int out : outputs_) {
      const Ref& ref = say_.RefAt(out);
      for (const BlockDim& dim : ref.block) {
        if (dim.kind == Kind::kBounded) throw CannotSay("an output with a bounded block");
      }
      if (ref.init || ref.alias >= 0) started_.push_back(out);
    }
  }

  const std::string& Named(int ref) const { return say_.RefAt(ref).name; }
  static bool Staged(const Ref& ref) {
    return ref.pad && std::any_of(ref.block.begin(), ref.block.end(),
                                  [](const BlockDim& dim) { return dim.kind == Kind::kBounded; });
  }

  std::vector<std::string> Names(const std::vector<int>& refs, const std::string& prefix = "") {
    std::vector<std::string> names;
    for (const int ref : refs) names.push_back(prefix + Named(ref));
    return names;
  }

  std::vector<std::string> AxisNames() const {
    std::vector<std::string> names;
    for (const Axis& axis : kernel_.axes) names.push_back(axis.name);
    return names;
  }

  // Arrays.

  /// JAX moves a block that would run past the array back into it.
  Edge Around(const BlockDim& dim) const {
    return {say_.Extent(dim.halo_low), say_.Extent(dim.size)};
  }

  /// Whether pl.Element adds what is around the array: it is undefined, and not with aliases.
  bool PadsItself(const Ref& ref) const { return !ref.pad && started_.empty(); }

  std::vector<Edge> Edges(int index) const {
    const Ref& ref = say_.RefAt(index);
    std::vector<Edge> edges(ref.array.size());
    for (size_t d = 0; d < ref.block.size(); ++d) {
      const BlockDim& dim = ref.block[d];
      const int64_t n = binding_.arrays[static_cast<size_t>(index)][d];
      if (dim.kind == Kind::kBlocked && ref.pad) {
        const int64_t size = say_.Extent(dim.size);
        edges[d].high = (size - n % size) % size;
      }
      if (dim.kind == Kind::kElement && !PadsItself(ref)) edges[d] = Around(dim);
      if (dim.kind == Kind::kBounded) edges[d].high = say_.Extent(dim.size);
    }
    return edges;
  }

  bool HasEdges(int index) const {
    const std::vector<Edge> edges = Edges(index);
    return std::any_of(edges.begin(), edges.end(),
                       [](const Edge& edge) { return edge.low != 0 || edge.high != 0; });
  }

  std::string EdgesText(int index) const {
    std::vector<std::string> parts;
    for (const Edge& edge : Edges(index)) parts.push_back(ToText(edge));
    return Tuple(parts);
  }

  std::string ArrayText(const std::string& name, int ref, const NodePtr& pad) const {
    const std::string array = "a[\"" + name + "\"]";
    if (!HasEdges(ref)) return array;
    return "edges(" + array + ", " + EdgesText(ref) + (pad ? ", " + say_.Text(*pad) : "") + ")";
  }

  /// The numbers of the shape that the output has with its edges.
  std::string OutputShape(int ref) const {
    const std::vector<Edge> edges = Edges(ref);
    std::vector<std::string> parts;
    for (size_t d = 0; d < edges.size(); ++d)
      parts.push_back(std::to_string(binding_.arrays[static_cast<size_t>(ref)][d] + edges[d].low +
                                     edges[d].high));
    return Tuple(parts);
  }

  std::string Arrays() {
    std::string text;
    const auto line = [&](const std::string& name, const std::string& value) {
      text += "    " + name + " = " + value + "\n";
    };
    for (const int ref : host_) line(Named(ref), "a[\"" + Named(ref) + "\"]");
    for (const int ref : inputs_)
      line(Named(ref), ArrayText(Named(kernel_.ArrayOf(ref)), ref, say_.RefAt(ref).pad));
    for (const int out : started_) {
      const Ref& ref = say_.RefAt(out);
      if (ref.alias >= 0)
        line("start_" + ref.name, ArrayText(Named(ref.alias), out, nullptr));
      else
        line("start_" + ref.name, "filled(" + OutputShape(out) + ", " + say_.Text(*ref.init) + ")");
    }
    return text;
  }

  // Blocks.

  std::string IndexMap(int index) const {
    const Ref& ref = say_.RefAt(index);
    if (ref.memory == Memory::kAny) return "";
    std::string text = "    def index_" + ref.name + "(" + MapArguments() + "):\n";
    for (const Axis& axis : kernel_.axes)
      text += "        " + axis.name + " = cast(" + axis.name + ", i64)\n";
    std::vector<std::string> parts;
    for (const BlockDim& dim : ref.block) parts.push_back(say_.Index(*dim.index));
    return text + "        return block(" + Join(parts) + ")\n";
  }

  std::string MapArguments() const {
    std::vector<std::string> names = AxisNames();
    for (const int ref : host_) names.push_back(Named(ref));
    return Join(names);
  }

  std::string SpecText(int index) const {
    const Ref& ref = say_.RefAt(index);
    if (ref.memory == Memory::kAny) return "pl.BlockSpec(memory_space=pl.ANY)";
    std::vector<std::string> parts;
    for (size_t d = 0; d < ref.block.size(); ++d) {
      const BlockDim& dim = ref.block[d];
      const auto size = [&] { return std::to_string(say_.Extent(dim.size)); };
      if (dim.kind == Kind::kSqueezed)
        parts.emplace_back("None");
      else if (dim.kind == Kind::kElement && PadsItself(ref))
        parts.push_back("pl.Element(" + size() + ", padding=" + ToText(Around(dim)) + ")");
      else if (dim.kind == Kind::kElement || dim.kind == Kind::kBounded)
        parts.push_back("pl.Element(" + size() + ")");
      else if (dim.kind == Kind::kAll)
        parts.push_back(std::to_string(binding_.arrays[static_cast<size_t>(index)][d]));
      else
        parts.push_back(size());
    }
    std::string text = "pl.BlockSpec(" + Tuple(parts) + ", index_" + ref.name;
    if (ref.memory == Memory::kSmem) text += ", memory_space=pltpu.SMEM";
    if (ref.buffers != 2)
      text += ", pipeline_mode=pl.Buffered(" + std::to_string(ref.buffers) + ")";
    return text + ")";
  }

  // The kernel.

  std::string KernelText() {
    std::vector<std::string> arguments = Names(host_);
    for (const int ref : inputs_)
      arguments.push_back(Named(ref) + (Staged(say_.RefAt(ref)) ? "_block" : ""));
    for (const int ref : started_) arguments.push_back("start_" + Named(ref));
    for (const int ref : outputs_) arguments.push_back(Named(ref));
    for (const int ref : scratch_) arguments.push_back(Named(ref));
    for (const int ref : inputs_) {
      if (Staged(say_.RefAt(ref))) arguments.push_back(Named(ref));
    }
    for (const Local& local : kernel_.locals) {
      if (local.kind == Local::Kind::kVar) arguments.push_back(local.name);
    }
    for (const int ref : inputs_) Stage(ref);
    for (const int ref : started_) Start(ref);
    body_.Statements(kernel_.body, 2);
    Epilogue();
    return "    def kernel(" + Join(arguments) + "):\n" + Positions() + body_.text();
  }

  /// A bounded block is read with its pad past the bound.
  void Stage(int index) {
    const Ref& ref = say_.RefAt(index);
    if (!Staged(ref)) return;
    Node inside;
    inside.op = Op::kInside;
    inside.index = index;
    body_.Line(2, ref.name + "[...] = jnp.where(" + say_.Text(inside) + ", " + ref.name +
                      "_block[...], " + say_.Text(*ref.pad) + ")");
  }

  /// `init`: what a block holds at the start of each stay.
  void Start(int index) {
    const Ref& ref = say_.RefAt(index);
    if (!ref.init) return;
    body_.Line(2, "@pl.when(first_" + ref.name + ")");
    body_.Line(2, "def _():");
    body_.Line(3, ref.name + "[...] = jnp.full(" + say_.ShapeText(ref.view) + ", " +
                      say_.Text(*ref.init) + ")");
  }

  void Epilogue() {
    if (kernel_.epilogue.empty()) return;
    body_.Line(2, "@pl.when(last_" + Named(kernel_.epilogue_outputs.at(0)) + ")");
    body_.Line(2, "def _():");
    body_.Statements(kernel_.epilogue, 3);
  }

  /// Program ids, and where the step is in the stays that the text asks for.
  std::string Positions() {
    std::string text;
    const auto line = [&](const std::string& name, const std::string& value) {
      text += "        " + name + " = " + value + "\n";
    };
    for (size_t a = 0; a < kernel_.axes.size(); ++a)
      line(kernel_.axes[a].name, "cast(pl.program_id(" + std::to_string(a) + "), i64)");
    std::vector<int> operands = inputs_;
    operands.insert(operands.end(), outputs_.begin(), outputs_.end());
    for (const int ref : operands) {
      const std::string first = "first_" + Named(ref), last = "last_" + Named(ref);
      const bool named = body_.text().find(first) != std::string::npos ||
                         body_.text().find(last) != std::string::npos;
      if (!named) continue;
      for (const BlockDim& dim : say_.RefAt(ref).block) {
        if (dim.kind == Kind::kBounded) throw CannotSay("the stay of a bounded block");
      }
      line(first + ", " + last, "stay(index_" + Named(ref) + ", " + Tuple(AxisNames()) + ", " +
                                    Steps() + ", " + std::to_string(ParallelAxes()) + ", " +
                                    Tuple(Names(host_)) + ")");
    }
    return text;
  }

  std::string Steps() const {
    std::vector<std::string> steps;
    for (size_t a = 0; a < kernel_.axes.size(); ++a) steps.push_back(say_.StepsOf(a));
    return Tuple(steps);
  }

  int64_t ParallelAxes() const {
    return std::count_if(kernel_.axes.begin(), kernel_.axes.end(),
                         [](const Axis& axis) { return axis.parallel; });
  }

  // The call.

  std::string ScratchText(int index) const {
    const Ref& ref = say_.RefAt(index);
    if (ref.role == Role::kSemaphore) {
      std::vector<std::string> counts;
      for (const int64_t count : ref.counts) counts.push_back(std::to_string(count));
      return "pltpu.SemaphoreType.DMA(" + Tuple(counts) + ")";
    }
    return std::string(ref.memory == Memory::kSmem ? "pltpu.SMEM(" : "pltpu.VMEM(") +
           say_.ShapeText(ref.view) + ", " + PythonType(ref.dtype) + ")";
  }

  std::string AllScratch() const {
    std::vector<std::string> parts;
    for (const int ref : scratch_) parts.push_back(ScratchText(ref));
    for (const int ref : inputs_) {
      if (Staged(say_.RefAt(ref))) parts.push_back(ScratchText(ref));
    }
    for (const Local& local : kernel_.locals) {
      if (local.kind == Local::Kind::kVar)
        parts.push_back("pltpu.VMEM(" + say_.ShapeText(local.shape) + ", " +
                        PythonType(local.dtype) + ")");
    }
    return Join(parts);
  }

  std::string GridText() const {
    std::vector<std::string> grid;
    for (size_t a = 0; a < kernel_.axes.size(); ++a) {
      const std::string steps = say_.StepsOf(a);
      grid.push_back(say_.IsDynamic(kernel_.axes[a]) ? "cast(" + steps + ", i32)" : steps);
    }
    return Tuple(grid);
  }

  std::string AliasText() const {
    std::vector<std::string> pairs;
    for (size_t s = 0; s < started_.size(); ++s) {
      const auto out = std::find(outputs_.begin(), outputs_.end(), started_[s]) - outputs_.begin();
      pairs.push_back(std::to_string(host_.size() + inputs_.size() + s) + ": " +
                      std::to_string(out));
    }
    return "{" + Join(pairs) + "}";
  }

  std::string SemanticsText() const {
    std::vector<std::string> words;
    for (const Axis& axis : kernel_.axes)
      words.push_back(axis.parallel ? "\"parallel\"" : "\"arbitrary\"");
    return "pltpu.CompilerParams(dimension_semantics=" + Tuple(words) + ")";
  }

  std::string CallText() {
    std::vector<std::string> in_specs, out_specs, shapes, arguments = Names(host_);
    for (const int ref : inputs_) in_specs.push_back(SpecText(ref));
    for (size_t s = 0; s < started_.size(); ++s)
      in_specs.emplace_back("pl.BlockSpec(memory_space=pl.ANY)");
    for (const int ref : outputs_) {
      out_specs.push_back(SpecText(ref));
      shapes.push_back("jax.ShapeDtypeStruct(" + OutputShape(ref) + ", " +
                       PythonType(say_.RefAt(ref).dtype) + ")");
    }
    for (const int ref : inputs_) arguments.push_back(Named(ref));
    for (const int ref : started_) arguments.push_back("start_" + Named(ref));
    std::string text = "    " + Join(Names(outputs_)) + (outputs_.size() == 1 ? "," : "") +
                       " = pl.pallas_call(\n        kernel,\n";
    text += "        grid_spec=pltpu.PrefetchScalarGridSpec(\n            num_scalar_prefetch=" +
            std::to_string(host_.size()) + ", grid=" + GridText() + ",\n            in_specs=[" +
            Join(in_specs) + "],\n            out_specs=[" + Join(out_specs) +
            "],\n            scratch_shapes=[" + AllScratch() + "]),\n";
    text += "        out_shape=[" + Join(shapes) + "],\n";
    if (!started_.empty()) text += "        input_output_aliases=" + AliasText() + ",\n";
    if (ParallelAxes() > 0) text += "        compiler_params=" + SemanticsText() + ",\n";
    text += "        interpret=True)(" + Join(arguments) + ")\n";
    std::vector<std::string> results;
    for (const int ref : outputs_)
      results.push_back(
          Named(ref) + "=" +
          (HasEdges(ref) ? "cut(" + Named(ref) + ", " + EdgesText(ref) + ")" : Named(ref)));
    return text + "    return dict(" + Join(results) + ")\n";
  }

  const Binding& binding_;
  const Kernel& kernel_;
  const Expressions say_;
  Body body_;
  std::vector<int> host_, inputs_, outputs_, scratch_;  // refs
  std::vector<int> started_;  // outputs with something to start with: `init` or `alias`
};

}  // namespace

std::string WritePallas(const Binding& binding, const std::string& function) {
  return Writer(binding).Write(function);
}

}  // namespace kiln::soak
