#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "generator/cli/command.h"
#include "generator/cli/explain.h"

namespace kiln::cli {
namespace {

namespace fs = std::filesystem;

/// A folder that is gone when this is.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "kiln-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("cannot make the folder " + name);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// Collects what is written to a stream.
class Capture {
 public:
  explicit Capture(std::ostream& stream) : stream_(stream), old_(stream.rdbuf(text_.rdbuf())) {}
  ~Capture() { stream_.rdbuf(old_); }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::ostream& stream_;
  std::streambuf* old_;
};

std::string Without(std::string text, const std::string& part) {
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at))
    text.erase(at, part.size());
  return text;
}

}  // namespace

Answer RunExample(const RuleExample& example) {
  const TemporaryFolder folder;
  const std::string prefix = folder.path().string() + "/";
  std::ofstream(prefix + FileName(example)) << example.spec;

  const size_t space = example.command.find(' ');
  const std::string_view name = example.command.substr(0, space);
  std::string words(example.command.substr(space + 1));
  words.replace(words.find("FILE"), 4, prefix + FileName(example));
  for (const Command& command : Commands()) {
    if (command.name != name) continue;
    CLI::App app;
    std::function<int()> run;
    command.add(app, run);
    app.parse(words);
    Answer answer;
    const Capture out(std::cout), err(std::cerr);
    answer.status = run();
    answer.out = Without(out.text(), prefix);
    answer.err = Without(err.text(), prefix);
    return answer;
  }
  return {kInternal, "", "no command " + std::string(name) + "\n"};
}

}  // namespace kiln::cli
