#include <sys/stat.h>

#include <algorithm>
#include <iostream>

#include "generator/check/check_spec.h"
#include "generator/check/static_rules.h"
#include "generator/cli/command/command.h"
#include "generator/spec/lock.h"
#include "generator/spec/yaml/yaml.h"
#include "generator/system/descriptor.h"
#include "generator/system/read_file.h"
#include "generator/text/utf8.h"

namespace kiln::cli {
namespace {

bool IsFile(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

bool IsDirectory(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool IsThere(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode);
}

/// `specs/matmul.yaml:matmul_f32` is a file and an instance, unless a file has that very name.
void SplitInstance(const std::string& word, std::string& path, std::string& instance) {
  path = word;
  const size_t colon = word.rfind(':');
  if (colon == std::string::npos || IsThere(word)) return;
  if (word.find('/', colon) != std::string::npos) return;
  path = word.substr(0, colon);
  instance = word.substr(colon + 1);
}

bool SplitSet(const std::vector<std::string>& words, CheckOptions& options) {
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      UsageError("--set takes name=value, not `" + word + "`", "for example: --set bm=256 T=f32");
      return false;
    }
    options.set.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
  return true;
}

}  // namespace

std::string SpecFile(const std::string& spec) {
  std::string path, instance;
  SplitInstance(spec, path, instance);
  return path;
}

bool IsPiped(const std::string& spec) {
  const std::string path = SpecFile(spec);
  struct stat info {};
  return path == "-" || NamedDescriptor(path) ||
         (stat(path.c_str(), &info) == 0 && S_ISFIFO(info.st_mode));
}

/// `--set` takes every word up to the next option. A word that is no assignment is then the SPEC
/// it swallowed, and those after it are arguments.
void SpecOptions::Untangle(std::vector<std::string>& words) {
  const auto swallowed = std::find_if(set.begin(), set.end(), [](const std::string& word) {
    return word.find('=') == std::string::npos;
  });
  if (!spec.empty() || swallowed == set.end()) return;
  spec = *swallowed;
  words.insert(words.begin(), swallowed + 1, set.end());
  set.erase(swallowed, set.end());
}

void SpecOptions::Add(const OptionList& list) {
  list.Add("SPEC", spec, "the spec file, or FILE:instance; - and pipes are read to their end")
      .Required();
  list.Add("--set", set, "parameter values that win over the spec's own: --set bm=256 T=f32")
      .Takes("K=V");
  list.Add("--format", format,
           "what is wrong as text, or all of it as one list of JSON on standard output")
      .OneOf({"text", "json"});
  lock.Add(list);
}

void LockOptions::Add(const OptionList& list) {
  const Option given = list.Add("--lock", file,
                                "the lock file of `kiln tune`; SPEC's own is NAME.lock.yaml "
                                "beside it, if that is there")
                           .Takes("FILE");
  list.Flag("--no-lock", none, "read none: the spec alone").Excludes(given);
}

namespace {

/// False after an error, which is printed or in the diagnostics.
bool ReadLock(const LockOptions& options, const std::string& spec_path, Loaded& loaded) {
  if (options.none || (options.file.empty() && IsPiped(spec_path))) return true;
  const std::string path = options.file.empty() ? LockPath(spec_path) : options.file;
  if (options.file.empty() && !IsFile(path)) return true;
  std::string why;
  auto text = ReadFile(path, kMaxYamlBytes, &why);
  if (!text) {
    UsageError("cannot read the lock `" + path + "`: " + why,
               "`kiln tune` writes one; --no-lock reads none");
    return false;
  }
  if (!loaded.spec) return true;
  if (!AttachLock(*loaded.spec, std::make_shared<const Source>(path, std::move(*text)),
                  loaded.diagnostics))
    loaded.spec = nullptr;
  return true;
}

}  // namespace

std::optional<Loaded> Load(const SpecOptions& options, Depth depth) {
  if (options.spec.empty()) {
    UsageError("SPEC is required", "for example: specs/matmul.yaml");
    return std::nullopt;
  }
  Loaded loaded;
  std::string path;
  SplitInstance(options.spec, path, loaded.options.instance);
  if (!SplitSet(options.set, loaded.options)) return std::nullopt;
  if (IsDirectory(path)) {
    UsageError("`" + path + "` is a folder, not a spec", "name a file: " + path + "/NAME.yaml");
    return std::nullopt;
  }
  std::string why;
  auto text = ReadFile(path, kMaxYamlBytes, &why);
  if (!text) {
    UsageError("cannot read `" + path + "`: " + why,
               "`kiln new NAME --like=matmul` writes a spec to start from");
    return std::nullopt;
  }
  loaded.source = std::make_shared<const Source>(path, std::move(*text));
  loaded.spec = ParseSpec(loaded.source, loaded.diagnostics);
  if (!ReadLock(options.lock, path, loaded)) return std::nullopt;
  loaded.options.sizes_follow = depth == Depth::kCheckForSizes;
  if (loaded.spec && depth != Depth::kParse) {
    loaded.kernel = CheckSpec(*loaded.spec, loaded.options, loaded.diagnostics);
  }
  return loaded;
}

namespace {

/// As the spec, or its instance, writes it; empty: it has no such param.
std::string ParamInSpec(const Spec& spec, const std::string& instance, const std::string& name) {
  std::string text;
  const auto look = [&](const std::vector<ParamSpec>& params) {
    for (const ParamSpec& param : params) {
      if (param.name.name == name) text = ToString(*param.value);
    }
  };
  look(spec.params);
  for (const InstanceSpec& one : spec.instances) {
    if (one.name.name == instance) look(one.set);
  }
  return text;
}

}  // namespace

SpecName SpecNameOf(const Loaded& loaded, const Kernel& kernel, const CheckOptions& options) {
  const std::string& path = loaded.source->path();
  SpecName spec(path.substr(path.rfind('/') + 1));
  spec.instance = kernel.instance;
  for (const auto& set : options.set) {
    // What is set wins over variants, whatever it is.
    const bool changes = !kernel.variants.empty() ||
                         ParamInSpec(*loaded.spec, kernel.instance, set.first) != set.second;
    if (changes) spec.set.push_back(set);
  }
  return spec;
}

bool ChooseSpecialisation(Loaded& loaded, const Inputs& inputs) {
  const int variant = ChooseVariant(*loaded.kernel, inputs);
  if (variant < 0) return true;
  const auto& chosen = loaded.kernel->variants[static_cast<size_t>(variant)];
  loaded.kernel = CheckSpec(*loaded.spec, WithVariant(loaded.options, chosen), loaded.diagnostics);
  return loaded.kernel != nullptr;
}

void WarnOfOtherSizes(Loaded& loaded) {
  if (loaded.diagnostics.HasErrors()) return;
  Diagnostics found;
  CheckStaticRules(*loaded.kernel, nullptr, found);
  for (Diagnostic& diagnostic : found.Sorted()) {
    diagnostic.severity = Severity::kWarning;
    loaded.diagnostics.Add(std::move(diagnostic));
  }
}

int Report(const Loaded& loaded, const std::string& format) {
  if (format == "json") {
    Complain(loaded.diagnostics, *loaded.source);
    ComplainOfNothing();
  } else {
    std::cerr << Render(loaded.diagnostics, *loaded.source);
  }
  return loaded.diagnostics.HasErrors() ? kDiagnosed : kFine;
}

int ReportErrors(const Loaded& loaded, const std::string& format) {
  return Report(loaded, loaded.diagnostics.HasErrors() ? format : "text");
}

}  // namespace kiln::cli
