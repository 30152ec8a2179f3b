#pragma once

#include <string>
#include <vector>

#include "generator/interpret/run.h"

/// Expressions.
namespace kiln::interpret {

Scalar EvaluateScalar(Run& run, const Node& node);
/// Scalars give a tile of rank 0.
Tile EvaluateTile(Run& run, const Node& node);
/// The tile repeated to `extents`.
Tile Fit(Run& run, const Tile& tile, const Dims& extents, Span span);

/// An integer or a condition that must be defined; `what` names it in messages ("a loop bound").
int64_t EvaluateIndex(Run& run, const Node& node, const char* what);
bool EvaluateCondition(Run& run, const Node& node, const char* what);

/// The extents of a shape, by the run's sizes.
const Dims& ExtentsOf(Run& run, const Shape& shape, Span span);
/// Fails when a value has more elements than any memory.
void CheckCount(Run& run, const Dims& extents, Span span);
int64_t SizeValue(Run& run, const Size& size, Span span);

/// What is subscripted, for messages; neither: some value.
struct Subject {
  int ref = -1, local = -1;
};
Subject SubjectOf(const Node& node);
/// Checks the range.
Box BoxOf(Run& run, const std::vector<Subscript>& subscripts, const Dims& extents, Subject subject);
/// The range of all indices along an axis, which must be defined.
void CheckTaken(Run& run, const Tile& ids, int64_t extent, int axis, Subject subject, Span span);
Box WholeBox(const Dims& extents);
Tile SliceTile(const Tile& tile, const std::vector<Subscript>& subscripts, const Box& box);

}  // namespace kiln::interpret
