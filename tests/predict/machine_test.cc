#include "generator/predict/machine/machine.h"

#include <algorithm>

#include "tests/catch.h"
#include "tests/predict/predicting.h"

namespace kiln::test {
namespace {

constexpr const char* kMachine = R"(machine: mine
cores: 2
vmem: 16777216
smem: 1048576
hbm: 17200000000
hbm_bps: 600e9
hbm_share: 0.8
dma_seconds: 0.2e-6
mxu: 128
rates: {bf16: 120e12}
clock: 1e9
sublanes: 8
lanes: 128
vector_ops: 4
vector_loads: 2
vector_stores: 1
step_cycles: 500
skipped_step_cycles: 200
call_seconds: 0
)";

std::string Replaced(const std::string& from, const std::string& to) {
  std::string text = kMachine;
  text.replace(text.find(from), from.size(), to);
  return text;
}

/// What is wrong with a machine; empty: nothing.
std::string Messages(const std::string& text) {
  const Source source("mine.yaml", text);
  Diagnostics found;
  const auto machine = ParseMachine(source, found);
  CHECK(machine.has_value() != found.HasErrors());
  return Render(found, source);
}

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("the machines that ship") {
  const std::vector<std::string> names = MachineNames();
  for (const char* name : {"v4", "v5e", "v5p", "v6e", "v7x", "host"}) {
    INFO(name);
    CHECK(std::count(names.begin(), names.end(), name) == 1);
    CHECK(MachineOf(name).name == name);
  }
  const Machine v5e = MachineOf("v5e");
  CHECK(v5e.vmem == 134217728);
  CHECK(v5e.RateOf(DType::kI8) == 394e12);
  CHECK(v5e.RateOf(DType::kBF16) == 197e12);
  CHECK_FALSE(v5e.RateOf(DType::kF64));
  for (const DType f8 : {DType::kF8E4M3FN, DType::kF8E5M2}) {
    CHECK(v5e.RateOf(f8) == v5e.RateOf(DType::kBF16));
    CHECK(MachineOf("v7x").RateOf(f8) == 2300e12);
  }
  // A unit without int8 multiplies bytes as bf16.
  CHECK(MachineOf("v4").RateOf(DType::kI8) == 137.5e12);
}

TEST_CASE("a core alone has the HBM of all, cores at work share it") {
  const Machine v4 = MachineOf("v4");
  CHECK(v4.CopyRate(1) == 2 * v4.CopyRate(2));
  CHECK(v4.CopyRate(2) == v4.hbm_bps * v4.hbm_share);
}

TEST_CASE("a machine of one's own") {
  CHECK(Messages(kMachine).empty());
  const Source source("mine.yaml", kMachine);
  Diagnostics found;
  const auto machine = ParseMachine(source, found);
  REQUIRE(machine);
  CHECK(machine->name == "mine");
  CHECK(machine->cores == 2);
  CHECK(machine->vmem_limit == machine->vmem);
  CHECK(machine->step_seconds() == 500e-9);
}

TEST_CASE("what is wrong with a machine is said where it is") {
  const struct {
    const char *from, *to, *message;
  } cases[] = {
      {"hbm_bps", "hbm_bsp", "mine.yaml:6:1: error[key]: a machine has no key `hbm_bsp`"},
      {"hbm_bps", "hbm_bsp", "did you mean `hbm_bps`?"},
      {"hbm_bps", "hbm_bsp", "the key `hbm_bps` is missing"},
      {"cores: 2", "cores: 0", "mine.yaml:2:8: error[key]: `cores` must be at least 1"},
      {"cores: 2", "cores: 1.5", "`cores` must be a whole number"},
      {"0.8", "1.2", "`hbm_share` must be more than 0 and at most 1"},
      {"128\nrates", "fast\nrates", "`mxu` is a number, not `fast`"},
      {"bf16: 120", "bf17: 120", "there is no dtype `bf17`"},
      {"{bf16: 120e12}", "120e12", "`rates` has the operations a second of each dtype"},
      {"clock: 1e9", "clock: 1e9\nvmem_limit: 1e12", "`vmem_limit` is more than `vmem`"},
      {"clock: 1e9", "clock: inf", "`clock` is a number, not `inf`"},
      {"clock: 1e9", "clock: [1]", "`clock` is one value"},
  };
  for (const auto& [from, to, message] : cases) {
    const std::string found = Messages(Replaced(from, to));
    INFO(found);
    CHECK(Contains(found, message));
  }
}

TEST_CASE("a machine that is not there") {
  MachineFault fault;
  CHECK_FALSE(LoadMachine("v3", &fault));
  CHECK(fault.message == "there is no machine `v3`");
  CHECK(Contains(fault.hint, "host, v4, v5e, v5p, v6e, v7x"));
  CHECK_FALSE(LoadMachine("no/such.yaml", &fault));
  CHECK(Contains(fault.message, "cannot read the machine `no/such.yaml`"));
}

}  // namespace
}  // namespace kiln::test
