#include "generator/data/npy.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "tests/catch.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

/// A folder of its own for each test, gone with it.
class Folder {
 public:
  Folder() {
    std::random_device random;
    do {
      path_ = fs::temp_directory_path() / ("kiln_npy_test_" + std::to_string(random()));
    } while (!fs::create_directory(path_));
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return path_ / name; }
  size_t FileCount() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(path_), {}));
  }

 private:
  fs::path path_;
};

void WriteBytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A file's bytes with any dictionary and payload.
std::string Npy(const std::string& dict, const std::string& payload, char version = 1) {
  std::string out = std::string("\x93NUMPY") + version + '\0';
  const size_t length_bytes = version == 1 ? 2 : 4;
  for (size_t i = 0; i < length_bytes; ++i) out += static_cast<char>(dict.size() >> (8 * i));
  return out + dict + payload;
}

std::string Dict(const std::string& descr, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
}

/// The error of reading `bytes`, without the file's name; "" when they are an array.
std::string ErrorOf(const std::string& bytes, std::optional<DType> expected = std::nullopt) {
  const Folder folder;
  const std::string path = folder / "x.npy";
  WriteBytes(path, bytes);
  const auto result = expected ? ReadNpy(path, *expected) : ReadNpy(path);
  const auto* error = std::get_if<NpyError>(&result);
  if (error == nullptr) return "";
  REQUIRE(error->message.substr(0, path.size() + 2) == path + ": ");
  return error->message.substr(path.size() + 2);
}

std::string ErrorOfDict(const std::string& dict) { return ErrorOf(Npy(dict, "abcd")); }

TEST_CASE("every dtype and rank survives a file") {
  const Folder folder;
  const std::string path = folder / "x.npy";
  for (const char* name : {"bool", "i4", "u4", "i8", "u8", "i16", "u16", "i32", "u32", "i64",
                           "f8e4m3fn", "f8e5m2", "f8e8m0fnu", "bf16", "f16", "f32", "f64"}) {
    const DType dtype = *ParseDType(name);
    for (const std::vector<int64_t>& shape :
         {std::vector<int64_t>{}, {5}, {2, 3}, {0}, {3, 0, 2}, {1, 1, 1, 1, 1, 1, 1, 2}}) {
      const Array array = RandomArray(dtype, shape, 7);
      REQUIRE(WriteNpy(path, array) == "");
      const auto result = ReadNpy(path, dtype);
      REQUIRE(std::holds_alternative<Array>(result));
      CHECK(std::get<Array>(result).dtype == dtype);
      CHECK(std::get<Array>(result).shape == shape);
      CHECK(std::get<Array>(result).bytes == array.bytes);
    }
  }
  CHECK(folder.FileCount() == 1);  // no temporary is left
}

TEST_CASE("a written file has the bytes NumPy would write") {
  const Folder folder;
  Array array = Array::Zeros(DType::kI16, {2, 1});
  array.SetInt(1, -2);
  REQUIRE(WriteNpy(folder / "x.npy", array) == "");
  std::string dict = "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 1), }";
  dict += std::string(128 - 10 - dict.size() - 1, ' ') + '\n';
  CHECK(ReadBytes(folder / "x.npy") == Npy(dict, std::string("\0\0\xFE\xFF", 4)));
}

TEST_CASE("16-bit floats are read from any of their spellings") {
  const Folder folder;
  const std::string path = folder / "x.npy";
  const auto read_as = [&](const char* descr, std::optional<DType> expected) {
    WriteBytes(path, Npy(Dict(descr, "(2,)"), "abcd"));
    const auto result = expected ? ReadNpy(path, *expected) : ReadNpy(path);
    const auto* array = std::get_if<Array>(&result);
    return array == nullptr ? "error" : std::string(Name(array->dtype));
  };
  CHECK(read_as("<u2", DType::kBF16) == "bf16");
  CHECK(read_as("<V2", DType::kBF16) == "bf16");
  CHECK(read_as("|V2", DType::kBF16) == "bf16");
  CHECK(read_as("<u2", DType::kF16) == "f16");
  CHECK(read_as("|V2", DType::kF16) == "f16");
  CHECK(read_as("<f2", DType::kF16) == "f16");
  CHECK(read_as("<u2", std::nullopt) == "u16");
  CHECK(read_as("<u2", DType::kU16) == "u16");
  for (const DType dtype : {DType::kF8E4M3FN, DType::kF8E5M2, DType::kF8E8M0FNU}) {
    for (const char* descr : {"|u1", "|V1", "<V1"}) {
      INFO(descr);
      CHECK(ErrorOf(Npy(Dict(descr, "(4,)"), "abcd"), dtype) == "");
    }
    CHECK(ErrorOf(Npy(Dict("|i1", "(4,)"), "abcd"), dtype) ==
          "it holds '|i1' (i8) where " + std::string(Name(dtype)) + " is expected");
    CHECK(read_as("<u2", dtype) == "error");
  }
  CHECK(read_as("<f2", std::nullopt) == "f16");
  CHECK(read_as("<f2", DType::kBF16) == "error");
  CHECK(read_as("<i2", DType::kBF16) == "error");
  CHECK(read_as("<V2", std::nullopt) == "error");
  CHECK(read_as("<V2", DType::kU16) == "error");
}

