// What an object file holds, by instruction set.
#include "generator/native/compiler/object_code.h"

#include "tests/catch.h"
#include "tests/cli/tool.h"

namespace kiln {
namespace {

/// Instruction sets as Highway's namespaces have them, and an emulator's template.
constexpr const char* kObjectText = R"(
int table[100] = {1};
extern const char kName[40] = "constant";
int global;
namespace kiln {
struct Direct {}; struct Emulated {};
template <class Tiers> [[gnu::noinline]] int Run(int x) { return x * 3 + global; }
template int Run<Direct>(int);
template int Run<Emulated>(int);
namespace N_AVX2 {
struct Step { int at; };
[[gnu::noinline]] int Small(int x) { return x + 1; }
[[gnu::noinline]] int Small(Step x) { return x.at + 1; }
}
namespace N_SVE_256 { [[gnu::noinline]] int Small(int x) { return x + 2; } }
namespace N_lower { int Small(int x) { return x + 3; } }
struct N_ { int x; };
int Small(N_ x) { return x.x + 4; }
}
)";

std::string ObjectOf(const std::string& text, const std::string& options) {
  const test::Folder folder;
  test::WriteText(folder / "a.cc", text);
  const test::Shown shown = test::Shell("c++ -c -O1 " + options + " a.cc -o a.o", folder.path());
  INFO(shown.err);
  REQUIRE(shown.status == 0);
  return test::ReadText(folder / "a.o");
}

TEST_CASE("code is counted by instruction set, what the emulator alone runs besides") {
  for (const char* options : {"", "-ffunction-sections"}) {
    INFO(options);
    std::string why;
    const auto code = ReadObjectCode(ObjectOf(kObjectText, options), &why);
    INFO(why);
    REQUIRE(code);
    REQUIRE(code->targets.size() == 2);
    const auto &avx2 = code->targets[0], &sve = code->targets[1];
    CHECK(avx2.name == "AVX2");
    CHECK(sve.name == "SVE_256");
    CHECK(sve.bytes > 0);
    CHECK(avx2.bytes >= 2 * sve.bytes);  // there are two Smalls
    CHECK(code->emulator > 0);
    // Run<Direct> is as large, and N_lower and N_ name no instruction set.
    CHECK(code->common > 2 * code->emulator);
    CHECK(code->constants >= 40);
    CHECK(code->data >= 404);
    CHECK(code->unwind > 0);
    CHECK(code->total() ==
          avx2.bytes + sve.bytes + code->common + code->constants + code->data + code->unwind);
  }
}

TEST_CASE("a file that is none, or is cut off, is refused or read as far as it goes") {
  std::string why;
  CHECK(!ReadObjectCode("", &why));
  CHECK(why == "it is no ELF file");
  CHECK(!ReadObjectCode(std::string(1000, 'x'), &why));
  CHECK(why == "it is no ELF file");
  const std::string whole = ObjectOf(kObjectText, "");
  std::string other = whole;
  other[4] = 1;  // 32 bits
  CHECK(!ReadObjectCode(other, &why));
  CHECK(why == "it is for machines of another word size or byte order");
  CHECK(!ReadObjectCode(whole.substr(0, whole.size() - 100), &why));
  CHECK(why == "its table of sections is cut off");
  for (size_t size = 0; size < whole.size(); size += 7) ReadObjectCode(whole.substr(0, size), &why);
  for (size_t at = 0; at < whole.size();
       ++at) {  // whatever its tables say, it is looked up within the file
    std::string damaged = whole;
    damaged[at] = static_cast<char>(~damaged[at]);
    ReadObjectCode(damaged, &why);
  }
}

}  // namespace
}  // namespace kiln
