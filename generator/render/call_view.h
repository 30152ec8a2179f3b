#pragma once

#include <string>
#include <vector>

#include "generator/plan/plan.h"
#include "generator/render/kernel_names.h"
#include "generator/render/scalars.h"

namespace kiln::render {

/// What the call does for one form of the kernel before the grid starts, as lines of text.
class CallView {
 public:
  CallView(const Plan& plan, const KernelNames& names);

  /// Of sizes and arrays; forms often share them.
  const std::vector<std::string>& checks() const { return checks_; }
  /// What follows when they hold.
  const std::vector<std::string>& rest() const { return rest_; }

  std::string Print(const Node& condition) const;

 private:
  void Dims();
  void Arrays();
  void Conditions();
  void FirstValues();
  const std::string& NameOf(size_t ref) const { return names_.buffers[ref]; }
  std::string Shape(const Ref& ref) const;

  const Kernel& kernel_;
  const KernelNames& names_;
  const ScalarPrinter printer_;
  std::vector<std::string> checks_, rest_;
};

/// Ends the call if a check before it failed.
extern const char* const kReturnFailure;

}  // namespace kiln::render
