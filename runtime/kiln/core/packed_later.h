// An operand of a dot that is packed when it turns out to be needed so.
#pragma once

namespace kiln {

class PackedLater {
 public:
  /// The panels of the block that the step is at.
  virtual const void* Panels() = 0;

 protected:
  ~PackedLater() = default;
};

}  // namespace kiln
