// Copies by hand are in the record of a call, as what the pipeline copies is.
#include <stdexcept>

#include "tests/catch.h"
#include "tests/records/kernels.h"

namespace kiln::testing {
namespace {

RecordCase CaseOf(const std::string& name) {
  for (RecordCase& of : RecordCases()) {
    if (of.name == name) return of;
  }
  throw std::runtime_error("there is no record " + name);
}

std::map<std::string, CopyRecord> TrafficOf(const std::string& name) {
  const Replay replay(CaseOf(name));
  CallOptions options;
  options.emulate = true;
  options.cores = 1;
  const CallResult result =
      CallKernel(*KernelOf(name), *replay.binding, replay.record.inputs.arrays, options);
  INFO(result.message);
  REQUIRE(result.code == 0);
  std::map<std::string, CopyRecord> traffic;
  for (const CopyRecord& record : result.copies) traffic[record.operand] = record;
  return traffic;
}

Array ArrayOf(const std::string& name, const std::string& array) {
  const Record record = ReadRecord(CaseOf(name));
  const auto input = record.inputs.arrays.find(array);
  return input != record.inputs.arrays.end() ? input->second : record.outputs.at(array);
}

int64_t BytesOf(const std::string& name, const std::string& array) {
  return static_cast<int64_t>(ArrayOf(name, array).bytes.size());
}

TEST_CASE("a gather by hand copies a row for each id") {
  auto traffic = TrafficOf("dma_gather");
  const int64_t ids = BytesOf("dma_gather", "ids") / 4;
  CHECK(traffic["table"].copies == ids);
  CHECK(traffic["table"].bytes == BytesOf("dma_gather", "o"));
  CHECK(traffic["table"].buffers == 0);
  CHECK(traffic["table"].memory_bytes == 0);
}

TEST_CASE("a double buffer by hand copies everything once") {
  auto traffic = TrafficOf("double_buffer");
  CHECK(traffic["x"].copies > 1);
  CHECK(traffic["x"].bytes == BytesOf("double_buffer", "x"));
}

TEST_CASE("copies from HBM to HBM are in the record of both ends") {
  auto traffic = TrafficOf("dma_permute");
  CHECK(traffic["x"].copies == BytesOf("dma_permute", "order") / 4);
  CHECK(traffic["y"].copies == traffic["x"].copies);
  CHECK(traffic["x"].bytes == BytesOf("dma_permute", "x"));
  CHECK(traffic["y"].bytes == BytesOf("dma_permute", "y"));
}

TEST_CASE("tiles that are sent by hand") {
  auto traffic = TrafficOf("dma_store");
  CHECK(traffic["y"].bytes == BytesOf("dma_store", "y"));
  CHECK(traffic["y"].copies == traffic["x"].copies);
}

TEST_CASE("pages are fetched by hand as far as a sequence goes") {
  const Array lengths = ArrayOf("paged_scores", "lengths");
  const Array pages = ArrayOf("paged_scores", "k_pages");
  int64_t used = 0;
  for (int64_t i = 0; i < lengths.size(); ++i)
    used += (lengths.GetInt(i) + pages.shape[1] - 1) / pages.shape[1];
  auto traffic = TrafficOf("paged_scores");
  CHECK(traffic["k_pages"].copies == used);
  CHECK(traffic["k_pages"].bytes == used * BytesOf("paged_scores", "k_pages") / pages.shape[0]);
}

}  // namespace
}  // namespace kiln::testing
