#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "generator/check/grid/statements.h"

/// The places of a body at which something can be out of range or an assertion can fail.
namespace kiln {

struct Site {
  enum class Kind {
    kSubscript,  // 0 <= value < extent
    kSlice,      // 0 <= value, value + size <= extent
    kSize,       // 0 <= value <= extent, the most that a slice may have
    kEnd,        // of a slice: 0 <= value <= extent
    kAssert,     // value is true
  };
  Kind kind = Kind::kSubscript;
  Span span;
  NodePtr value;
  int64_t size = 1;
  int64_t extent = 0;
  int subject = -1;         // the ref, or a number below 0 that is the site's own
  std::string description;  // "dimension 0 of `x`", "semaphore `sem`"; kAssert: the message
  std::vector<Enclosing> enclosing;
};

/// Every site of the body and the epilogue, in the order of the text, except those that are in
/// range whatever the step; `locals` gathers the lets.
std::vector<Site> CollectSites(const GridContext& context, Locals& locals);

/// A site compiled over the axes and loops that it depends on.
struct SiteProgram {
  IndexProgram program;
  std::optional<GridSpace> space;  // null: too many points to walk
  int mask = -1;                   // register: the step reaches the site; -1: always
  int value = -1;                  // register
  int value_begin = 0;             // faults of earlier instructions are not the site's own
  std::map<int, int> loop_values;  // enclosing loop's variable -> register
  bool exact = true;               // each loop iteration is a point of the space

  bool Reaches(const Sweep& sweep, int lane) const;
};

/// Nullopt when the grid does not decide the site, or whether it is reached.
std::optional<SiteProgram> CompileSite(GridContext& context, const Site& site, const Locals& lets);

}  // namespace kiln
