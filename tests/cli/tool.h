#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

/// Runs the built tool as a shell does.
namespace kiln::test {

namespace fs = std::filesystem;

/// A new folder, gone when this is.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "kiln-test-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("cannot make " + name);
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const fs::path& path() const { return path_; }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

inline std::string ReadText(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

inline void WriteText(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

/// Without lines such as "interpreting … 30 %", which a slow machine sees more of.
inline std::string WithoutProgress(const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    const bool progress = line.find(" … ") != std::string::npos && line.ends_with(" %");
    if (!progress) out += line + (lines.eof() ? "" : "\n");
  }
  return out;
}

struct Shown {
  int status = -1;
  std::string out;
  std::string err;
};

/// `kiln` in a command of the shell is the built tool; it runs in `folder`.
inline Shown Shell(const std::string& command, const fs::path& folder = KILN_SOURCE_DIR) {
  const Folder streams;
  const std::string tool = fs::path(KILN_TOOL).parent_path().string();
  WriteText(streams / "command", "cd '" + folder.string() + "' || exit 99\nexport PATH='" + tool +
                                     "':\"$PATH\"\n" + command + "\n");
  const auto quoted = [&](const char* name) { return "'" + (streams / name) + "'"; };
  const int raw = std::system(
      ("sh " + quoted("command") + " >" + quoted("out") + " 2>" + quoted("err") + " </dev/null")
          .c_str());
  return {WIFEXITED(raw) ? WEXITSTATUS(raw) : -1, ReadText(streams / "out"),
          WithoutProgress(ReadText(streams / "err"))};
}

inline Shown Kiln(const std::string& arguments, const fs::path& folder = KILN_SOURCE_DIR) {
  return Shell("kiln " + arguments, folder);
}

}  // namespace kiln::test
