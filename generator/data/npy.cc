#include "generator/data/npy.h"

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

namespace kiln {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kPrelude = 8;            // magic and version
constexpr size_t kMaxHeader = 65535;      // all that version 1 can say; no honest header is near
constexpr size_t kMaxRank = 8;            // the spec language's limit
constexpr uint64_t kMaxBytes = uint64_t{16} << 30;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

/// What the header's dictionary says.
struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

/// A parser of the three-entry dictionary that NumPy writes, and of nothing else of Python.
/// Every step returns false at the first thing that does not fit and leaves the reason.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  bool Parse(Header& header);
  const std::string& reason() const { return reason_; }

 private:
  bool Fail(std::string reason) {
    if (reason_.empty()) reason_ = std::move(reason);
    return false;
  }
  void SkipSpaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool Accept(char c) {
    SkipSpaces();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool Expect(char c) {
    return Accept(c) || Fail(std::string("its header lacks a `") + c + "` at byte " +
                             std::to_string(at_));
  }
  bool ParseString(std::string& out);
  bool ParseBool(bool& out);
  bool ParseExtent(int64_t& out);
  bool ParseShape(std::vector<int64_t>& out);
  bool ParseEntry(Header& header);
  bool ParseEnd();

  std::string_view text_;
  size_t at_ = 0;
  bool seen_descr_ = false, seen_order_ = false, seen_shape_ = false;
  std::string reason_;
};

bool HeaderParser::ParseString(std::string& out) {
  SkipSpaces();
  const char quote = at_ < text_.size() ? text_[at_] : '\0';
  if (quote != '\'' && quote != '"') {
    return Fail("its header lacks a string at byte " + std::to_string(at_));
  }
  const size_t end = text_.find(quote, at_ + 1);
  if (end == std::string_view::npos) return Fail("its header has a string without an end");
  out = std::string(text_.substr(at_ + 1, end - at_ - 1));
  at_ = end + 1;
  // These strings get into messages; nothing NumPy writes here needs more than plain letters.
  for (const char c : out) {
    if (c < ' ' || c > '~' || c == '\\') return Fail("its header has an odd byte in a string");
  }
  return true;
}

bool HeaderParser::ParseBool(bool& out) {
  SkipSpaces();
  for (const auto& [word, value] : {std::pair("True", true), std::pair("False", false)}) {
    const std::string_view w(word);
    if (text_.substr(at_, w.size()) == w) {
      at_ += w.size();
      out = value;
      return true;
    }
  }
  return Fail("its header's fortran_order is neither True nor False");
}

bool HeaderParser::ParseExtent(int64_t& out) {
  SkipSpaces();
  const size_t begin = at_;
  out = 0;
  while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
    if (__builtin_mul_overflow(out, 10, &out) ||
        __builtin_add_overflow(out, text_[at_] - '0', &out)) {
      return Fail("its header's shape has an extent beyond 64 bits");
    }
    ++at_;
  }
  if (at_ == begin || (text_[begin] == '0' && at_ > begin + 1)) {
    return Fail("its header's shape is not a tuple of whole numbers");
  }
  return true;
}

bool HeaderParser::ParseShape(std::vector<int64_t>& out) {
  if (!Expect('(')) return false;
  bool comma = false;
  while (!Accept(')')) {
    if (!out.empty() && !comma) return Fail("its header's shape lacks a comma");
    int64_t extent = 0;
    if (!ParseExtent(extent)) return false;
    out.push_back(extent);
    if (out.size() > kMaxRank) {
      return Fail("it has more than " + std::to_string(kMaxRank) + " dimensions");
    }
    comma = Accept(',');
  }
  // Python reads (3) as a number, so NumPy never means it as a shape.
  return out.size() != 1 || comma || Fail("its header's shape is not a tuple");
}

bool HeaderParser::ParseEntry(Header& header) {
  std::string key;
  if (!ParseString(key) || !Expect(':')) return false;
  bool* seen = key == "descr"           ? &seen_descr_
               : key == "fortran_order" ? &seen_order_
               : key == "shape"         ? &seen_shape_
                                        : nullptr;
  if (seen == nullptr) return Fail("its header has an unknown key '" + key.substr(0, 40) + "'");
  if (*seen) return Fail("its header has the key '" + key + "' twice");
  *seen = true;
  if (seen == &seen_order_) return ParseBool(header.fortran_order);
  if (seen == &seen_shape_) return ParseShape(header.shape);
  if (Accept('[')) return Fail("it holds records, not plain elements");
  return ParseString(header.descr);
}

bool HeaderParser::ParseEnd() {
  SkipSpaces();
  if (at_ + 1 != text_.size() || text_[at_] != '\n') {
    return Fail("its header does not end in spaces and one newline");
  }
  return true;
}

