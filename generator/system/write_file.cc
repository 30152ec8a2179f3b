#include "generator/system/write_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <random>
#include <thread>

#include "generator/system/read_file.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPending = size_t{1} << 20;
constexpr int kMostLinks = 40;  // as the kernel has it
constexpr int kAttempts = 100;

/// Short, so that it fits wherever the file's own name does.
std::string PartName(const std::string& target) {
  static std::random_device random;
  std::string name;
  for (int i = 0; i < 12; ++i) name += "abcdefghijklmnopqrstuvwxyz"[random() % 26];
  return (fs::path(target).parent_path() / (".kiln-" + name + ".part")).string();
}

std::string FolderOf(const std::string& target) {
  const std::string folder = fs::path(target).parent_path().string();
  return folder.empty() ? "." : folder;
}

/// Zero or errno.
int WriteAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(file, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) return errno;
    if (count > 0) bytes.remove_prefix(static_cast<size_t>(count));
  }
  return 0;
}

}  // namespace

FileWriter::FileWriter(std::string path, Existing existing)
    : path_(std::move(path)), target_(path_), existing_(existing) {
  Open();
}

FileWriter::~FileWriter() {
  if (placed_) return;
  file_.Close();
  part_ = Temporary();
  for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder) rmdir(folder->c_str());
}

void FileWriter::Fail(const std::string& reason) {
  if (!failed()) why_ = "cannot write `" + path_ + "`: " + reason;
}

void FileWriter::Fail(int error) {
  exists_ = error == EEXIST && existing_ == Existing::kKeep;
  Fail(std::string(std::strerror(error)));
}

void FileWriter::Open() {
  FindTarget();
  if (failed()) return;
  if (direct_) return OpenDirect();
  MakeFolders();
  if (!failed()) OpenPart();
}

/// Follows links to the file that will be replaced, and sees what it is.
void FileWriter::FindTarget() {
  for (int links = 0;; ++links) {
    direct_ = NamedDescriptor(target_).has_value();
    if (direct_ || lstat(target_.c_str(), &before_) != 0) return;
    if (existing_ == Existing::kKeep) return Fail(EEXIST);
    if (!S_ISLNK(before_.st_mode)) break;
    if (links == kMostLinks) return Fail(ELOOP);
    std::error_code error;
    const fs::path link = fs::read_symlink(target_, error);
    if (error) return Fail(error.value());
    target_ = (fs::path(target_).parent_path() / link).string();
  }
  if (S_ISDIR(before_.st_mode)) return Fail("it is a folder");
  replaces_ = S_ISREG(before_.st_mode);
  direct_ = !replaces_;
}