TEST_CASE("integers of 4 bits are read from bytes, one each") {
  const Folder folder;
  const std::string path = folder / "x.npy";
  const auto integers = [&](const char* descr, const std::string& payload, DType expected) {
    WriteBytes(path, Npy(Dict(descr, "(2,)"), payload));
    const auto result = ReadNpy(path, expected);
    const auto* array = std::get_if<Array>(&result);
    return array == nullptr ? std::vector<int64_t>{}
                            : std::vector<int64_t>{array->GetInt(0), array->GetInt(1)};
  };
  CHECK(integers("|i1", "\x07\xF8", DType::kI4) == std::vector<int64_t>{7, -8});
  CHECK(integers("|u1", "\x07\x0F", DType::kU4) == std::vector<int64_t>{7, 15});
  // As ml_dtypes writes them.
  CHECK(integers("<V1", "\x07\x0F", DType::kI4) == std::vector<int64_t>{7, -1});
  CHECK(integers("<V1", "\x07\x0F", DType::kU4) == std::vector<int64_t>{7, 15});
  CHECK(ErrorOf(Npy(Dict("|i1", "(2,)"), "\x07\x08"), DType::kI4) ==
        "its element 1 is 8, which is no i4");
  CHECK(ErrorOf(Npy(Dict("|u1", "(2,)"), "\x10\x08"), DType::kU4) ==
        "its element 0 is 16, which is no u4");
  CHECK(ErrorOf(Npy(Dict("|u1", "(2,)"), "\x07\x08"), DType::kI4) ==
        "it holds '|u1' (u8) where i4 is expected");
}

TEST_CASE("all three versions are read") {
  for (const char version : {1, 2, 3}) {
    CHECK(ErrorOf(Npy(Dict("<f4", "()"), "abcd", version)) == "");
  }
}

TEST_CASE("what the dictionary may look like") {
  CHECK(ErrorOfDict("{'shape':(1,),'fortran_order':False,'descr':'<f4'}\n") == "");
  CHECK(ErrorOfDict("{ \"descr\" : \"<f4\" , 'fortran_order': False, 'shape': ( 1 , 1, ) }   \n") ==
        "");
  // One dimension is in both orders at once.
  CHECK(ErrorOfDict("{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }\n") == "");
}

TEST_CASE("a dtype that is not the expected one") {
  const std::string bytes = Npy(Dict("<f4", "()"), "abcd");
  CHECK(ErrorOf(bytes, DType::kF32) == "");
  CHECK(ErrorOf(bytes, DType::kBF16) == "it holds '<f4' (f32) where bf16 is expected");
  CHECK(ErrorOf(Npy(Dict("<u2", "(2,)"), "abcd"), DType::kI16) ==
        "it holds '<u2' (u16) where i16 is expected");
}

TEST_CASE("descriptors of no dtype") {
  CHECK(ErrorOfDict(Dict(">f4", "()")) == "it is big endian ('>f4')");
  CHECK(ErrorOfDict(Dict("|f4", "()")) == "its byte order mark in '|f4' is not '<'");
  CHECK(ErrorOfDict(Dict("f4", "()")) == "it holds 'f4', which is no dtype of Kiln");
  CHECK(ErrorOfDict(Dict("<u8", "()")) == "it holds '<u8', which is no dtype of Kiln");
  CHECK(ErrorOfDict(Dict("|O", "()")) == "it holds '|O', which is no dtype of Kiln");
  CHECK(ErrorOfDict(Dict("<V2", "(2,)")) == "it holds '<V2', which could be bf16 or f16");
  CHECK(ErrorOfDict(Dict("|V1", "(2,)")) ==
        "it holds '|V1', which could be i4 or u4 or f8e4m3fn or f8e5m2 or f8e8m0fnu");
  CHECK(ErrorOfDict("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (), }\n") ==
        "it holds records, not plain elements");
  CHECK(ErrorOfDict(Dict("<f\x1b", "()")) == "its header has an odd byte in a string");
}