bool HeaderParser::Parse(Header& header) {
  if (!Expect('{')) return false;
  bool comma = true;
  while (!Accept('}')) {
    if (!comma) return Fail("its header lacks a comma at byte " + std::to_string(at_));
    if (!ParseEntry(header)) return false;
    comma = Accept(',');
  }
  if (!seen_descr_) return Fail("its header has no 'descr'");
  if (!seen_order_) return Fail("its header has no 'fortran_order'");
  if (!seen_shape_) return Fail("its header has no 'shape'");
  return ParseEnd();
}

struct Descr {
  std::string_view text;
  DType dtype;
};

// The byte order mark is dropped before the lookup. bf16 has no name in NumPy: it travels as u16
// bits, or as V2 from ml_dtypes, which is why only `expected` can ask for it.
constexpr std::array<Descr, 11> kDescrs = {{
    {"b1", DType::kBool},
    {"i1", DType::kI8},
    {"u1", DType::kU8},
    {"i2", DType::kI16},
    {"u2", DType::kU16},
    {"i4", DType::kI32},
    {"u4", DType::kU32},
    {"i8", DType::kI64},
    {"f2", DType::kF16},
    {"f4", DType::kF32},
    {"f8", DType::kF64},
}};

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
  const bool wants_16 = expected == DType::kBF16 || expected == DType::kF16;
  if (wants_16 && (type == "u2" || type == "V2")) return *expected;
  if (type == "V2") return "it holds " + quoted + ", which could be bf16 or f16";
  for (const Descr& known : kDescrs) {
    if (known.text != type) continue;
    if (!expected || known.dtype == *expected) return known.dtype;
    return "it holds " + quoted + " (" + std::string(Name(known.dtype)) + ") where " +
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
    Header header;
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
    return std::fread(to, 1, count, file_.get()) == count;
  }
  bool Open();
  bool ReadHeader(Header& header);
  bool CheckHeader(const Header& header, Array& array);
  bool CheckSize(const Array& array, std::optional<int64_t> bytes);
  bool ReadPayload(Array& array);

  const std::string& path_;
  const std::optional<DType> expected_;
  File file_;
  uint64_t file_size_ = 0;
  uint64_t used_ = 0;  // bytes read so far
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

bool Reader::ReadHeader(Header& header) {
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
  HeaderParser parser(text);
  return parser.Parse(header) || Fail(parser.reason());
}

bool Reader::CheckHeader(const Header& header, Array& array) {
  const std::variant<DType, std::string> dtype = ResolveDescr(header.descr, expected_);
  if (const auto* reason = std::get_if<std::string>(&dtype)) return Fail(*reason);
  if (header.fortran_order && header.shape.size() > 1) {
    return Fail("it is in Fortran order; save np.ascontiguousarray(x)");
  }
  array.dtype = std::get<DType>(dtype);
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
  if (array.dtype != DType::kBool) return true;
  for (size_t i = 0; i < bytes; ++i) {
    // Kernels read bools as C++ bools, for which any other byte is undefined behaviour.
    if (array.bytes[i] > std::byte{1}) {
      return Fail("its bool " + std::to_string(i) + " is neither 0 nor 1");
    }
  }
  return true;
}

std::string DescrOf(DType dtype) {
  if (dtype == DType::kBF16 || dtype == DType::kF16) return "<u2";
  for (const Descr& known : kDescrs) {
    if (known.dtype == dtype) return (SizeOf(dtype) == 1 ? "|" : "<") + std::string(known.text);
  }
  return "";  // weak types and indices are never in arrays
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

/// A new file next to `path`, under a name that was free. Exclusive creation, so that neither
/// two writers nor a planted link can make it another file.
File CreateBeside(const std::string& path, std::string& name) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    name = path + ".tmp" + std::to_string(attempt);
    if (std::FILE* file = std::fopen(name.c_str(), "wbx")) return File(file);
  }
  return nullptr;
}

bool WriteAll(File file, const std::string& header, const std::vector<std::byte>& payload) {
  const bool written =
      std::fwrite(header.data(), 1, header.size(), file.get()) == header.size() &&
      std::fwrite(payload.data(), 1, payload.size(), file.get()) == payload.size();
  // The last bytes, and a full disk, show only when the file is closed.
  return std::fclose(file.release()) == 0 && written;
}

}  // namespace

std::variant<Array, NpyError> ReadNpy(const std::string& path, DType expected) {
  return Reader(path, expected).Read();
}

std::variant<Array, NpyError> ReadNpy(const std::string& path) {
  return Reader(path, std::nullopt).Read();
}

std::string WriteNpy(const std::string& path, const Array& array) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  // A rename would put a plain file in the place of a device such as /dev/null.
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    return path + ": it exists and is not a regular file";
  }
  std::string temporary;
  File file = CreateBeside(path, temporary);
  if (file == nullptr) return path + ": cannot create a file beside it";
  if (!WriteAll(std::move(file), HeaderText(array), array.bytes)) {
    fs::remove(temporary, error);
    return path + ": writing failed (is the disk full?)";
  }
  fs::rename(temporary, path, error);
  if (!error) return "";
  const std::string reason = error.message();
  fs::remove(temporary, error);
  return path + ": " + reason;
}

}  // namespace kiln
