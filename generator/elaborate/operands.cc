#include <algorithm>

#include "generator/elaborate/elaborate.h"

/// Inputs and outputs: arrays, and what goes with them (block_shapes.cc has blocks and index maps).
namespace kiln {
namespace {

/// The last axis of the grid that an index depends on; -1: none.
int LastAxisOf(const Node& node) {
  int last = AxisOf(node);
  for (const NodePtr& arg : node.args) last = std::max(last, LastAxisOf(*arg));
  for (const Subscript& subscript : node.subscripts) {
    last = std::max(last, LastAxisOf(*subscript.start));
  }
  return last;
}

}  // namespace

const OperandSpec* Elaborator::ChooseAlternative(const OperandEntry& entry) {
  for (const OperandSpec& spec : entry.alternatives) {
    if (!spec.condition) return &spec;
    const auto holds = ElaborateStaticCondition(*spec.condition);
    if (!holds) return &spec;  // reported; go on with something
    if (*holds) return &spec;
  }
  return nullptr;
}

void Elaborator::Operands() {
  std::vector<Chosen> chosen;
  OperandArrays(spec_.inputs, Role::kInput, chosen);
  OperandArrays(spec_.outputs, Role::kOutput, chosen);
  // Three rounds, because operands refer to each other: own blocks, then `like` and `view`
  // which take another's, then what needs the finished block.
  for (const Chosen& c : chosen) {
    if (c.spec->like.name.empty() && c.spec->view.name.empty()) OperandBlocks(c);
  }
  for (const Chosen& c : chosen) {
    Ref& ref = kernel_[RefId(c.ref)];
    if (!c.spec->view.name.empty()) OperandBlocks(c);
    if (!c.spec->like.name.empty()) ResolveLike(*c.spec, ref, chosen);
  }
  for (const Chosen& c : chosen) {
    Ref& ref = kernel_[RefId(c.ref)];
    ref.in_pipeline = c.spec->in_pipeline;
    FinishView(ref);
    OutsidePipeline(ref);
    OperandOptions(*c.spec, ref);
    Alias(*c.spec, ref);
    PackedBlocks(ref);
  }
}

void Elaborator::OperandArrays(const std::vector<OperandEntry>& entries, Role role,
                               std::vector<Chosen>& out) {
  for (const OperandEntry& entry : entries) {
    const OperandSpec* spec = ChooseAlternative(entry);
    if (!spec) {
      Symbol symbol;
      symbol.kind = Symbol::Kind::kAbsent;
      const auto& last = entry.alternatives.back();
      symbol.why = last.condition ? ToString(*last.condition) : "";
      Declare(entry.name, symbol);
      continue;
    }
    Ref ref;
    ref.name = entry.name.name;
    ref.span = entry.name.span;
    ref.role = role;
    if (!OperandArray(entry, *spec, ref)) {
      Symbol symbol;  // declared as faulty: its uses are not reported again
      symbol.kind = Symbol::Kind::kConstant;
      Declare(entry.name, symbol);
      continue;
    }
    out.push_back({spec, AddRef(std::move(ref))});
  }
}

bool Elaborator::OperandArray(const OperandEntry& entry, const OperandSpec& spec, Ref& ref) {
  if (!spec.view.name.empty()) {
    const Symbol* symbol = Find(spec.view.name);
    const Ref* of =
        symbol && symbol->kind == Symbol::Kind::kRef ? &kernel_[RefId(symbol->index)] : nullptr;
    if (symbol && symbol->kind == Symbol::Kind::kConstant) return false;
    if (!of || of->role != Role::kInput || ref.role != Role::kInput) {
      std::string hint = symbol ? "" : DidYouMean(spec.view.name, VisibleNames());
      if (hint.empty()) hint = "a view is another window on an input that stands before it";
      Error("name", spec.view.span,
            "`" + entry.name.name + "` is a view of `" + spec.view.name +
                "`, which is not an input declared before it",
            hint);
      return false;
    }
    if (spec.array) {
      Error("key", spec.array->span, "a view has no `array` of its own",
            "it shows the array of `" + spec.view.name + "`");
    }
    ref.view_of = kernel_.ArrayOf(symbol->index);
    ref.dtype = of->dtype;
    ref.array = of->array;
    ref.pad = of->pad;
    ref.memory = of->memory;
    return true;
  }
  if (!spec.array) {
    Error("key", spec.span, "`" + entry.name.name + "` has no `array`", "write array: f32[m, n]");
    return false;
  }
  const auto dtype = ResolveDType(spec.array->dtype);
  ref.dtype = dtype.value_or(DType::kF32);
  ArrayShape(spec.array->shape, ref);
  return dtype.has_value();
}

void Elaborator::OperandBlocks(const Chosen& chosen) {
  const OperandSpec& spec = *chosen.spec;
  Ref& ref = kernel_[RefId(chosen.ref)];
  const Ref* of = nullptr;
  if (!spec.view.name.empty()) of = &kernel_[RefId(Find(spec.view.name)->index)];
  if (spec.block) {
    if (!BlockShape(*spec.block, spec.block_span, ref)) return;
  } else if (of) {
    ref.block = of->block;
  } else {
    for (const Size& extent : ref.array) {
      BlockDim dim;
      dim.kind = BlockDim::Kind::kAll;
      dim.size = extent;
      dim.span = ref.span;
      dim.index = MakeInt(0, DType::kIndex, ref.span);
      ref.block.push_back(dim);
    }
  }
  if (spec.index) IndexMap(*spec.index, spec.index_span, ref);
}

/// `like: z`: the block and index of z for the dimensions both arrays share by name.
void Elaborator::ResolveLike(const OperandSpec& spec, Ref& ref, const std::vector<Chosen>& all) {
  const Ref* other = nullptr;
  for (const Chosen& c : all) {
    if (kernel_[RefId(c.ref)].name == spec.like.name) {
      other = &kernel_[RefId(c.ref)];
      if (!c.spec->like.name.empty()) {
        Error("name", spec.like.span, "`" + spec.like.name + "` is itself `like` another operand",
              "name the operand with its own block: like: " + c.spec->like.name);
        return;
      }
    }
  }
  if (!other || other == &ref) {
    std::vector<std::string> names;
    for (const Chosen& c : all) names.push_back(kernel_[RefId(c.ref)].name);
    Error("name", spec.like.span,
          "`" + spec.like.name + "` is not " + (other ? "another" : "an") + " operand",
          DidYouMean(spec.like.name, names));
    return;
  }
  std::vector<bool> used(other->array.size(), false);
  for (const Size& extent : ref.array) {
    BlockDim dim;
    dim.kind = BlockDim::Kind::kAll;
    dim.size = extent;
    dim.span = spec.like.span;
    dim.index = MakeInt(0, DType::kIndex, spec.like.span);
    for (size_t d = 0; d < other->array.size() && d < other->block.size(); ++d) {
      if (used[d] || extent.Constant() || !(other->array[d] == extent)) continue;
      dim = other->block[d];
      dim.span = spec.like.span;
      dim.index_span = spec.like.span;
      used[d] = true;
      break;
    }
    ref.block.push_back(std::move(dim));
  }
  if (spec.block) {
    ref.block.clear();
    if (!BlockShape(*spec.block, spec.block_span, ref)) return;
  }
  if (spec.index) IndexMap(*spec.index, spec.index_span, ref);
}

void Elaborator::FinishView(Ref& ref) {
  ref.view.clear();
  ref.view_dims.clear();
  for (size_t d = 0; d < ref.block.size(); ++d) {
    if (ref.block[d].kind == BlockDim::Kind::kSqueezed) continue;
    ref.view.push_back(ref.block[d].size);
    ref.view_dims.push_back(d);
  }
}

/// A block that is brought before a pipeline begins cannot depend on its steps.
void Elaborator::OutsidePipeline(const Ref& ref) {
  if (!spec_.first_inside || ref.in_pipeline) return;
  for (const BlockDim& dim : ref.block) {
    const int axis = std::max(LastAxisOf(*dim.index), dim.extent ? LastAxisOf(*dim.extent) : -1);
    if (axis < static_cast<int>(*spec_.first_inside)) continue;
    Error("name", dim.index_span,
          "the block of `" + ref.name + "` is brought before the pipeline begins, and `" +
              kernel_.axes[static_cast<size_t>(axis)].name + "` is an axis of the pipeline",
          "let the pipeline bring it: `memory: any` at the operand, its block and index in `over`");
  }
}

void Elaborator::OperandOptions(const OperandSpec& spec, Ref& ref) {
  const bool output = ref.role == Role::kOutput;
  if (!spec.memory.name.empty()) ref.memory = MemoryNamed(spec.memory, true);
  if (ref.memory == Memory::kAny) {
    if (spec.block || spec.index) {
      Error("key", spec.block ? spec.block_span : spec.index_span,
            "`" + ref.name + "` stays in HBM (memory: any), so it has no block and no index",
            "copy windows of it: copy " + ref.name + "[…] -> buffer, sem");
    }
    if (spec.pad)
      Error("key", spec.pad->span, "`pad` is for pipelined inputs; memory: any is copied as it is");
  }
  if (spec.pad) {
    if (output)
      Error("key", spec.pad->span, "`pad` is for inputs",
            "`init` gives an output's block a value to start from");
    else
      ref.pad = ElaborateConstant(*spec.pad, ref.dtype, "`pad`");
  } else if (ref.view_of >= 0) {
    ref.pad = kernel_[RefId(Find(spec.view.name)->index)].pad;
  }
  if (spec.init || spec.init_undefined) {
    if (!output) {
      Error("key", spec.init ? spec.init->span : spec.span, "`init` is for outputs",
            "an input has its array's values; `pad` is for what is past its edge");
    } else if (spec.init) {
      ref.init = ElaborateConstant(*spec.init, ref.dtype, "`init`");
    }
    ref.init_undefined = spec.init_undefined;
  }
  if (spec.buffers) {
    const auto buffers = ElaborateStaticInt(*spec.buffers, "`buffers`");
    if (buffers && (*buffers < 1 || *buffers > 64)) {
      Error("key", spec.buffers->span, "`buffers` is " + std::to_string(*buffers),
            "from 1 to 64; 2 overlaps copies with compute");
    }
    ref.buffers = static_cast<int>(buffers.value_or(2));
  }
}

void Elaborator::Alias(const OperandSpec& spec, Ref& ref) {
  if (spec.alias.name.empty()) return;
  const Symbol* symbol = Find(spec.alias.name);
  const Ref* input =
      symbol && symbol->kind == Symbol::Kind::kRef ? &kernel_[RefId(symbol->index)] : nullptr;
  if (ref.role != Role::kOutput) {
    Error("key", spec.alias.span, "`alias` is for outputs",
          "name the input on the output that takes over its memory");
    return;
  }
  if (symbol && symbol->kind == Symbol::Kind::kAbsent) return;  // nothing to take over
  if (!input || input->role != Role::kInput || input->view_of >= 0) {
    Error("name", spec.alias.span, "`" + spec.alias.name + "` is not an input",
          symbol ? "" : DidYouMean(spec.alias.name, VisibleNames()));
    return;
  }
  for (const Ref& other : kernel_.refs) {
    if (&other != &ref && other.alias == symbol->index) {
      Error("alias", spec.alias.span,
            "`" + other.name + "` already takes over the memory of `" + input->name + "`");
      return;
    }
  }
  if (input->dtype != ref.dtype || input->array.size() != ref.array.size()) {
    Error(input->dtype != ref.dtype ? RuleLabel("type") : RuleLabel("shape"), spec.alias.span,
          "`" + ref.name + "` and `" + input->name + "` share memory but differ: " +
              std::string(Name(ref.dtype)) + kiln::ToString(ref.array) + " and " +
              std::string(Name(input->dtype)) + kiln::ToString(input->array));
    return;
  }
  for (size_t d = 0; d < ref.array.size(); ++d) {
    RequireEqual(ref.array[d], input->array[d], spec.alias.span,
                 "`" + ref.name + "` and `" + input->name +
                     "` share memory but differ in dimension " + std::to_string(d));
  }
  ref.alias = symbol->index;
}

}  // namespace kiln
