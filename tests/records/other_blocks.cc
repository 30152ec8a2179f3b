#include "tests/records/other_blocks.h"

#include <set>

namespace kiln::testing {
namespace {

constexpr const char* kBlocks[] = {"1", "2", "3", "7", "1024"};

bool IsBlock(const Param& param) {
  return !param.value.empty() && param.value.find_first_not_of("0123456789") == std::string::npos &&
         param.value != "0";
}

RecordCase With(RecordCase of, const Settings& others) {
  of.name = of.spec + ":" + of.check.instance;
  for (const auto& [param, block] : others) {
    std::erase_if(of.check.set, [&, &name = param](const auto& set) { return set.first == name; });
    of.check.set.emplace_back(param, block);
    of.name += " " + param + "=" + block;
  }
  return of;
}

}  // namespace

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

std::vector<RecordCase> CasesOfOtherBlocks() {
  std::vector<RecordCase> cases;
  std::set<std::string> kernels;
  for (const RecordCase& of : RecordCases()) {
    if (!kernels.insert(of.spec + ":" + of.check.instance).second) continue;
    std::shared_ptr<const Source> source;
    for (const Settings& others : OtherBlocks(*CheckRecord(of, &source)))
      cases.push_back(With(of, others));
  }
  return cases;
}

}  // namespace kiln::testing
