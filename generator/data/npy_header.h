#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

/// What the dictionary in a .npy file's header says.
struct NpyHeader {
  std::string descr;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

/// Empty on success, else the reason, which goes on from the file's name ("its header ...").
std::string ParseNpyHeader(std::string_view text, NpyHeader& header);

}  // namespace kiln
