#include <algorithm>
#include <filesystem>
#include <iostream>

#include "generator/check/check_spec.h"
#include "generator/cli/run/tune.h"
#include "generator/spec/lock.h"
#include "generator/spec/yaml/yaml.h"
#include "generator/system/read_file.h"
#include "generator/system/write_file.h"

namespace kiln::cli {
namespace {

/// Kiln's grammar, from no file.
ExprPtr Parsed(const std::string& text, Diagnostics& diagnostics) {
  std::vector<uint32_t> offsets(text.size() + 1);
  for (size_t i = 0; i < offsets.size(); ++i) offsets[i] = static_cast<uint32_t>(i);
  return ParseExpr({text, std::move(offsets)}, diagnostics);
}

/// The file as it is; empty if there is none. False after an error, which is printed.
bool ReadOld(const Spec& spec, const std::string& path, LockSpec* lock) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return true;
  std::string why;
  auto text = ReadFile(path, kMaxYamlBytes, &why);
  if (!text) {
    UsageError("cannot read the lock `" + path + "`: " + why);
    return false;
  }
  Spec with = spec;
  Diagnostics found;
  const auto source = std::make_shared<const Source>(path, std::move(*text));
  if (AttachLock(with, source, found)) {
    *lock = *with.lock;
    return true;
  }
  Complain(found, *source);
  UsageError("the lock `" + path + "` is not in order, and stays as it is",
             "mend or remove it: what was measured is kept, and the next `kiln tune` is quick");
  return false;
}

/// Whether the spec takes it, and these sizes select the new entry.
bool Holds(const Simulation& call, const std::string& text, const LockChange& change) {
  Spec with = *call.loaded.spec;
  Diagnostics found;
  const auto source = std::make_shared<const Source>(change.path, text);
  std::unique_ptr<Kernel> kernel;
  CheckOptions options = call.loaded.options;
  options.sizes_follow = true;
  if (AttachLock(with, source, found)) kernel = CheckSpec(with, options, found);
  if (!kernel) {
    Complain(found, *call.loaded.source);
    return false;
  }
  if (!change.configuration || ChooseVariant(*kernel, call.inputs) == 0) return true;
  UsageError("`" + change.when + "` does not hold at the sizes that were tuned",
             "--when widens the sizes that the result is for: --when \"m <= 64\"");
  return false;
}

}  // namespace

bool WriteLock(const Simulation& call, const LockChange& change, std::string* what) {
  LockSpec lock;
  lock.kernel = call.loaded.spec->kernel;
  if (!ReadOld(*call.loaded.spec, change.path, &lock)) return false;
  const bool was_there = !lock.variants.empty();
  Diagnostics found;
  const ExprPtr when = Parsed(change.when, found);
  if (!when) {
    UsageError("`" + change.when + "` is no condition: " + found.Sorted().front().message,
               "for example: --when \"m <= 64 and n == 4096\"");
    return false;
  }
  std::erase_if(lock.variants, [&](const LockEntry& entry) {
    return entry.instance.name == change.instance && ToString(*entry.when) == ToString(*when);
  });
  if (change.configuration) {
    LockEntry entry;
    entry.instance.name = change.instance;
    entry.when = when;
    // What --set fixed is part of it.
    for (const auto& [name, value] : call.loaded.options.set)
      entry.set.push_back({{name, {}}, Parsed(value, found)});
    for (const auto& [name, value] : change.configuration->set)
      entry.set.push_back({{name, {}}, Parsed(value, found)});
    entry.fixed_blocks = change.configuration->fixed;
    entry.note = change.note;
    lock.variants.insert(lock.variants.begin(), std::move(entry));
  }
  if (lock.variants.empty()) {
    std::error_code error;
    if (was_there && !std::filesystem::remove(change.path, error)) {
      UsageError("cannot remove the lock `" + change.path + "`: " + error.message());
      return false;
    }
    *what = was_there ? "removed " + change.path : "no lock is needed";
    return true;
  }
  const std::string text = ToString(lock);
  if (!Holds(call, text, change)) return false;
  std::string why;
  const Written written = WriteIfChanged(change.path, text, &why);
  if (written == Written::kFailed) {
    UsageError(why);
    return false;
  }
  *what = (written == Written::kWritten ? "wrote " : "unchanged: ") + change.path;
  return true;
}

}  // namespace kiln::cli
