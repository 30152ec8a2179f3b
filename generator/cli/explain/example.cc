#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <iostream>
#include <sstream>
#include <stdexcept>

#include "generator/cli/command/command.h"
#include "generator/cli/explain/commands.h"
#include "generator/cli/explain/explain.h"
#include "generator/system/descriptor.h"

namespace kiln::cli {
namespace {

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

/// Lets standard input be a text.
class Feed {
 public:
  explicit Feed(std::string_view text) : old_(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)) {
    const Descriptor file(memfd_create("example", MFD_CLOEXEC));
    const auto size = static_cast<ssize_t>(text.size());
    if (pwrite(file.number(), text.data(), text.size(), 0) != size ||
        dup2(file.number(), STDIN_FILENO) < 0)
      throw std::runtime_error("an example cannot be fed to standard input");
  }
  ~Feed() { old_ ? dup2(old_.number(), STDIN_FILENO) : close(STDIN_FILENO); }
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

 private:
  Descriptor old_;
};

/// Diagnostics in standard input are placed at `-:line:column`; they get the file's name.
std::string WithFileName(const std::string& diagnostics, const std::string& file) {
  std::istringstream lines(diagnostics);
  std::string out, line;
  while (std::getline(lines, line)) {
    if (line.rfind("-:", 0) == 0) line.replace(0, 1, file);
    out += line + "\n";
  }
  return out;
}

}  // namespace

Answer RunExample(const RuleExample& example) {
  const size_t space = example.command.find(' ');
  const std::string_view name = example.command.substr(0, space);
  std::string words(example.command.substr(space + 1));
  words.replace(words.find("FILE"), 4, "-");
  for (const Command& command : Commands()) {
    if (command.name != name) continue;
    const Parser parser;
    std::function<int()> run;
    command.add(parser.list(), run);
    parser.Parse(words);
    Answer answer;
    const Feed in(example.spec);
    const Capture out(std::cout), err(std::cerr);
    answer.status = run();
    answer.out = out.text();
    answer.err = WithFileName(err.text(), FileName(example));
    return answer;
  }
  return {kInternal, "", "no command " + std::string(name) + "\n"};
}

}  // namespace kiln::cli
