#pragma once

#include <memory>

#include "generator/ir/kernel.h"

namespace kiln {

/// Spec to Kernel: every rule that can be decided from the spec alone. Null when any error was
/// found; all independent errors are reported.
std::unique_ptr<Kernel> CheckSpec(const Spec& spec, const CheckOptions& options,
                                  Diagnostics& diagnostics);

/// The options that elaborate one variant's specialisation; --set wins over the variant.
CheckOptions WithVariant(const CheckOptions& options, const Variant& variant);

}  // namespace kiln
