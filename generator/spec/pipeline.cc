#include "generator/spec/pipeline.h"

#include <algorithm>
#include <utility>

#include "generator/spec/find_operand.h"

namespace kiln {
namespace {

class Unfolding {
 public:
  Unfolding(const Spec& original, Diagnostics& diagnostics)
      : spec_(original), pipeline_(*original.pipeline), diagnostics_(diagnostics) {}

  Spec Run() {
    KeepViewsInHbm();
    for (const PipelineSpec::Over& over : pipeline_.over) Walk(over);
    Semantics();
    spec_.first_inside = spec_.grid.size();
    spec_.grid.insert(spec_.grid.end(), pipeline_.grid.begin(), pipeline_.grid.end());
    spec_.body = pipeline_.body;
    spec_.epilogue = pipeline_.epilogue;
    spec_.pipeline.reset();
    return std::move(spec_);
  }

 private:
  void Walk(const PipelineSpec::Over& over) {
    OperandEntry* const entry = RequireOperand(spec_, over.operand, diagnostics_);
    if (!entry) return;
    for (OperandSpec& operand : entry->alternatives) {
      if (operand.memory.name == "any")
        Put(over, entry->name, operand);
      else
        NotInHbm(over, entry->name);
    }
  }

  /// A view is where the array that it shows is, wherever the pipeline brings that.
  void KeepViewsInHbm() {
    for (OperandEntry& entry : spec_.inputs) {
      for (OperandSpec& operand : entry.alternatives) {
        const OperandEntry* of =
            operand.view.name.empty() ? nullptr : FindOperand(spec_, operand.view.name);
        const bool inherits = of && of != &entry && operand.memory.name.empty();
        if (inherits && !of->alternatives.empty()) operand.memory = of->alternatives[0].memory;
      }
    }
  }

  void NotInHbm(const PipelineSpec::Over& over, const Ident& operand) {
    diagnostics_.Error("tier", over.operand.span,
                       "`" + operand.name + "` is not in HBM, where a pipeline brings blocks from",
                       "write `memory: any` at the operand, or leave it out here: the body of the "
                       "pipeline sees it as it is",
                       {{operand.span, "`" + operand.name + "` is declared here"}});
  }

  void Put(const PipelineSpec::Over& over, const Ident& name, OperandSpec& operand) {
    const OperandSpec& window = over.window;
    const auto move = [&](const char* key, const auto& from, auto& to, Span here) {
      if (!from) return;
      if (to) {
        diagnostics_.Error("key", here,
                           "`" + std::string(key) + "` of `" + name.name + "` is given twice",
                           "an operand that a pipeline walks has its window in `over` alone",
                           {{operand.span, "`" + name.name + "` is declared here"}});
      }
      to = from;
    };
    move("block", window.block, operand.block, window.block_span);
    move("index", window.index, operand.index, window.index_span);
    if (window.block) operand.block_span = window.block_span;
    if (window.index) operand.index_span = window.index_span;
    move("pad", window.pad, operand.pad, SpanOf(window.pad));
    move("init", window.init, operand.init, SpanOf(window.init));
    move("buffers", window.buffers, operand.buffers, SpanOf(window.buffers));
    if (!window.like.name.empty()) operand.like = window.like;
    operand.init_undefined = operand.init_undefined || window.init_undefined;
    operand.memory = window.memory.name.empty() ? Ident{"vmem", over.operand.span} : window.memory;
    operand.in_pipeline = true;
  }

  static Span SpanOf(const ExprPtr& expr) { return expr ? expr->span : Span{}; }

  /// Axes of which nothing is said are arbitrary.
  void Semantics() {
    if (spec_.semantics.empty() && pipeline_.semantics.empty()) return;
    const Span somewhere =
        spec_.semantics.empty() ? pipeline_.semantics_span : spec_.semantics_span;
    std::vector<Ident> words;
    const auto add = [&](const std::vector<Ident>& given, size_t axes, Span span, const char* of) {
      if (!given.empty() && given.size() != axes) {
        diagnostics_.Error("key", span,
                           "dimension_semantics names " + std::to_string(given.size()) +
                               " axes and the grid" + of + " has " + std::to_string(axes));
      }
      for (size_t i = 0; i < axes; ++i)
        words.push_back(i < given.size() ? given[i] : Ident{"arbitrary", somewhere});
    };
    add(spec_.semantics, spec_.grid.size(), spec_.semantics_span, "");
    add(pipeline_.semantics, pipeline_.grid.size(), pipeline_.semantics_span, " of the pipeline");
    spec_.semantics = std::move(words);
    spec_.semantics_span = somewhere;
  }

  Spec spec_;
  const PipelineSpec& pipeline_;
  Diagnostics& diagnostics_;
};

}  // namespace

Spec ApplyPipeline(const Spec& spec, Diagnostics& diagnostics) {
  return spec.pipeline ? Unfolding(spec, diagnostics).Run() : spec;
}

}  // namespace kiln
