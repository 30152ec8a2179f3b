#include "generator/spec/lock.h"

#include <algorithm>

#include "generator/spec/fields.h"
#include "generator/spec/read_value.h"

namespace kiln {
namespace {

constexpr const char* kBanner =
    "# Written by `kiln tune`. Every command and build that reads the spec reads this file, too.\n";

std::vector<std::string> InstancesOf(const Spec& spec) {
  std::vector<std::string> names;
  for (const InstanceSpec& instance : spec.instances) names.push_back(instance.name.name);
  return names;
}

void CheckInstance(const Spec& spec, const LockEntry& entry, Diagnostics& diagnostics) {
  const std::vector<std::string> names = InstancesOf(spec);
  const std::string& name = entry.instance.name;
  if (name.empty() && names.empty()) return;
  if (name.empty()) {
    diagnostics.Error("key", entry.span, "this entry names no instance, and the spec has some",
                      "for example `instance: " + names.front() + "`");
  } else if (std::find(names.begin(), names.end(), name) == names.end()) {
    std::string hint = DidYouMean(name, names);
    if (hint.empty()) hint = "remove this entry, or run `kiln tune` again";
    diagnostics.Error(
        "name", entry.instance.span,
        "the lock does not fit its spec any more: there is no instance " + Quote(name), hint);
  }
}

std::shared_ptr<const LockSpec> ParseLock(const Spec& spec, std::shared_ptr<const Source> source,
                                          Diagnostics& diagnostics) {
  auto lock = std::make_shared<LockSpec>();
  lock->source = source;
  if (std::optional<YamlNode> root = ParseYaml(*source, diagnostics)) {
    Reader reader{*source, diagnostics};
    const Span top = root->entries.empty() ? root->span : root->entries.front().key.span();
    ReadKeys(reader, LockSection(), *root, top, *lock);
  }
  if (!lock->kernel.name.empty() && lock->kernel.name != spec.kernel.name) {
    diagnostics.Error("key", lock->kernel.span,
                      "this is the lock of " + Quote(lock->kernel.name) + ", and the kernel is " +
                          Quote(spec.kernel.name),
                      "a lock belongs to the spec beside it: `kiln tune` writes one");
  }
  for (const LockEntry& entry : lock->variants) CheckInstance(spec, entry, diagnostics);
  return lock;
}

std::string SetText(const LockEntry& entry) {
  std::string text;
  for (const ParamSpec& set : entry.set)
    text += (text.empty() ? "" : ", ") + set.name.name + ": " + ToString(*set.value);
  return "{" + text + "}";
}

/// As a YAML scalar that holds anything.
std::string Quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

}  // namespace

std::string LockPath(const std::string& spec_path) {
  const std::string extension = ".yaml";
  const bool has = spec_path.ends_with(extension);
  return (has ? spec_path.substr(0, spec_path.size() - extension.size()) : spec_path) +
         ".lock.yaml";
}

bool AttachLock(Spec& spec, std::shared_ptr<const Source> source, Diagnostics& diagnostics) {
  Diagnostics found;
  auto lock = ParseLock(spec, source, found);
  for (Diagnostic& diagnostic : found.Sorted()) {
    diagnostic.source = source;
    diagnostics.Add(std::move(diagnostic));
  }
  if (found.HasErrors()) return false;
  spec.lock = std::move(lock);
  return true;
}

std::string ToString(const LockSpec& lock) {
  std::string text = kBanner + std::string("lock: ") + lock.kernel.name + "\nvariants:\n";
  for (const LockEntry& entry : lock.variants) {
    text += "  - ";
    if (!entry.instance.name.empty()) text += "instance: " + entry.instance.name + "\n    ";
    text += "when: " + Quoted(ToString(*entry.when)) + "\n    set: " + SetText(entry) + "\n";
    if (entry.fixed_blocks) text += "    blocks: fixed\n";
    if (!entry.note.empty()) text += "    note: " + Quoted(entry.note) + "\n";
  }
  return text;
}

}  // namespace kiln