TEST_CASE("dictionaries that NumPy does not write") {
  CHECK(ErrorOfDict("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 1), }\n") ==
        "it is in Fortran order; save np.ascontiguousarray(x)");
  CHECK(ErrorOfDict("") == "its header lacks a `{` at byte 0");
  CHECK(ErrorOfDict("{}\n") == "its header has no 'descr'");
  CHECK(ErrorOfDict("{'descr': '<f4', 'shape': ()}\n") == "its header has no 'fortran_order'");
  CHECK(ErrorOfDict("{'descr': '<f4', 'fortran_order': False}\n") == "its header has no 'shape'");
  CHECK(ErrorOfDict("{'descr': '<f4', 'descr': '<f4'}\n") ==
        "its header has the key 'descr' twice");
  CHECK(ErrorOfDict("{'color': 'red'}\n") == "its header has an unknown key 'color'");
  CHECK(ErrorOfDict("{'descr': '<f4' 'shape': ()}\n") == "its header lacks a comma at byte 16");
  CHECK(ErrorOfDict("{'descr': '<f4}\n") == "its header has a string without an end");
  CHECK(ErrorOfDict("{descr: '<f4'}\n") == "its header lacks a string at byte 1");
  CHECK(ErrorOfDict("{'fortran_order': 0}\n") ==
        "its header's fortran_order is neither True nor False");
  for (const char* shape : {"(-1,)", "(01,)", "(1L,)", "(1.0,)", "(a,)", "(,)"}) {
    INFO(shape);
    CHECK(ErrorOfDict(Dict("<f4", shape)).substr(0, 18) == "its header's shape");
  }
  CHECK(ErrorOfDict(Dict("<f4", "(1)")) == "its header's shape is not a tuple");
  CHECK(ErrorOfDict(Dict("<f4", "(1 1)")) == "its header's shape lacks a comma");
  CHECK(ErrorOfDict(Dict("<f4", "[1]")) == "its header lacks a `(` at byte 50");
  CHECK(ErrorOfDict(Dict("<f4", "(1, 1, 1, 1, 1, 1, 1, 1, 1)")) == "it has more than 8 dimensions");
}

TEST_CASE("the header's end") {
  const std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': ()}";
  const std::string message = "its header does not end in spaces and one newline";
  CHECK(ErrorOfDict(dict) == message);
  CHECK(ErrorOfDict(dict + " \n\n") == message);
  CHECK(ErrorOfDict(dict + " x\n") == message);
  CHECK(ErrorOfDict(dict + std::string("\0\n", 2)) == message);
}

TEST_CASE("sizes are checked against the file before anything is allocated") {
  CHECK(ErrorOf(Npy(Dict("<f4", "(2,)"), "abcd")) ==
        "its f32[2] takes 8 bytes, but 4 follow the header");
  CHECK(ErrorOf(Npy(Dict("<f4", "(2,)"), "abcdabcda")) ==
        "its f32[2] takes 8 bytes, but 9 follow the header");
  CHECK(ErrorOf(Npy(Dict("<f4", "(0,)"), "a")) ==
        "its f32[0] takes 0 bytes, but 1 follow the header");
  CHECK(ErrorOf(Npy(Dict("|u1", "(17179869184,)"), "a")) ==
        "its u8[17179869184] takes 17179869184 bytes, but 1 follow the header");
  CHECK(ErrorOf(Npy(Dict("|u1", "(17179869185,)"), "a")) ==
        "its u8[17179869185] is larger than 16 GiB");
  CHECK(ErrorOf(Npy(Dict("<f8", "(4294967296, 4294967296)"), "")) ==
        "its f64[4294967296, 4294967296] is larger than 16 GiB");
  CHECK(ErrorOf(Npy(Dict("<f8", "(9223372036854775808,)"), "")) ==
        "its header's shape has an extent beyond 64 bits");
  CHECK(ErrorOf(Npy(Dict("<f8", "(9223372036854775807, 9223372036854775807, 0)"), "")) == "");
}

