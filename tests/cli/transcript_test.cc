// Specs under tests/errors/ carry the commands that show what is wrong with them in their leading
// comments (`# $ kiln check FILE m=20`), and the whole answer beside them in NAME.txt.
// Likewise tests/stages/ for the dumps of stages. KILN_UPDATE=1 rewrites the answers, to be
// reviewed in the diff.
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/catch.h"

namespace {

namespace fs = std::filesystem;

std::string ReadText(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> Commands(const std::string& spec_text) {
  std::vector<std::string> commands;
  std::istringstream lines(spec_text);
  for (std::string line; std::getline(lines, line) && line.rfind("#", 0) == 0;) {
    if (line.rfind("# $ kiln ", 0) == 0) commands.push_back(line.substr(9));
  }
  return commands;
}

/// "in 0.0012 s" differs from run to run.
std::string WithoutTimes(const std::string& output) {
  static const std::regex time("in [0-9.e+-]+ m?s\\b");
  return std::regex_replace(output, time, "in … s");
}

/// The command with FILE replaced, its output (both streams) and its exit status.
std::string Transcript(std::string command, const std::string& file) {
  const size_t at = command.find("FILE");
  if (at != std::string::npos) command.replace(at, 4, file);
  const std::string line = std::string(KILN_TOOL) + " " + command + " 2>&1";
  FILE* pipe = popen(line.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string output;
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) output.append(buffer, n);
  const int status = pclose(pipe);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return "$ kiln " + command + "\n" + WithoutTimes(output) + "exit " + std::to_string(code) + "\n";
}

std::vector<fs::path> SpecsUnder(const char* folder) {
  std::vector<fs::path> specs;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".yaml") specs.push_back(entry.path());
  }
  std::sort(specs.begin(), specs.end());
  return specs;
}

void CompareTranscripts(const char* folder) {
  const auto specs = SpecsUnder(folder);
  REQUIRE(!specs.empty());
  for (const fs::path& spec : specs) {
    const auto commands = Commands(ReadText(spec));
    INFO(spec.string());
    CHECK(!commands.empty());
    std::string transcript;
    for (const std::string& command : commands) transcript += Transcript(command, spec.string());
    const fs::path expected = fs::path(spec).replace_extension(".txt");
    if (std::getenv("KILN_UPDATE")) std::ofstream(expected, std::ios::binary) << transcript;
    CHECK(ReadText(expected) == transcript);
  }
}

}  // namespace

TEST_CASE("every wrong spec is refused with the recorded message") {
  CompareTranscripts("tests/errors");
}

TEST_CASE("stages print the recorded text") { CompareTranscripts("tests/stages"); }
