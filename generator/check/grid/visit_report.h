#pragma once

#include <array>

#include "generator/check/grid/cells.h"

/// What the walk over the visits found, and how it is said.
namespace kiln {

/// Two steps that touch one cell and must not. Steps are points of the walked space.
struct Conflict {
  enum class Kind {
    kRevisit,   // two stays of outputs, same parallel coordinates
    kRace,      // two stays of outputs, different parallel coordinates
    kAlias,     // copied in after a first visit of an output
    kReadRace,  // copied in where a step with other parallel coordinates visits an output
  };
  int64_t earlier = 0, later = 0;  // kAlias, kReadRace: the write, the read
  int64_t cell = 0;
};

struct ConflictsOfKind {
  std::vector<Conflict> first;
  int64_t count = 0;
};
using ConflictList = std::array<ConflictsOfKind, 4>;  // by Conflict::Kind

struct Unvisited {
  int64_t count = 0;  // cells
  int64_t first = 0;
  double elements = 0;
};

double ElementCountOf(const Box& box);

/// `windows` has the `writers` outputs first; `conflicts` is by window.
void ReportVisits(GridContext& context, const std::vector<CellWindow>& windows, size_t writers,
                  const Cells& cells, const GridSpace& space,
                  const std::vector<ConflictList>& conflicts, const Unvisited& unvisited);

}  // namespace kiln