TEST_CASE("files that end early") {
  const std::string whole = Npy(Dict("<f4", "(1,)"), "abcd");
  for (size_t size = 0; size < whole.size(); ++size) {
    INFO(size);
    CHECK(ErrorOf(whole.substr(0, size)) != "");
  }
  CHECK(ErrorOf("") == "it is empty");
  CHECK(ErrorOf("\x93NUM") == "it is not a .npy file (no \\x93NUMPY at its start)");
  CHECK(ErrorOf(std::string(100, 'x')) == "it is not a .npy file (no \\x93NUMPY at its start)");
  CHECK(ErrorOf(whole.substr(0, 20)) == "it ends in its header");
}

TEST_CASE("versions and header lengths out of bounds") {
  std::string bytes = Npy(Dict("<f4", "()"), "abcd");
  bytes[6] = 4;
  CHECK(ErrorOf(bytes) == "its format version 4.0 is not 1.0, 2.0 or 3.0");
  bytes[6] = 1;
  bytes[7] = 1;
  CHECK(ErrorOf(bytes) == "its format version 1.1 is not 1.0, 2.0 or 3.0");
  bytes = Npy(Dict("<f4", "()"), "abcd", 2);
  bytes[11] = '\x7F';
  CHECK(ErrorOf(bytes) == "its header of 2130706488 bytes is too long");
}

TEST_CASE("a bool is 0 or 1") {
  CHECK(ErrorOf(Npy(Dict("|b1", "(3,)"), std::string("\1\0\1", 3))) == "");
  CHECK(ErrorOf(Npy(Dict("|b1", "(3,)"), std::string("\1\0\2", 3))) ==
        "its bool 2 is neither 0 nor 1");
}

std::string ReadError(const std::string& path) {
  const auto result = ReadNpy(path);
  return std::holds_alternative<NpyError>(result) ? std::get<NpyError>(result).message : "";
}

TEST_CASE("what is no file to read") {
  const Folder folder;
  CHECK(ReadError(folder / "none.npy") == (folder / "none.npy") + ": there is no such file");
  CHECK(ReadError(folder / "") == (folder / "") + ": it is a directory");
  CHECK(ReadError("") == ": there is no such file");
  CHECK(ReadError("/dev/null") == "/dev/null: it is not a regular file");
  WriteBytes(folder / "plain", "x");
  CHECK(ReadError(folder / "plain/x.npy") != "");
}

TEST_CASE("a write replaces an older file") {
  const Folder folder;
  WriteBytes(folder / "x.npy", "old");
  REQUIRE(WriteNpy(folder / "x.npy", Array::Zeros(DType::kF32, {3})) == "");
  CHECK(ReadError(folder / "x.npy") == "");
  CHECK(folder.FileCount() == 1);
}

/// A few bytes changed, dropped, doubled or cut off.
std::string Mutate(std::string bytes, std::mt19937& random) {
  static constexpr std::string_view kBytes = "0123456789(),'{}: \nTF<>|fiubV\x93\xFF";
  for (auto changes = 1 + random() % 3; changes-- > 0 && !bytes.empty();) {
    const size_t at = random() % std::min<size_t>(bytes.size(), 90);
    switch (random() % 5) {
      case 0:
        bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes[at] = kBytes[random() % kBytes.size()];
        break;
      case 2:
        bytes.erase(at, 1 + random() % 4);
        break;
      case 3:
        bytes.insert(at, 1, kBytes[random() % kBytes.size()]);
        break;
      default:
        bytes.resize(random() % (bytes.size() + 8));
    }
  }
  return bytes;
}

TEST_CASE("damaged files are errors or arrays, never anything else") {
  const Folder folder;
  const std::string path = folder / "x.npy";
  std::mt19937 random(1);
  int errors = 0;
  for (int i = 0; i < 4000; ++i) {
    const char version = static_cast<char>(1 + i % 3);
    fs::remove(path);  // a file that is truncated and written again is flushed by some systems
    WriteBytes(path, Mutate(Npy(Dict("<f4", "(2, 3)"), std::string(24, 'x'), version), random));
    const auto result = i % 2 == 0 ? ReadNpy(path) : ReadNpy(path, DType::kF32);
    if (const auto* error = std::get_if<NpyError>(&result)) {
      REQUIRE(error->message.substr(0, path.size() + 2) == path + ": ");
      ++errors;
    } else {
      const Array& array = std::get<Array>(result);
      REQUIRE(static_cast<int64_t>(array.bytes.size()) == ByteSize(array.dtype, array.shape));
    }
  }
  CHECK(errors > 2000);
  CHECK(errors < 4000);
}

}  // namespace
}  // namespace kiln
