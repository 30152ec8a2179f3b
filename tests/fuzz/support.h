#pragma once

#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "generator/text/diagnostic.h"

/// What the targets share.
namespace kiln::fuzz {

namespace fs = std::filesystem;

/// A promise of the program: throws `what` unless it `holds`.
void Expect(bool holds, const std::string& what);

/// Each diagnostic has a rule, a message and a place in the text, and is printed, for people and
/// for programs.
void ExpectWellFormed(const Diagnostics& found, const Source& source);

/// Keeps what commands print to itself: a fuzzer has its own terminal to fill.
class Silence {
 public:
  Silence();
  ~Silence();
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

 private:
  std::ostringstream out_, err_;
  std::streambuf *old_out_, *old_err_;
};

/// A folder of this process in memory where there is one (/dev/shm), gone when the process ends.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const fs::path& path() const { return path_; }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

std::string ReadText(const fs::path& path);
void WriteText(const fs::path& path, std::string_view text);

/// The files of a folder of the repository that end so, in order; and of its folders.
std::vector<fs::path> RepositoryFiles(const std::string& folder, const std::string& ending);
std::vector<std::string> RepositoryTexts(const std::string& folder, const std::string& ending);

}  // namespace kiln::fuzz
