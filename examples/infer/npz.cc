#include "npz.h"

#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace {

[[noreturn]] void Fail(const std::string& what) { throw std::runtime_error(what); }

/// A part of the file; what would reach past its end is refused.
std::string Part(const std::string& file, uint64_t at, uint64_t size) {
  if (at > file.size() || size > file.size() - at) Fail("the archive is cut off");
  return file.substr(at, size);
}

/// Little-endian, as zip and .npy have it.
uint64_t Number(const std::string& file, uint64_t at, uint64_t bytes) {
  const std::string part = Part(file, at, bytes);
  uint64_t value = 0;
  for (uint64_t i = bytes; i-- > 0;) value = value << 8 | static_cast<unsigned char>(part[i]);
  return value;
}

/// "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }" before the elements.
Array ParseNpy(const std::string& npy) {
  if (Part(npy, 0, 6) != "\x93NUMPY") Fail("an array is not in numpy's format");
  const uint64_t length_bytes = Number(npy, 6, 1) == 1 ? 2 : 4;
  const uint64_t header_size = Number(npy, 8, length_bytes);
  const std::string header = Part(npy, 8 + length_bytes, header_size);
  static const std::regex kHeader(
      R"(\{'descr': '([<|][biuf]\d)', 'fortran_order': False, 'shape': \(([0-9, ]*)\), \}\s*)");
  std::smatch match;
  if (!std::regex_match(header, match, kHeader))
    Fail("an array is not row-major, or not of numbers: " + header);

  Array array;
  array.dtype = match[1];
  std::istringstream extents(match[2]);
  for (int64_t extent; extents >> extent; extents.ignore(1)) array.shape.push_back(extent);
  const uint64_t begin = 8 + length_bytes + header_size;
  array.bytes = npy.substr(begin);
  const auto element = static_cast<uint64_t>(std::stoi(array.dtype.substr(2)));
  if (array.bytes.size() != static_cast<uint64_t>(array.size()) * element)
    Fail("an array is cut off");
  return array;
}

}  // namespace

int64_t Array::size() const {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  return count;
}

std::map<std::string, Array> ReadNpz(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) Fail("there is no file " + path);
  const std::string file((std::istreambuf_iterator<char>(stream)), {});

  // The record at the end says where the directory is, and that where the files are.
  const size_t end = file.rfind("PK\5\6");
  if (end == std::string::npos) Fail(path + " is no archive of numpy");
  std::map<std::string, Array> arrays;
  uint64_t entry = Number(file, end + 16, 4);
  for (uint64_t left = Number(file, end + 10, 2); left > 0; --left) {
    if (Part(file, entry, 4) != "PK\1\2") Fail(path + " has a broken directory");
    if (Number(file, entry + 10, 2) != 0) Fail(path + " is compressed: write it with numpy.savez");
    const uint64_t name_size = Number(file, entry + 28, 2);
    const uint64_t size = Number(file, entry + 24, 4), local = Number(file, entry + 42, 4);
    const std::string name = Part(file, entry + 46, name_size);
    const uint64_t data = local + 30 + Number(file, local + 26, 2) + Number(file, local + 28, 2);
    arrays[name.substr(0, name.rfind(".npy"))] = ParseNpy(Part(file, data, size));
    entry += 46 + name_size + Number(file, entry + 30, 2) + Number(file, entry + 32, 2);
  }
  return arrays;
}
