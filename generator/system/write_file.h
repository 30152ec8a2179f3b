#pragma once

#include <sys/stat.h>

#include <streambuf>
#include <string>
#include <string_view>
#include <vector>

#include "generator/system/descriptor.h"
#include "generator/system/interrupt.h"

namespace kiln {

/// Writes a file that appears whole or not at all: whatever happens, and however the program ends,
/// its name has the old bytes or the new ones. A link is followed to the file it names, which keeps
/// its mode. What is no regular file (a device, a pipe, a descriptor such as /dev/stdout) is
/// written into, and never replaced.
class FileWriter {
 public:
  enum class Existing { kReplace, kKeep };

  /// Folders that are missing are made, and go again when nothing comes of the file.
  explicit FileWriter(std::string path, Existing existing = Existing::kReplace);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  void Write(std::string_view bytes);
  /// Puts the file into its place. Empty, or "cannot write `path`: No space left on device".
  std::string Finish();
  /// It failed as there is such a file, which was to be kept.
  bool exists() const { return exists_; }

 private:
  bool failed() const { return !why_.empty(); }
  void Fail(const std::string& reason);
  void Fail(int error);
  void Open();
  void FindTarget();
  void OpenDirect();
  void MakeFolders();
  void OpenPart();
  void Flush();
  int LinkAs(const std::string& name);
  void Place();

  std::string path_;       // as it was called
  std::string target_;     // where links lead
  Temporary part_;         // its name until it is whole, if it has one
  struct stat before_ {};  // of what it replaces
  Existing existing_;
  Descriptor file_;
  std::string pending_;
  std::vector<std::string> made_;  // folders
  std::string why_;
  bool direct_ = false, replaces_ = false, exists_ = false, placed_ = false;
};

/// What a stream writes goes into a FileWriter.
class FileBuffer : public std::streambuf {
 public:
  explicit FileBuffer(FileWriter& file) : file_(file) {}

 private:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* text, std::streamsize count) override;

  FileWriter& file_;
};

/// Empty, or "cannot write `path`: …".
std::string WriteFile(const std::string& path, std::string_view text);

enum class Written { kWritten, kUnchanged, kFailed };

/// Writes a file unless it holds just this text: what did not change is not compiled again. On
/// failure `why` says what is wrong.
Written WriteIfChanged(const std::string& path, std::string_view text, std::string* why);

}  // namespace kiln
