// A .npy file, read with the dtype it says or with an expected one.
#include "generator/data/npy.h"
#include "tests/fuzz/support.h"
#include "tests/fuzz/target.h"

namespace kiln::fuzz {
namespace {

bool RunNpy(std::string_view input) {
  static const ScratchFolder folder;
  static const std::string path = folder / "x.npy", again = folder / "again.npy";
  WriteText(path, input);
  // Any length may follow a header, so it chooses what is expected: an odd one says a dtype.
  const size_t dtypes = static_cast<size_t>(DType::kF64) + 1;
  const auto expected = static_cast<DType>(input.size() / 2 % dtypes);
  auto read = input.size() % 2 == 0 ? ReadNpy(path) : ReadNpy(path, expected);
  if (const auto* error = std::get_if<NpyError>(&read)) {
    Expect(error->message.starts_with(path + ": "), "an error begins with the file's name");
    return false;
  }
  const Array& array = std::get<Array>(read);
  const auto bytes = ByteSize(array.dtype, array.shape);
  Expect(bytes && static_cast<size_t>(*bytes) == array.bytes.size(), "the shape fits the bytes");
  Expect(WriteNpy(again, array).empty(), "what was read can be written");
  const auto copy = ReadNpy(again, array.dtype);
  const Array* same = std::get_if<Array>(&copy);
  Expect(same && same->shape == array.shape && same->bytes == array.bytes,
         "what was written is what was read");
  return true;
}

std::vector<std::string> NpyWords() {
  std::vector<std::string> words = {"\x93NUMPY\x01",
                                    "'descr': '<",
                                    "'fortran_order': True",
                                    "'shape': (1, 2),",
                                    "9223372036854775807",
                                    "'|V2'",
                                    "(0,)",
                                    "()"};
  for (const char* type :
       {"|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<f2", "<f4", "<f8"})
    words.push_back("'" + std::string(type) + "'");
  return words;
}

std::vector<std::string> NpySeeds() {
  std::vector<std::string> seeds;
  for (std::string& text : RepositoryTexts("tests/pallas/records", ".npy")) {
    if (text.size() <= 512) seeds.push_back(std::move(text));
  }
  return seeds;
}

}  // namespace

Target NpyTarget() { return {"npy", 512, false, &RunNpy, &NpyWords, &NpySeeds}; }

}  // namespace kiln::fuzz
