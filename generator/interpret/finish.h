#pragma once

#include <map>
#include <string>

#include "generator/interpret/run.h"

namespace kiln::interpret {

/// The outputs after the last step: elements that nobody stored take `init`, undefined ones become
/// NaN or the largest integer. With `check`, reports [coverage], [undefined] and [tail].
std::map<std::string, Array> FinishOutputs(Run& run, bool check);

}  // namespace kiln::interpret
