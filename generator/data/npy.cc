#include "generator/data/npy.h"

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include "generator/data/npy_header.h"
#include "generator/system/write_file.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kPrelude = 8;        // magic and version
constexpr size_t kMaxHeader = 65535;  // all that version 1 can say; no honest header is near
constexpr uint64_t kMaxBytes = uint64_t{16} << 30;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

/// The type whose letters a header has. Some have none in NumPy: their bits travel as unsigned
/// integers, or as V1 and V2 from ml_dtypes, which is why only `expected` can ask for them.
std::optional<DType> DTypeOfLetters(std::string_view letters) {
  for (const DType dtype : ArrayTypes()) {
    if (RowOf(dtype).npy == letters) return dtype;
  }
  return std::nullopt;
}

/// An i4 is its value, which NumPy reads without knowing of it.
std::string BitsLetters(DType dtype) {
  const bool is_signed = RowOf(dtype).kind == DTypeKind::kSigned;
  return (is_signed ? "i" : "u") + std::to_string(SizeOf(dtype));
}

/// "bf16 or f16": those whose bits are so many bytes without a name.
std::string NamelessTypes(std::string_view bytes) {
  std::string names;
  for (const DType dtype : ArrayTypes()) {
    if (!RowOf(dtype).as_bits || std::to_string(SizeOf(dtype)) != bytes) continue;
    names += (names.empty() ? "" : " or ") + std::string(Name(dtype));
  }
  return names;
}

/// The element type of a descr such as "<f4", or why it is none of ours.
std::variant<DType, std::string> ResolveDescr(const std::string& descr,
                                              std::optional<DType> expected) {
  const std::string quoted = "'" + descr.substr(0, 40) + "'";
  if (descr.size() != 3) return "it holds " + quoted + ", which is no dtype of Kiln";
  const std::string_view type = std::string_view(descr).substr(1);
  if (descr[0] == '>') return "it is big endian (" + quoted + ")";
  // NumPy writes '|' where the order means nothing and '<' elsewhere; ml_dtypes writes '<V2'.
  if (descr[0] != '<' && !(descr[0] == '|' && (type[1] == '1' || type == "V2"))) {
    return "its byte order mark in " + quoted + " is not '<'";
  }
  const bool nameless = type[0] == 'V';
  if (expected && RowOf(*expected).as_bits) {
    const std::string bits = BitsLetters(*expected);
    if (type == bits || (nameless && type[1] == bits[1])) return *expected;
  }
  if (nameless) {
    const std::string names = NamelessTypes(type.substr(1));
    if (!names.empty()) return "it holds " + quoted + ", which could be " + names;
  }
  if (const auto known = DTypeOfLetters(type)) {
    if (!expected || *known == *expected) return *known;
    return "it holds " + quoted + " (" + std::string(Name(*known)) + ") where " +
           std::string(Name(*expected)) + " is expected";
  }
  return "it holds " + quoted + ", which is no dtype of Kiln";
}

/// One file being read: every method returns false after leaving the reason.
class Reader {
 public:
  Reader(const std::string& path, std::optional<DType> expected)
      : path_(path), expected_(expected) {}

  std::variant<Array, NpyError> Read() {
    NpyHeader header;
    Array array;
    if (Open() && ReadHeader(header) && CheckHeader(header, array) && ReadPayload(array)) {
      return array;
    }
    return NpyError{path_ + ": " + reason_};
  }

 private:
  bool Fail(std::string reason) {
    reason_ = std::move(reason);
    return false;
  }
  bool ReadBytes(void* to, size_t count) {
    used_ += count;
    // fread takes no null pointer even for nothing, and an empty vector has none.
    return count == 0 || std::fread(to, 1, count, file_.get()) == count;
  }
  bool Open();
  bool ReadHeader(NpyHeader& header);
  bool CheckHeader(const NpyHeader& header, Array& array);
  bool CheckSize(const Array& array, std::optional<int64_t> bytes);
  bool ReadPayload(Array& array);
  bool CheckPayload(Array& array);

  const std::string& path_;
  const std::optional<DType> expected_;
  File file_;
  uint64_t file_size_ = 0;
  uint64_t used_ = 0;      // bytes read so far
  bool nameless_ = false;  // elements are so many bytes of whoever knows
  std::string reason_;
};

bool Reader::Open() {
  std::error_code error;
  const fs::file_status status = fs::status(path_, error);
  if (!fs::exists(status)) {
    return Fail(status.type() == fs::file_type::not_found ? "there is no such file"
                                                          : "cannot open: " + error.message());
  }
  if (fs::is_directory(status)) return Fail("it is a directory");
  if (!fs::is_regular_file(status)) return Fail("it is not a regular file");
  file_size_ = fs::file_size(path_, error);
  if (error) return Fail("cannot read its size: " + error.message());
  if (file_size_ == 0) return Fail("it is empty");
  file_.reset(std::fopen(path_.c_str(), "rb"));
  return file_ != nullptr || Fail("cannot open it for reading");
}

