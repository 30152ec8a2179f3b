// The files around fuzzers: dictionaries, seeds, and corpora on their way into one file and out.
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <set>

#include "tests/fuzz/archive.h"
#include "tests/fuzz/libfuzzer/record.h"
#include "tests/fuzz/support.h"
#include "tests/fuzz/target.h"

namespace kiln::fuzz {
namespace {

constexpr const char* kUsage =
    "usage: fuzz_files COMMAND TARGET ...\n"
    "  targets                     prints the names of all\n"
    "  longest TARGET              prints how many bytes its inputs have at most\n"
    "  dictionary TARGET           prints words of its grammar, as libFuzzer reads them\n"
    "  unpack TARGET FOLDER        writes its corpus, its regressions and its seeds, a file each\n"
    "  pack TARGET FOLDER          makes the folder's files its corpus\n"
    "  record RUNS                 adds runs of `./dev fuzz` to tests/fuzz/record.json\n";

/// A word as libFuzzer's dictionaries have it.
std::string Quoted(const std::string& word) {
  std::string text = "\"";
  for (const char c : word) {
    char code[8];
    const auto byte = static_cast<unsigned char>(c);
    std::snprintf(code, sizeof code,
                  byte < ' ' || byte > '~' || c == '"' || c == '\\' ? "\\x%02X" : "%c", byte);
    text += code;
  }
  return text + "\"";
}

void PrintDictionary(const Target& target) {
  constexpr size_t kLongestWord = 64;  // libFuzzer's own limit
  std::set<std::string> words;
  for (const std::string& word : target.words()) {
    if (!word.empty()) words.insert(word.substr(0, kLongestWord));
  }
  for (const std::string& word : words) std::cout << Quoted(word) << "\n";
}

void Unpack(const Target& target, const fs::path& folder) {
  fs::create_directories(folder);
  const auto write = [&](const std::string& kind, const std::vector<std::string>& inputs) {
    for (size_t i = 0; i < inputs.size(); ++i)
      WriteText(folder / (kind + std::to_string(i)), inputs[i]);
  };
  write("corpus-", ReadInputs(CorpusFile(target.name)));
  write("seed-", target.seeds());
  if (fs::exists(RegressionFolder(target.name)))
    write("regression-", RepositoryTexts(RegressionFolder(target.name), ""));
}

void Pack(const Target& target, const fs::path& folder) {
  std::vector<std::string> inputs;
  for (const auto& entry : fs::directory_iterator(folder)) inputs.push_back(ReadText(entry.path()));
  std::sort(inputs.begin(), inputs.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  WriteInputs(CorpusFile(target.name), inputs);
}

int Main(const std::vector<std::string>& words) {
  if (words == std::vector<std::string>{"targets"}) {
    for (const Target& target : Targets()) std::cout << target.name << "\n";
    return 0;
  }
  if (words.size() == 2 && words[0] == "record") return AddToRecord(words[1]), 0;
  const Target* target = words.size() > 1 ? FindTarget(words[1]) : nullptr;
  if (target && words[0] == "longest" && words.size() == 2)
    std::cout << target->longest << "\n";
  else if (target && words[0] == "dictionary" && words.size() == 2)
    PrintDictionary(*target);
  else if (target && words[0] == "unpack" && words.size() == 3)
    Unpack(*target, words[2]);
  else if (target && words[0] == "pack" && words.size() == 3)
    Pack(*target, words[2]);
  else
    return std::cerr << kUsage, 2;
  return 0;
}

}  // namespace
}  // namespace kiln::fuzz

int main(int argc, char** argv) { return kiln::fuzz::Main({argv + 1, argv + argc}); }
