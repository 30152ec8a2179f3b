// An operand of a dot whose panels are packed when they turn out to be needed.
#pragma once

#include <cstdint>

#include "kiln/core/version.h"

namespace kiln::inline KILN_ABI {

/// What is there of the panels of a block of B that are packed in turn: those of the first columns,
/// and the first k-groups of the panel behind them.
struct PackedPart {
  int64_t columns = 0, groups = 0;
  int64_t steps = 0;     // that have asked for the block
  bool is_last = false;  // whether no step will ask again, as far as can be told
  bool wraps = false;    // whether only the last panels are there, where those before them were
};
struct PanelsInTurn {
  void* panels = nullptr;
  PackedPart* packed = nullptr;  // null: all are there
};

/// The columns of whole panels, or some k-groups of one.
struct PanelPiece {
  int64_t first_column, columns, first_group, groups;
};

class PackedLater {
 public:
  /// The panels of the block that the step is at.
  virtual PanelsInTurn Panels() = 0;
  /// Whether some of them are there.
  virtual bool HasPanels() const = 0;
  virtual void PackPiece(const PanelPiece& piece, void* to) = 0;

 protected:
  ~PackedLater() = default;
};

}  // namespace kiln::inline KILN_ABI