bool Reader::ReadHeader(NpyHeader& header) {
  std::array<char, kPrelude> prelude{};
  if (file_size_ < kMagic.size() || !ReadBytes(prelude.data(), kPrelude) ||
      std::string_view(prelude.data(), kMagic.size()) != kMagic) {
    return Fail("it is not a .npy file (no \\x93NUMPY at its start)");
  }
  const int major = static_cast<unsigned char>(prelude[6]);
  const int minor = static_cast<unsigned char>(prelude[7]);
  if (major < 1 || major > 3 || minor != 0) {
    return Fail("its format version " + std::to_string(major) + "." + std::to_string(minor) +
                " is not 1.0, 2.0 or 3.0");
  }
  std::array<unsigned char, 4> length_bytes{};
  if (!ReadBytes(length_bytes.data(), major == 1 ? 2 : 4)) return Fail("it ends in its header");
  size_t length = 0;
  for (size_t i = 4; i-- > 0;) length = length << 8 | length_bytes[i];
  if (length > kMaxHeader) {
    return Fail("its header of " + std::to_string(length) + " bytes is too long");
  }
  std::string text(length, '\0');
  if (!ReadBytes(text.data(), length)) return Fail("it ends in its header");
  const std::string reason = ParseNpyHeader(text, header);
  return reason.empty() || Fail(reason);
}

bool Reader::CheckHeader(const NpyHeader& header, Array& array) {
  const std::variant<DType, std::string> dtype = ResolveDescr(header.descr, expected_);
  if (const auto* reason = std::get_if<std::string>(&dtype)) return Fail(*reason);
  if (header.fortran_order && header.shape.size() > 1) {
    return Fail("it is in Fortran order; save np.ascontiguousarray(x)");
  }
  array.dtype = std::get<DType>(dtype);
  nameless_ = header.descr[1] == 'V';
  array.shape = header.shape;
  return CheckSize(array, ByteSize(array.dtype, array.shape));
}

// Before anything is allocated: a header of 100 bytes may claim any size.
bool Reader::CheckSize(const Array& array, std::optional<int64_t> bytes) {
  const std::string what = ToString(array.dtype, array.shape);
  if (!bytes || static_cast<uint64_t>(*bytes) > kMaxBytes) {
    return Fail("its " + what + " is larger than 16 GiB");
  }
  const uint64_t payload = file_size_ > used_ ? file_size_ - used_ : 0;
  if (payload == static_cast<uint64_t>(*bytes)) return true;
  return Fail("its " + what + " takes " + std::to_string(*bytes) + " bytes, but " +
              std::to_string(payload) + " follow the header");
}

bool Reader::ReadPayload(Array& array) {
  const auto bytes = static_cast<size_t>(*ByteSize(array.dtype, array.shape));
  try {
    array.bytes.resize(bytes);
  } catch (const std::bad_alloc&) {
    return Fail("there is no memory for its " + std::to_string(bytes) + " bytes");
  }
  if (!ReadBytes(array.bytes.data(), bytes)) return Fail("it could not be read to its end");
  return CheckPayload(array);
}

bool Reader::CheckPayload(Array& array) {
  for (size_t i = 0; i < array.bytes.size(); ++i) {
    const auto byte = std::to_integer<uint8_t>(array.bytes[i]);
    // ml_dtypes has the bits of an i4 without its sign in front of them.
    if (IsPacked(array.dtype) && nameless_) {
      array.SetInt(static_cast<int64_t>(i), byte);
      continue;
    }
    // Kernels read bools as C++ bools, for which any other byte is undefined behaviour.
    if (array.dtype == DType::kBool && byte > 1)
      return Fail("its bool " + std::to_string(i) + " is neither 0 nor 1");
    if (!IsPacked(array.dtype)) continue;
    const int value = array.dtype == DType::kI4 ? static_cast<int8_t>(byte) : byte;
    if (Wrap(value, array.dtype) != value) {
      return Fail("its element " + std::to_string(i) + " is " + std::to_string(value) +
                  ", which is no " + std::string(Name(array.dtype)));
    }
  }
  return true;
}

std::string DescrOf(DType dtype) {
  const DTypeRow& row = RowOf(dtype);
  return (row.bits <= 8 ? "|" : "<") + (row.as_bits ? BitsLetters(dtype) : std::string(row.npy));
}

std::string HeaderText(const Array& array) {
  std::string dict = "{'descr': '" + DescrOf(array.dtype) + "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < array.shape.size(); ++i) {
    if (i > 0) dict += ", ";
    dict += std::to_string(array.shape[i]);
  }
  dict += array.shape.size() == 1 ? ",), }" : "), }";
  // The payload starts at a multiple of 64, as NumPy has it, for the sake of mmap.
  while ((kPrelude + 2 + dict.size() + 1) % 64 != 0) dict += ' ';
  dict += '\n';
  std::string out(kMagic);
  out += {'\1', '\0', static_cast<char>(dict.size() & 0xFF), static_cast<char>(dict.size() >> 8)};
  return out + dict;
}

}  // namespace

std::variant<Array, NpyError> ReadNpy(const std::string& path, DType expected) {
  return Reader(path, expected).Read();
}

std::variant<Array, NpyError> ReadNpy(const std::string& path) {
  return Reader(path, std::nullopt).Read();
}

std::string WriteNpy(const std::string& path, const Array& array) {
  FileWriter file(path);
  file.Write(HeaderText(array));
  file.Write({reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size()});
  return file.Finish();
}

}  // namespace kiln
