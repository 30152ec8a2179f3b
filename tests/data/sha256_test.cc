// The digests are those that sha256sum prints.
#include "generator/data/sha256.h"

#include "tests/catch.h"

namespace kiln {
namespace {

std::string Of(const std::string& text) { return Sha256().Add(text.data(), text.size()).Hex(); }

TEST_CASE("SHA-256 of texts around the size of a block") {
  CHECK(Of("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(Of("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(Of(std::string(55, 'a')) ==
        "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  CHECK(Of(std::string(56, 'a')) ==
        "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
  CHECK(Of(std::string(64, 'a')) ==
        "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
  CHECK(Of(std::string(1000000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("what is added in parts counts as one text, and fields have borders") {
  Sha256 parts;
  std::string whole;
  for (size_t size : {0, 1, 63, 64, 65, 200, 7}) {
    const std::string part(size, static_cast<char>('a' + size % 26));
    parts.Add(part.data(), part.size());
    whole += part;
  }
  CHECK(parts.Hex() == Of(whole));
  CHECK(Sha256().AddField("ab").AddField("c").Hex() != Sha256().AddField("a").AddField("bc").Hex());
}

}  // namespace
}  // namespace kiln
