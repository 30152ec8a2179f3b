#pragma once

#include <string>
#include <vector>

#include "tests/records/record.h"

namespace kiln::testing {

/// Params by name, and what they are set to.
using Settings = std::vector<std::pair<std::string, std::string>>;

/// Each param that may be the size of a block by itself, and all of them at once: of one element,
/// of two, of odd numbers, and larger than the arrays of the records.
std::vector<Settings> OtherBlocks(const Kernel& kernel);

/// One case of each kernel of the records with each of these settings, in place of those that it
/// was recorded with: "specs/matmul.yaml:matmul_f32 bm=3 bn=3" is the name.
std::vector<RecordCase> CasesOfOtherBlocks();

}  // namespace kiln::testing
