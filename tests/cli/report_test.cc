// `kiln report`, and pictures of `kiln run --mode=emulate`.
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/cli/tool.h"

namespace kiln::test {
namespace {

using Json = nlohmann::json;

std::string Shipped(const std::string& name) {
  return "'" + (fs::path(KILN_SOURCE_DIR) / "specs" / name).string() + "'";
}

/// The data of a page.
Json DataOf(const std::string& path) {
  const std::string page = ReadText(path);
  const size_t begin = page.find("id=\"data\">") + 10;
  return Json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

constexpr const char* kSparse =
    " --dims m=512,k=512,n=1024,capacity=4 blocks=4 idxs_i=0,0,2,3 idxs_k=0,1,1,0";

TEST_CASE("a report says which part of a sparse product is computed") {
  const Folder folder;
  const Shown shown = Shell("kiln report " + Shipped("sparse_dense.yaml") + kSparse, folder.path());
  INFO(shown.err);
  REQUIRE(shown.status == 0);
  CHECK(Contains(shown.err, "wrote report.html, "));
  const Json data = DataOf(folder / "report.html");
  const Json& coverage = data["timeline"]["coverage"];
  CHECK(coverage["computed"] == 4 * 8);
  CHECK(coverage["of"] == 4 * 4 * 8);
  const Json& picture = data["timeline"]["pictures"][coverage["picture"].get<size_t>()];
  CHECK(picture["title"] == "m × k");
  CHECK(picture["computed"] == "8 0 -8 0x6 8 -8 0 8 -8 0x2");  // (0,0) (0,1) (2,1) (3,0)
}

/// The share of a kernel's products of blocks that a report counts.
Json CoverageOf(const std::string& spec, const std::string& arguments) {
  const Folder folder;
  const Shown shown =
      Shell("kiln report " + spec + " --no-advice --dims " + arguments, folder.path());
  INFO(shown.err);
  REQUIRE(shown.status == 0);
  return DataOf(folder / "report.html")["timeline"]["coverage"];
}

TEST_CASE(
    "heads of keys are no part of the product: none is multiplied with other heads of queries") {
  const Folder folder;
  WriteText(folder / "grouped.yaml", R"yaml(kernel: grouped
params: {b: 8, group: 4}
grid: {h: hq, i: "cdiv(m, b)", j: "cdiv(n, b)"}
inputs:
  q: {array: "f32[hq, m, d]", block: "null, b, all", index: "h, i, 0"}
  k: {array: "f32[hk, n, d]", block: "null, b, all", index: "h // group, j, 0"}
outputs:
  o: {array: "f32[hq, m, d]", block: "null, b, all", index: "h, i, 0"}
body: |
  when first(j):
    o = 0
  when j <= i:
    o += dot(dot(q, k.T), k)
)yaml");
  const Json coverage =
      CoverageOf("'" + (folder / "grouped.yaml") + "'", "hq=8,hk=2,m=32,n=32,d=8");
  CHECK(coverage["dims"] == Json({"hq", "m", "n"}));
  CHECK(coverage["computed"] == 8 * (1 + 2 + 3 + 4));
  CHECK(coverage["of"] == 8 * 4 * 4);
}

TEST_CASE("windows that overlap are no blocks of a product") {
  const Json coverage = CoverageOf(Shipped("conv2d.yaml"), "images=2,h=64,w=64,c=4,o=8");
  CHECK(coverage["dims"] == Json({"images", "cdiv(h, 2)"}));
  CHECK(coverage["computed"] == 2 * 4);
  CHECK(coverage["of"] == 2 * 4);
}

TEST_CASE("pages that a list names are those of their sequence, and the list has its length") {
  const Json coverage = CoverageOf(
      "'" + (fs::path(KILN_SOURCE_DIR) / "tests/pallas/specs/paged_attention.yaml").string() + "'",
      "batch=4,pages=8,slots=40,page=16,d=128,heads=8 lengths=16,128,60,3 table=zeros");
  CHECK(coverage["dims"] == Json({"batch", "p"}));
  CHECK(coverage["computed"] == 1 + 8 + 4 + 1);
  CHECK(coverage["of"] == 4 * 8);
}

TEST_CASE("a report's sums are those of the prediction") {
  const Folder folder;
  const std::string call = Shipped("matmul.yaml") + " --machine=v4 --dims m=1000,n=2048,k=4096 ";
  REQUIRE(Shell("kiln report " + call + "-o page.html", folder.path()).status == 0);
  const Json predicted = Json::parse(Shell("kiln predict " + call + "--json", folder.path()).out);
  const Json data = DataOf(folder / "page.html");
  CHECK(data["timeline"]["seconds"] == predicted["seconds"]);
  CHECK(data["bound"] == predicted["bound"]);
  CHECK(data["roofline"]["flops"] == predicted["flops"]);
  int64_t bytes = 0;
  for (const Json& core : data["timeline"]["cores"]) {
    bytes += core["totals"]["bytes_in"].get<int64_t>();
    bytes += core["totals"]["bytes_out"].get<int64_t>();
  }
  CHECK(bytes == predicted["bytes"]);
}

TEST_CASE("of too many steps the first are there one by one, and the sums count all") {
  const Folder folder;
  const Shown shown = Shell("kiln report " + Shipped("matmul.yaml") +
                                " --no-advice --set bm=64 bn=64 bk=64 --dims m=8192,n=8192,k=8192",
                            folder.path());
  INFO(shown.err);
  REQUIRE(shown.status == 0);
  const Json timeline = DataOf(folder / "report.html")["timeline"];
  const Json& core = timeline["cores"][0];
  CHECK(core["detailed"] == false);
  CHECK(core["steps"] == 65536);
  CHECK(core["totals"]["steps"] == 128 * 128 * 128);
  CHECK(core["segments"]["count"].get<int>() > 1000);
  CHECK(timeline["coverage"].is_null());  // of the first steps it would be wrong
}

TEST_CASE("a kernel at fault is reported with its diagnostic") {
  const Folder folder;
  const std::string spec = (fs::path(KILN_SOURCE_DIR) / "examples/wrong_matmul.yaml").string();
  const Shown shown =
      Shell("kiln report '" + spec + "' --dims m=200,n=100,k=300 -o page.html", folder.path());
  CHECK(shown.status == 1);
  CHECK(Contains(shown.err, "error["));
  const Json data = DataOf(folder / "page.html");
  REQUIRE(!data["diagnostics"].empty());
  CHECK(Contains(shown.err, "error[" + data["diagnostics"][0]["rule"].get<std::string>() + "]"));
  CHECK(data["diagnostics"][0]["line"].get<int>() > 0);
}

TEST_CASE("a report says which blocks have no place in their array") {
  const Folder folder;
  WriteText(folder / "wild.yaml",
            "kernel: wild\n"
            "scalars: {f: i64}\n"
            "grid: {i: 7}\n"
            "inputs:\n"
            "  x: {array: \"f32[m]\", block: 128, index: i * f}\n"
            "outputs:\n"
            "  o: {array: \"f32[128]\", block: 128, index: 0}\n"
            "body: |\n"
            "  when first(i):\n"
            "    o = 0\n"
            "  o += x\n");
  for (const char* factor : {"-1", "5", "4611686018427387904", "9223372036854775807"}) {
    INFO(factor);
    const Shown shown =
        Shell(std::string("kiln report wild.yaml m=256 -o page.html f=") + factor, folder.path());
    CHECK(shown.status == 1);
    CHECK(Contains(shown.err, "error[index-range]"));
    CHECK(DataOf(folder / "page.html")["diagnostics"][0]["rule"] == "index-range");
  }
}

TEST_CASE("what a report needs and cannot have") {
  const Folder folder;
  const Shown no_lists =
      Shell("kiln report " + Shipped("sparse_dense.yaml") + " --dims m=512,k=512,n=512,capacity=4",
            folder.path());
  CHECK(no_lists.status == 1);
  CHECK(Contains(no_lists.err, "error["));
  CHECK(!fs::exists(folder / "report.html"));
  WriteText(folder / "file", "");
  const Shown no_folder = Shell(
      "kiln report " + Shipped("sparse_dense.yaml") + kSparse + " -o file/x.html", folder.path());
  CHECK(no_folder.status == 2);
  CHECK(Contains(no_folder.err, "file/x.html"));
}

TEST_CASE("an emulated run leaves a page with its counts, and a trace") {
  const Folder folder;
  const std::string cache = fs::path(KILN_TOOL).parent_path() / "test-cache";
  const std::string run = "XDG_CACHE_HOME='" + cache + "' kiln run " + Shipped("add_vectors.yaml") +
                          " x=random:1 y=random:2 n=3000 ";
  const Shown shown = Shell(run + "--mode=emulate --report=a.html --trace=a.json", folder.path());
  INFO(shown.err);
  REQUIRE(shown.status == 0);
  const Json data = DataOf(folder / "a.html");
  REQUIRE(data["counts"].size() == data["timeline"]["operands"].size());
  for (size_t o = 0; o < data["counts"].size(); ++o)
    CHECK(data["counts"][o]["copies"] == data["timeline"]["operands"][o]["copies"]);
  CHECK(Json::parse(ReadText(folder / "a.json"))["traceEvents"].size() > 4);

  const std::string wrong = (fs::path(KILN_SOURCE_DIR) / "examples/wrong_matmul.yaml").string();
  const Shown failed = Shell("XDG_CACHE_HOME='" + cache + "' kiln run '" + wrong +
                                 "' x=random:1 y=random:2 m=200 n=100 k=300 --mode=emulate "
                                 "--no-grid-check --report=wrong.html",
                             folder.path());
  CHECK(failed.status == 1);
  const Json diagnostic = DataOf(folder / "wrong.html")["diagnostics"][0];
  CHECK(diagnostic["rule"] == "index-range");
  CHECK(diagnostic["line"] == 20);
  CHECK(DataOf(folder / "wrong.html")["diagnostics"].size() == 1);

  const Shown misplaced = Shell(run + "--report=a.html", folder.path());
  CHECK(misplaced.status == 2);
  CHECK(Contains(misplaced.err, "--report has no meaning with --mode=interpret"));
}

}  // namespace
}  // namespace kiln::test
