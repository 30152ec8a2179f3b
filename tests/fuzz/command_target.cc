// A command line, one word a line. What compiles is parsed only; the rest runs in a folder of its
// own that holds a few specs, and is found as it was afterwards.
#include <algorithm>
#include <cctype>

#include "generator/cli/command/command.h"
#include "generator/cli/command_line.h"
#include "generator/cli/explain/commands.h"
#include "generator/cli/options/command_table.h"
#include "generator/data/npy.h"
#include "tests/fuzz/support.h"
#include "tests/fuzz/target.h"

namespace kiln::fuzz {
namespace {

constexpr size_t kMostWords = 24;

std::vector<std::string> ArgumentsIn(std::string_view input) {
  std::vector<std::string> words = {"kiln"};
  std::istringstream lines{std::string(input)};
  for (std::string line; std::getline(lines, line) && words.size() < kMostWords;)
    words.push_back(line.substr(0, line.find('\0')));
  return words;
}

cli::CommandLine Parse(const std::vector<std::string>& words) {
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());
  return cli::ParseCommandLine(static_cast<int>(argv.size()), argv.data());
}

/// In words without a slash every file is in the folder; and of two digits no size is large.
bool StaysHere(std::string_view input) {
  constexpr int kMostDigits = 2;
  int digits = 0;
  for (const char c : input) {
    digits = std::isdigit(static_cast<unsigned char>(c)) ? digits + 1 : 0;
    if (c == '/' || digits > kMostDigits) return false;
  }
  return input.find("..") == input.npos;
}

/// Neither compiles nor asks the machine how fast it is, nor reads the fuzzer's own input.
bool IsQuick(const std::string& command, std::string_view input) {
  const auto says = [&](std::string_view word) { return input.find(word) != input.npos; };
  if (command == "run") return !says("direct") && !says("emulate") && !says("-");
  if (says("--stats")) return false;
  const std::string_view quick[] = {"check",   "show",    "generate",     "new",   "schema",
                                    "explain", "predict", "explain-cost", "report"};
  return std::find(std::begin(quick), std::end(quick), command) != std::end(quick) &&
         !says("\n-\n") && !input.ends_with("\n-");
}

/// The folder's files by name, as they are put there.
const std::vector<std::pair<std::string, std::string>>& Files() {
  static const std::vector<std::pair<std::string, std::string>> files = [] {
    const fs::path root = KILN_SOURCE_DIR;
    const ScratchFolder folder;
    Expect(WriteNpy(folder / "ids.npy", RandomArray(DType::kI32, {4}, 1)).empty(), "an array");
    return std::vector<std::pair<std::string, std::string>>{
        {"matmul.yaml", ReadText(root / "specs/matmul.yaml")},
        {"sum.yaml", ReadText(root / "specs/sum_rows.yaml")},
        {"gather.yaml", ReadText(root / "specs/embedding_gather.yaml")},
        {"wrong.yaml", ReadText(root / "examples/wrong_matmul.yaml")},
        {"a.lock.yaml",
         "lock: matmul\nvariants:\n  - {instance: matmul_f32, when: m < 9, set: {bm: 8}}\n"},
        {"m.yaml", ReadText(root / "runtime/machines/v4.yaml")},
        {"ids.npy", ReadText(folder / "ids.npy")},
    };
  }();
  return files;
}

/// Runs there, and puts everything back.
class Visit {
 public:
  explicit Visit(const ScratchFolder& folder) : folder_(folder), home_(fs::current_path()) {
    fs::current_path(folder.path());
    Restore();
  }
  ~Visit() { fs::current_path(home_); }

 private:
  void Restore() const {
    size_t known = 0;
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      const auto same = [&](const auto& file) {
        return entry.path().filename() == file.first && entry.is_regular_file() &&
               ReadText(entry.path()) == file.second;
      };
      if (std::any_of(Files().begin(), Files().end(), same))
        ++known;
      else
        fs::remove_all(entry.path());
    }
    if (known == Files().size()) return;
    for (const auto& [name, text] : Files()) WriteText(folder_ / name, text);
  }

  const ScratchFolder& folder_;
  const fs::path home_;
};

bool RunCommand(std::string_view input) {
  static const ScratchFolder folder;
  const Visit visit(folder);
  const Silence silence;
  const cli::CommandLine line = Parse(ArgumentsIn(input));
  if (!line.command.empty() && !(StaysHere(input) && IsQuick(line.command, input))) return false;
  const int status = line.run();
  Expect(status >= cli::kFine && status < cli::kInternal, "a command fails for a reason");
  return status == cli::kFine;
}

std::vector<std::string> CommandWords() {
  std::vector<std::string> words;
  for (const cli::Command& command : cli::Commands()) {
    words.push_back(std::string(command.name) + "\n");
    const cli::Parser parser;
    std::function<int()> run;
    command.add(parser.list(), run);
    const auto table = cli::CommandTable(parser.list());
    for (const cli::OptionRow& option : table[0].options)
      for (const std::string& name : option.names) words.push_back(name + "\n");
  }
  for (const auto& [name, text] : Files()) words.push_back(name);
  for (const char* word :
       {"m=64\n", "n=5\n", "k=8\n", "x=random:1\n", "ids=@ids.npy\n", "ids=0,1\n", ":matmul_f32\n",
        "--format=json\n", "--stage=plan\n", "bm=8\n", "T=f32\n"})
    words.emplace_back(word);
  return words;
}

std::vector<std::string> CommandSeeds() {
  return {
      "check\nmatmul.yaml\nm=20\nn=10\nk=30\n--set\nbm=64\nbn=64\n",
      "check\ngather.yaml\nids=@ids.npy\n--format=json\n--tpu\n-q\n--vmem=2\n",
      "check\nwrong.yaml\nm=20\nn=10\nk=30\n",
      "show\n--stage=plan\nmatmul.yaml:matmul_f32\n",
      "show\nsum.yaml\n--stage\nspec\n",
      "generate\nmatmul.yaml\nsum.yaml\n--stdout\n",
      "generate\nmatmul.yaml:matmul_f32\n--name=mine\n-o\nout\n--lock=a.lock.yaml\n",
      "run\nsum.yaml\nx=random:1\nm=5\nn=7\n--out=here\n",
      "run\ngather.yaml\ntable=ones\nids=3,0,1\nrows=4\nn=8\n--wide\n",
      "predict\nmatmul.yaml\n--dims\nm=51,n=64,k=99\n--machine=m.yaml\n--json\n--cores=2\n",
      "explain-cost\nsum.yaml\nm=64\nn=64\n--no-advice\n",
      "report\nsum.yaml\nm=64\nn=64\n-o\nsum.html\n--trace=sum.json\n",
      "new\nscale\n--like=matmul\n",
      "explain\nindex-range\n",
      "explain\n--functions\n--markdown\n",
      "schema\n--reference\n",
      "schema\n--lock\n",
      "bench\nmatmul.yaml\n--dims\nm=64\n",
      "tune\nmatmul.yaml\nm=64\n--try\nbm=8,16\n",
      "golden\ncheck\nmatmul.yaml\n--mode=interpret,direct\n",
      "--help\n",
      "run\n--help\n",
      "--help-all\n",
  };
}

}  // namespace

Target CommandTarget() { return {"command", 256, true, &RunCommand, &CommandWords, &CommandSeeds}; }

}  // namespace kiln::fuzz
