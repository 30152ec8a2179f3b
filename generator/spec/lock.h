#pragma once

#include <memory>
#include <string>

#include "generator/spec/spec.h"

namespace kiln {

/// "specs/matmul.lock.yaml" of "specs/matmul.yaml"
std::string LockPath(const std::string& spec_path);

/// Reads a lock file, as strictly as a spec, and gives it to its spec. False, and diagnostics that
/// know their file, when anything is wrong with it.
bool AttachLock(Spec& spec, std::shared_ptr<const Source> source, Diagnostics& diagnostics);

/// The file's text.
std::string ToString(const LockSpec& lock);

}  // namespace kiln