void FileWriter::OpenDirect() {
  if (const auto number = NamedDescriptor(target_)) {
    file_ = Descriptor(fcntl(*number, F_DUPFD_CLOEXEC, 0));
    if (!file_) Fail(errno);
    return;
  }
  // A pipe that nobody reads is no reason to wait for ever.
  const auto start = std::chrono::steady_clock::now();
  do {
    file_ = Descriptor(open(target_.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    if (file_ || errno != ENXIO || !S_ISFIFO(before_.st_mode)) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  } while (std::chrono::steady_clock::now() - start < std::chrono::duration<double>(kPipeSeconds));
  if (!file_) return errno == ENXIO ? Fail("nobody reads from it") : Fail(errno);
  fcntl(file_.number(), F_SETFL, fcntl(file_.number(), F_GETFL) & ~O_NONBLOCK);
}

void FileWriter::MakeFolders() {
  std::vector<std::string> missing;
  std::error_code ignored;
  for (fs::path at = FolderOf(target_); !at.empty() && !fs::exists(at, ignored);
       at = at.parent_path())
    missing.push_back(at.string());
  for (auto folder = missing.rbegin(); folder != missing.rend(); ++folder) {
    if (mkdir(folder->c_str(), 0777) == 0)
      made_.push_back(*folder);
    else if (errno != EEXIST)
      return Fail(errno);
  }
}

/// Without a name if the file system can: then nothing is left even by SIGKILL.
void FileWriter::OpenPart() {
  const std::string folder = FolderOf(target_);
  if (access("/proc/self/fd", X_OK) == 0)
    file_ = Descriptor(open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666));
  const bool unable = errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL || errno == ENOENT;
  const auto hold = HoldInterrupts();
  for (int attempt = 0; !file_ && unable && attempt < kAttempts; ++attempt) {
    const std::string name = PartName(target_);
    file_ = Descriptor(open(name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666));
    if (file_) part_ = Temporary(name);
    if (errno != EEXIST) break;
  }
  if (!file_) return Fail(errno);
  if (!replaces_) return;
  // Only root can keep another's owner; then the file is the writer's.
  [[maybe_unused]] const int owned = fchown(file_.number(), before_.st_uid, before_.st_gid);
  fchmod(file_.number(), before_.st_mode & 0777);
}

void FileWriter::Write(std::string_view bytes) {
  if (failed()) return;
  if (pending_.size() + bytes.size() > kPending) Flush();
  if (bytes.size() < kPending) {
    pending_ += bytes;
  } else if (!failed()) {
    if (const int error = WriteAll(file_.number(), bytes)) Fail(error);
  }
}

void FileWriter::Flush() {
  if (failed()) return;
  if (const int error = WriteAll(file_.number(), pending_)) Fail(error);
  pending_.clear();
}

/// Zero or errno.
int FileWriter::LinkAs(const std::string& name) {
  const std::string own = "/proc/self/fd/" + std::to_string(file_.number());
  const char* const from = part_.path().empty() ? own.c_str() : part_.path().c_str();
  return linkat(AT_FDCWD, from, AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

/// Under the file's own name. Its bytes are on the disk before that: some disks report only then
/// that they are full.
void FileWriter::Place() {
  if (fsync(file_.number()) != 0 && errno != EINVAL && errno != EROFS) return Fail(errno);
  const auto hold = HoldInterrupts();
  int error = EEXIST;
  if (existing_ == Existing::kKeep) {
    if ((error = LinkAs(target_))) Fail(error);
    return;
  }
  for (int attempt = 0; part_.path().empty() && error == EEXIST && attempt < kAttempts; ++attempt) {
    const std::string name = PartName(target_);
    error = LinkAs(name);
    if (error == 0) part_ = Temporary(name);
  }
  if (part_.path().empty()) return Fail(error);
  if ((error = part_.MoveTo(target_))) Fail(error);
}

std::string FileWriter::Finish() {
  Flush();
  if (!failed() && !direct_) Place();
  if (const int error = file_.Close()) Fail(error);
  placed_ = !failed();
  return why_;
}

FileBuffer::int_type FileBuffer::overflow(int_type c) {
  if (c != traits_type::eof()) {
    const char byte = static_cast<char>(c);
    file_.Write({&byte, 1});
  }
  return 0;
}

std::streamsize FileBuffer::xsputn(const char* text, std::streamsize count) {
  file_.Write({text, static_cast<size_t>(count)});
  return count;
}

std::string WriteFile(const std::string& path, std::string_view text) {
  FileWriter file(path);
  file.Write(text);
  return file.Finish();
}

Written WriteIfChanged(const std::string& path, std::string_view text, std::string* why) {
  struct stat info {};
  const bool same_size = !NamedDescriptor(path) && stat(path.c_str(), &info) == 0 &&
                         S_ISREG(info.st_mode) && static_cast<size_t>(info.st_size) == text.size();
  std::string ignored;
  if (same_size && ReadFile(path, text.size(), &ignored) == text) return Written::kUnchanged;
  *why = WriteFile(path, text);
  return why->empty() ? Written::kWritten : Written::kFailed;
}

}  // namespace kiln
