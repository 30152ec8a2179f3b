// An operand of a dot that is packed when it turns out to be needed so.
#pragma once

#include "kiln/core/version.h"

namespace kiln::inline KILN_ABI {

class PackedLater {
 public:
  /// The panels of the block that the step is at.
  virtual const void* Panels() = 0;
  /// Whether they are there.
  virtual bool HasPanels() const = 0;

 protected:
  ~PackedLater() = default;
};

}  // namespace kiln::inline KILN_ABI
