// random_pallas: random specs as pallas_calls, with what the interpreter makes of them. run.py runs
// this and then them.
#include <algorithm>
#include <filesystem>
#include <iostream>

#include "generator/cli/options/option_list.h"
#include "tests/random/pallas/batch_file.h"

namespace kiln::soak {
namespace {

int Main(int argc, char** argv) {
  uint64_t count = 0, first = 1;
  double most = 1;
  std::string path;
  const cli::Parser parser("Writes random specs as Python functions that call pallas_call.");
  const cli::OptionList list = parser.list();
  list.Add("COUNT", count, "how many specs").Required().Between(1, 1000);
  list.Add("FIRST", first, "the number of the first").Required();
  list.Add("PATH", path, "PATH.py, PATH.json and PATH.npy are written").Required();
  list.Add("--skipped", most, "the share of them that may be skipped");
  if (const auto status = parser.Parse(argc, argv)) return *status;
  std::vector<uint64_t> numbers;
  for (uint64_t n = first; n < first + count; ++n) numbers.push_back(n);
  std::string why;
  int64_t skipped = 0;
  if (WriteBatch(numbers, path, &skipped, &why)) {
    if (static_cast<double>(skipped) <= most * static_cast<double>(count)) return 0;
    std::cerr << "random_pallas: " << skipped << " of " << count << " specs are skipped\n";
    return 1;
  }
  std::cerr << "random_pallas: " << why << "\n";
  return 2;
}

}  // namespace
}  // namespace kiln::soak

int main(int argc, char** argv) {
  try {
    return kiln::soak::Main(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "random_pallas: " << error.what() << "\n";
    return 2;
  }
}
