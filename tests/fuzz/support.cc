#include "tests/fuzz/support.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace kiln::fuzz {

void Expect(bool holds, const std::string& what) {
  if (!holds) throw std::logic_error(what);
}

void ExpectWellFormed(const Diagnostics& found, const Source& source) {
  for (const Diagnostic& one : found.Sorted()) {
    const size_t size = (one.source ? *one.source : source).text().size();
    Expect(!one.rule.empty() && !one.message.empty(), "a diagnostic says nothing");
    Expect(one.span.begin <= one.span.end && one.span.begin <= size + 1,
           "a diagnostic is outside of the text: " + one.message);
  }
  Expect(found.empty() == Render(found, source).empty(), "diagnostics are printed");
  Expect(nlohmann::json::accept(RenderJson(found, source)), "diagnostics for programs are JSON");
}

Silence::Silence()
    : old_out_(std::cout.rdbuf(out_.rdbuf())), old_err_(std::cerr.rdbuf(err_.rdbuf())) {}

Silence::~Silence() {
  std::cout.rdbuf(old_out_);
  std::cerr.rdbuf(old_err_);
}

ScratchFolder::ScratchFolder() {
  const fs::path memory = "/dev/shm";
  std::error_code ignored;
  const bool usable = fs::is_directory(memory, ignored) && access(memory.c_str(), W_OK) == 0;
  std::string name = ((usable ? memory : fs::temp_directory_path()) / "kiln-fuzz-XXXXXX").string();
  if (!mkdtemp(name.data())) throw std::runtime_error("cannot make " + name);
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string ReadText(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void WriteText(const fs::path& path, std::string_view text) {
  // Without a stream, and over what is there: this is most of what a small input costs.
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const auto size = static_cast<ssize_t>(text.size());
  const bool written = file >= 0 && write(file, text.data(), text.size()) == size &&
                       ftruncate(file, static_cast<off_t>(size)) == 0;
  if (file >= 0) close(file);
  if (!written) throw std::runtime_error("cannot write " + path.string());
}

std::vector<fs::path> RepositoryFiles(const std::string& folder, const std::string& ending) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(KILN_SOURCE_DIR) / folder)) {
    if (entry.is_regular_file() && entry.path().string().ends_with(ending))
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> RepositoryTexts(const std::string& folder, const std::string& ending) {
  std::vector<std::string> texts;
  for (const fs::path& file : RepositoryFiles(folder, ending)) texts.push_back(ReadText(file));
  return texts;
}

}  // namespace kiln::fuzz
