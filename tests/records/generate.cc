// record_kernels FOLDER BATCHES EACH: the C++ of the kernels that there are records of, of each
// EACH-th.
//
//   NAME.h, NAME.cc    the kernel, named after its first record
//   NAME_call.cc       it takes its arguments as an array
//   batch_0.cc …       some twenty of these in one source file
//   kernels.inc        KILN_RECORD(record, kernel) of all records
//   not_yet.txt        the records whose kernels the generator refuses, and why
#include <cstdlib>
#include <iostream>
#include <stdexcept>

#include "generator/data/sha256.h"
#include "generator/native/interface.h"
#include "generator/system/write_file.h"
#include "tests/records/record.h"

namespace kiln::testing {
namespace {

constexpr const char* kNotYet = "not supported yet: ";

class Writer {
 public:
  Writer(std::string folder, size_t batches, size_t each)
      : folder_(std::move(folder)),
        each_(each),
        batches_(batches, "// Written by record_kernels.\n") {}

  void Add(const RecordCase& of) {
    const auto [at, is_new] = kernels_.emplace(of.Key(), of.name);
    std::string& kernel = at->second;
    if (is_new && kernels_.size() % each_ != 0) {
      kernel.clear();
    } else if (is_new) {
      const std::string reason = Generate(of);
      if (!reason.empty()) kernel = kNotYet + reason;
    }
    if (kernel.empty()) return;
    if (kernel.rfind(kNotYet, 0) == 0)
      not_yet_ += of.name + ": " + kernel.substr(std::string(kNotYet).size()) + "\n";
    else
      records_ += "KILN_RECORD(" + of.name + ", " + kernel + ")\n";
  }

  void Finish() {
    Write("kernels.inc", records_);
    Write("not_yet.txt", not_yet_);
    for (size_t b = 0; b < batches_.size(); ++b)
      Write("batch_" + std::to_string(b) + ".cc", batches_[b]);
  }

 private:
  /// Why it cannot; empty if it can.
  std::string Generate(const RecordCase& of) {
    std::shared_ptr<const Source> source;
    const std::unique_ptr<Kernel> kernel = CheckRecord(of, &source);
    kernel->name = of.name;
    kernel->instance.clear();
    Diagnostics found;
    Generated text;
    const std::string& path = of.spec;
    if (!kiln::Generate(*kernel, path.substr(path.rfind('/') + 1), found, &text))
      return Reason(found, *source);
    const std::string call = CallText(*kernel);
    Write(of.name + ".h", text.header);
    Write(of.name + ".cc", text.source);
    Write(of.name + "_call.cc", call);
    // With the hash the batch is compiled again when the text changes: to ninja, its includes are
    // as old as they were when the build began.
    Sha256 hash;
    hash.AddField(text.header).AddField(text.source).AddField(call);
    batches_[BatchOf(of.name)] +=
        "#include \"" + of.name + "_call.cc\"  // " + hash.Hex().substr(0, 16) + "\n";
    return "";
  }

  static std::string Reason(const Diagnostics& found, const Source& source) {
    for (const Diagnostic& diagnostic : found.Sorted()) {
      const size_t at = diagnostic.message.find(kNotYet);
      if (at != std::string::npos)
        return diagnostic.message.substr(at + std::string(kNotYet).size());
    }
    throw std::runtime_error(kiln::Render(found, source));
  }

  /// Another record leaves the others where they are.
  size_t BatchOf(const std::string& name) const {
    uint32_t hash = 2166136261;  // FNV-1a
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619;
    return hash % batches_.size();
  }

  void Write(const std::string& file, const std::string& text) const {
    std::string why;
    if (WriteIfChanged(folder_ + "/" + file, text, &why) == Written::kFailed)
      throw std::runtime_error(why);
  }

  const std::string folder_;
  const size_t each_;
  std::vector<std::string> batches_;
  std::map<std::string, std::string>
      kernels_;  // or why there is none, by RecordCase::Key(); empty: left out
  std::string records_, not_yet_;
};

}  // namespace
}  // namespace kiln::testing

int main(int argc, char** argv) {
  const int batches = argc == 4 ? std::atoi(argv[2]) : 0;
  const int each = argc == 4 ? std::atoi(argv[3]) : 0;
  if (batches < 1 || each < 1) {
    std::cerr << "usage: record_kernels FOLDER BATCHES EACH\n";
    return 2;
  }
  kiln::testing::Writer writer(argv[1], static_cast<size_t>(batches), static_cast<size_t>(each));
  for (const auto& cases : {kiln::testing::RecordCases(), kiln::testing::ImportedCases()}) {
    for (const kiln::testing::RecordCase& of : cases) {
      try {
        writer.Add(of);
      } catch (const std::exception& error) {
        std::cerr << of.name << ": " << error.what() << "\n";
        return 1;
      }
    }
  }
  writer.Finish();
}
