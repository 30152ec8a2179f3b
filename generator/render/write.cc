#include "generator/render/write.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>

namespace kiln {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> Read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

Written Failed(const std::string& path, const std::string& reason, std::string* why) {
  *why = "cannot write `" + path + "`: " + reason;
  return Written::kFailed;
}

}  // namespace

Written WriteIfChanged(const std::string& path, std::string_view text, std::string* why) {
  if (Read(path) == text) return Written::kUnchanged;
  std::error_code error;
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty()) fs::create_directories(folder, error);
  if (error) return Failed(path, error.message(), why);
  if (fs::is_directory(path)) return Failed(path, "it is a folder", why);

  // Two builds may write the same file at once.
  const std::string part = path + "." + std::to_string(getpid()) + ".part";
  std::ofstream out(part, std::ios::binary);
  out << text << std::flush;
  const bool complete = out.good();
  out.close();
  if (complete) fs::rename(part, path, error);
  if (complete && !error) return Written::kWritten;
  std::error_code ignored;
  fs::remove(part, ignored);
  return Failed(path, error ? error.message() : "the disk is full, or the folder read-only", why);
}

}  // namespace kiln
