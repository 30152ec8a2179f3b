#pragma once

#include <string>

namespace kiln {

/// How busy other programs, or other guests of the same host, keep this machine's cores from its
/// making on.
class Others {
 public:
  Others();
  /// How many cores they have used on average; negative: the system does not report it.
  double Cores() const;

 private:
  double seconds_, busy_, own_;
};

/// Whether a machine with so much going on may be slower than it is: a quarter of it is taken.
bool IsBusy(double cores_of_others);

/// "other programs used 0.3 of 2 cores"
std::string OthersText(double cores_of_others);

}  // namespace kiln
