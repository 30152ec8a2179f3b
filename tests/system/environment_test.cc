// The table of environment variables is the one place that reads them.
#include "generator/system/environment.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/catch.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

TEST_CASE("each variable has its row, in order") {
  const auto& rows = EnvironmentVariables();
  for (size_t i = 0; i < rows.size(); ++i) {
    CHECK(static_cast<size_t>(rows[i].variable) == i);
    CHECK(std::string(rows[i].does).back() == '.');
  }
  CHECK(rows.size() == static_cast<size_t>(EnvVariable::kRunPath) + 1);
}

TEST_CASE("nothing else reads the environment") {
  for (const auto& entry :
       fs::recursive_directory_iterator(fs::path(KILN_SOURCE_DIR) / "generator")) {
    if (entry.path().extension() != ".cc" || entry.path().filename() == "environment.cc") continue;
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    CAPTURE(entry.path());
    CHECK(text.str().find("getenv(") == std::string::npos);
  }
}

}  // namespace
}  // namespace kiln
