// The kernels of the records with other blocks than those they were recorded with: of one element,
// of two, of odd numbers, and larger than their arrays. Each is planned, verified and written; what
// such kernels compute is a matter of tests/random, whose blocks are like that from the start.
#include <cstdlib>
#include <iostream>
#include <set>

#include "generator/render/render.h"
#include "tests/catch.h"
#include "tests/records/record.h"

namespace kiln::testing {
namespace {

constexpr const char* kBlocks[] = {"1", "2", "3", "7", "1024"};

using Settings = std::vector<std::pair<std::string, std::string>>;

bool IsBlock(const Param& param) {
  return !param.value.empty() && param.value.find_first_not_of("0123456789") == std::string::npos &&
         param.value != "0";
}

/// Each param that may be the size of a block by itself, and all of them at once.
std::vector<Settings> OtherBlocks(const Kernel& kernel) {
  std::vector<Settings> others;
  for (const char* block : kBlocks) {
    Settings all;
    for (const Param& param : kernel.params) {
      if (!IsBlock(param)) continue;
      others.push_back({{param.name, block}});
      all.push_back({param.name, block});
    }
    if (all.size() > 1) others.push_back(std::move(all));
  }
  return others;
}

/// False: the spec does not allow these. Throws what the planner cannot do.
bool Write(const RecordCase& of) {
  std::shared_ptr<const Source> source;
  std::unique_ptr<Kernel> kernel;
  try {
    kernel = CheckRecord(of, &source);
  } catch (const std::exception&) {
    return false;
  }
  Diagnostics found;
  Generated text;
  const bool written = Render(*kernel, of.spec, found, &text);
  if (written == found.HasErrors()) throw std::runtime_error("a refusal without a finding");
  return written;
}

TEST_CASE("kernels of the records are planned with blocks of one, odd ones and large ones") {
  std::set<std::string> specs;
  int written = 0, refused = 0;
  for (RecordCase of : RecordCases()) {
    if (!specs.insert(of.spec + ":" + of.check.instance).second) continue;
    std::shared_ptr<const Source> source;
    const Settings recorded = of.check.set;
    for (const Settings& others : OtherBlocks(*CheckRecord(of, &source))) {
      of.check.set = recorded;
      std::string text = of.spec + ":" + of.check.instance;
      for (const auto& [name, block] : others) {
        std::erase_if(of.check.set,
                      [&, &param = name](const auto& set) { return set.first == param; });
        of.check.set.emplace_back(name, block);
        text += " " + name + "=" + block;
      }
      INFO(text);
      CHECK_NOTHROW(++(Write(of) ? written : refused));
    }
  }
  std::cout << written << " kernels with other blocks, " << refused
            << " that the specs do not allow\n";
  CHECK(written > 1000);
}

}  // namespace
}  // namespace kiln::testing
