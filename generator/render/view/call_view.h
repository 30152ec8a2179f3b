#pragma once

#include <string>
#include <vector>

#include "generator/plan/plan.h"
#include "generator/render/print/scalars.h"
#include "generator/render/view/kernel_names.h"

namespace kiln::render {

/// What the call does for one specialization of the kernel before the grid starts, as lines of
/// text.
class CallView {
 public:
  /// `specialization`: its number, or -1 if there is only one.
  CallView(const Plan& plan, const KernelNames& names, int specialization);

  /// What has to live as long as the call.
  const std::vector<std::string>& memory() const { return memory_; }

  /// Of sizes and arrays; specializations often share them.
  const std::vector<std::string>& checks() const { return checks_; }
  /// What follows when they hold.
  const std::vector<std::string>& rest() const { return rest_; }

  std::string Print(const Node& condition) const;
  /// Whether any of it calls functions that instruction sets have one of each.
  bool calls_functions() const { return printer_.calls(); }

 private:
  void Dims();
  void Prepare();  // call_prepare.cc
  void Registered(const HostCallPlan& call, const std::string& made);
  void Own(const HostCallPlan& call, const std::string& made);
  void Take(RefId ref, const std::string& from, const std::string& end, const std::string& used);
  std::string Argument(const HostArgument& argument, bool flag) const;
  void Steps();
  void Defer();
  void Arrays();
  void Conditions();
  std::string Required(const Require& require) const;
  void FirstValues();
  std::string Shape(const Ref& ref) const;

  const Plan& plan_;
  const Kernel& kernel_;
  const KernelNames& names_;
  const ScalarPrinter printer_;
  const int specialization_;
  Scope scope_;  // of the call
  std::vector<std::string> memory_, checks_, rest_;
  std::vector<std::string> late_;  // checks that need what host code makes
};

/// Whether a caller's array shows the dimension as one of its own.
bool IsShown(const Kernel& kernel, DimId dim);
/// The prepared array that gives the dimension its size, and where; or none.
RefId MakerOf(const Kernel& kernel, DimId dim, size_t* dimension);

/// Ends the call if a check before it failed.
extern const char* const kReturnFailure;

}  // namespace kiln::render
