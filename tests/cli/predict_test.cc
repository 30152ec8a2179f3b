// `kiln predict`: its words, and what programs read.
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/cli/tool.h"

namespace kiln::test {
namespace {

using Json = nlohmann::json;

std::string Matmul(const std::string& more) {
  return "kiln predict '" KILN_SOURCE_DIR "/specs/matmul.yaml' " + more;
}

const std::string kSizes = "--dims m=4096,n=4096,k=4096 ";
const std::string kLarge = "--set bm=512 bn=1024 bk=1024 ";

TEST_CASE("a prediction says how long, bound by what, and what would help") {
  const Folder folder;
  const Shown small = Shell(Matmul(kSizes) + "--set bm=128 bn=128 bk=128", folder.path());
  INFO(small.out << small.err);
  CHECK(small.status == 0);
  CHECK(Contains(small.out, " on v5e: "));
  CHECK(Contains(small.out, ", bound by steps\n"));
  CHECK(Contains(small.out, "what would help:\n"));
  const Shown large = Shell(Matmul(kSizes + kLarge), folder.path());
  CHECK(Contains(large.out, ", bound by MXU\n"));
}

TEST_CASE("a program reads the same from JSON") {
  const Folder folder;
  const Shown shown = Shell(Matmul(kSizes + kLarge) + "--json", folder.path());
  REQUIRE(shown.status == 0);
  const Json json = Json::parse(shown.out);
  const double flops = 2.0 * 4096 * 4096 * 4096;
  CHECK(json["bound"] == "MXU");
  CHECK(json["steps"] == 8 * 4 * 4);
  CHECK(json["flops"].get<double>() >= flops);
  CHECK(json["seconds"].get<double>() > flops / 197e12);
  // x is read for each of 4 columns of blocks, y for each of 8 rows, z is written once; and the
  // bias.
  const double bytes = json["bytes"].get<double>() / (2.0 * 4096 * 4096);
  CHECK(bytes > 4 + 8 + 1);
  CHECK(bytes < 4 + 8 + 1.1);
  CHECK(json["vmem_bytes"].get<int64_t>() < json["vmem_limit"].get<int64_t>());
}

TEST_CASE("a prediction that cannot be made says why") {
  const Folder folder;
  const Shown machine = Shell(Matmul(kSizes + "--machine=v9"), folder.path());
  CHECK(machine.status == 2);
  CHECK(Contains(machine.err, "v9"));
  CHECK(Contains(machine.err, "v5e"));
  const Shown sizes = Shell(Matmul("m=128"), folder.path());
  CHECK(sizes.status != 0);
  CHECK(sizes.out.empty());
}

}  // namespace
}  // namespace kiln::test
