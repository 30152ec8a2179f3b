// Arrays of numpy: a .npz is a zip archive of .npy files, which numpy.savez stores as they are.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

struct Array {
  std::string dtype;  // as numpy spells it: "<f4"
  std::vector<int64_t> shape;
  std::string bytes;

  int64_t size() const;
};

/// The arrays of a file, by name; std::runtime_error where it is none, or is compressed.
std::map<std::string, Array> ReadNpz(const std::string& path);
