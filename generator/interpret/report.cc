#include "generator/interpret/grid.h"
#include "generator/interpret/run.h"

namespace kiln::interpret {
namespace {

std::string Line(const Run& run, Span span) {
  return run.kernel.source ? std::to_string(run.kernel.source->Locate(span.begin).line) : "?";
}

std::string Quoted(const Run& run, int ref) { return "`" + RefAt(run, ref).name + "`"; }

std::string InParentheses(const std::string& point) {
  return point.empty() ? "" : " (grid point " + point.substr(1);
}

}  // namespace

void Fail(Run& run, RuleLabel rule, Span span, std::string message, std::string hint,
          std::vector<Note> notes) {
  run.diagnostics.Error(rule, span, std::move(message), std::move(hint), std::move(notes));
  throw Halt();
}

void FailUndefined(Run& run, Span span, const std::string& what, OriginId id) {
  const Origin& origin = run.origins[id];
  Fail(run, RuleOf(origin), span,
       what + " is undefined" + AtPoint(run) + "; it comes from " + Describe(run, origin),
       Remedy(run, origin), Trail(run, origin));
}

bool FirstReport(Run& run, RuleLabel rule, int ref) {
  return run.reported.emplace(rule, ref).second;
}

std::string ElementText(const Run& run, int index, int64_t element) {
  const std::vector<int64_t>& shape = run.binding.arrays[static_cast<size_t>(index)];
  std::string text;
  for (size_t d = shape.size(); d-- > 0;) {
    text = std::to_string(element % shape[d]) + (text.empty() ? "" : ", ") + text;
    element /= shape[d];
  }
  return "`" + RefAt(run, index).name + "[" + text + "]`";
}

RuleLabel RuleOf(const Origin& origin) {
  const bool edge = origin.kind == Origin::Kind::kEdge || origin.kind == Origin::Kind::kHalo;
  return edge && origin.reduced ? RuleLabel("tail") : RuleLabel("undefined");
}

std::string Describe(const Run& run, const Origin& origin) {
  const std::string dimension = std::to_string(origin.dimension);
  switch (origin.kind) {
    case Origin::Kind::kStay:
      return "output block " + Quoted(run, origin.ref) + " at the start of its stay" +
             InParentheses(PointText(run, origin.step));
    case Origin::Kind::kScratch: {
      const std::string name = "scratch " + Quoted(run, origin.ref);
      if (run.serial_steps == run.binding.StepCount()) return name + ", which nothing has written";
      return name + ", not written since the parallel coordinates changed" +
             InParentheses(PointText(run, origin.step));
    }
    case Origin::Kind::kEdge: {
      const BlockDim& dim = RefAt(run, origin.ref).block[static_cast<size_t>(origin.dimension)];
      const bool bounded = dim.kind == BlockDim::Kind::kBounded;
      return "elements of " + Quoted(run, origin.ref) +
             (bounded ? " past its bounded range" : " past the array's edge") + " in dimension " +
             dimension;
    }
    case Origin::Kind::kHalo:
      return "elements of " + Quoted(run, origin.ref) +
             " before the array's first one in dimension " + dimension;
    case Origin::Kind::kUncopied:
      return "elements of " + Quoted(run, origin.ref) + " that no copy has written";
    case Origin::Kind::kDivision:
      return "a division by zero in line " + Line(run, origin.span);
    case Origin::Kind::kPower:
      return "a negative power of an integer in line " + Line(run, origin.span);
    case Origin::Kind::kEmpty:
      return "the position of an element among none, in line " + Line(run, origin.span);
  }
  return "";
}

std::string Remedy(const Run& run, const Origin& origin) {
  const std::string name = origin.ref >= 0 ? RefAt(run, origin.ref).name : "";
  switch (origin.kind) {
    case Origin::Kind::kStay:
      return "set it at the first step of its stay: when first(" + name + "): " + name + " = 0";
    case Origin::Kind::kScratch:
      return "set it in the first step that uses it: when first(…): " + name + " = 0";
    case Origin::Kind::kEdge:
    case Origin::Kind::kHalo:
      return "give `" + name + "` a pad that counts for nothing, or discard them: where(inside(" +
             name + "), …, 0)";
    case Origin::Kind::kUncopied:
      return "copy something into it before it is read";
    case Origin::Kind::kDivision:
      return "guard the divisor: where(d == 0, 1, d)";
    default:
      return "";
  }
}

std::vector<Note> Trail(const Run& run, const Origin& origin) {
  std::vector<Note> notes;
  if (origin.ref >= 0)
    notes.push_back(
        {RefAt(run, origin.ref).span, "`" + RefAt(run, origin.ref).name + "` is declared here"});
  if (origin.span.end > 0) notes.push_back({origin.span, "it is made here"});
  if (origin.reduced)
    notes.push_back({origin.reduced_at, "it spreads here, where many elements become one"});
  return notes;
}

}  // namespace kiln::interpret
