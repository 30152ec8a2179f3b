#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator/plan/plan.h"
#include "generator/render/print/scalars.h"
#include "generator/render/template/template.h"
#include "generator/render/view/body_view.h"
#include "generator/render/view/kernel_names.h"

namespace kiln::render {

/// The names that index maps, steps and sizes have in the walk over the grid and in the call:
/// `point` is the grid point, `reporter` takes diagnostics.
ScalarPrinter::Names WalkNames(const KernelNames& names, const std::string& point,
                               const std::string& reporter);

/// A constant of an operand's dtype.
std::string ConstantText(const NodePtr& value, DType dtype);

/// The params that a text has mentioned, as definitions: "tm = 128".
std::vector<std::string> ParamDefinitions(const Kernel& kernel, const KernelNames& names);

/// Whether a caller passes the array or scalar.
bool IsArgument(const Ref& ref);

std::string Joined(const std::vector<std::string>& parts);

/// Members by type and name; neighbours of one type share a line.
std::vector<Fields> Declarations(const std::vector<std::pair<std::string, std::string>>& members);

/// One specialization of a kernel, the base or a variant, as fields: its step, bodies and walk.
class SpecializationView {
 public:
  SpecializationView(const Plan& plan, std::string_view spec_file);

  Fields Make();

 private:
  /// A member of Step, its value in the grid, and what makes of it what a body has, if that is
  /// something else.
  struct StepMember {
    std::string type, name, value, view;
    bool by_parts = false;  // bodies name parts of it alone
  };
  /// A member of Target.
  struct TargetMember {
    std::string type, name, value;
  };

  int Line(const Ref& ref) const { return kernel_.source->Locate(ref.span.begin).line; }

  ScalarPrinter::Names NamesOfWalk(const std::string& reporter) const;
  void Params();
  void Banner();
  void Grid();
  void FreeBlocks();
  std::string DepthOf(const FreeBlock& block, const std::string& name) const;

  // specialization_step.cc
  void Given();
  void InStep(const std::string& type, const std::string& name, const std::string& value);
  void OperandInStep(RefId ref, const std::string& value);
  void Bodies();
  void Step();
  void FromTarget();
  std::pair<std::string, std::string> EndsOfReduction() const;
  static std::string LocalType(const StepMember& member);
  std::vector<Fields> Locals(const std::vector<Fields>& stages, const std::string& line) const;

  // specialization_locate.cc
  void Locate();
  std::vector<std::string> ElementsBehind(RefId ref) const;

  // specialization_shared.cc
  std::string IndexList(RefId ref) const;
  std::string IndexAt(RefId ref, const std::string& from, const std::string& point) const;
  std::string NameOfAll(const std::vector<RefId>& operands) const;
  std::vector<Fields> SharedBlocks();
  std::vector<Fields> IndexMaps();
  std::string PointParameter(bool named) const;

  // specialization_operands.cc
  void Operands();
  void InSmem(RefId ref, std::vector<Fields>* holds) const;
  void Visits();
  void VisitsOf(RefId ref, std::vector<Fields>* visits);
  std::string Type(const Ref& ref) const;
  std::string Format(RefId ref) const;
  std::string FormatOfView(RefId ref) const;
  bool IsOfDot(RefId ref) const;
  std::string BlockOf(RefId ref, size_t dimension) const;
  std::string Blocks(RefId ref) const;
  /// The extent of a dimension of the space: a member of Blocks where that is free.
  std::string BlockSize(const Size& size, SpaceId space) const;
  SpaceId SpaceOf(RefId ref, size_t dimension) const;
  static std::pair<std::string, std::string> BuffersOf(const Ref& ref);
  static void AddRest(std::vector<std::pair<std::string, std::string>> arguments, Fields* operand);
  void GiveInput(RefId ref, Fields* f);
  void GiveOutput(RefId ref, Fields* f);
  std::string InitOf(RefId ref) const;
  std::string Window(RefId ref) const;
  std::string OthersPerElement(RefId ref) const;
  std::string RowStride(RefId ref) const;
  std::string Operand(RefId ref) const;
  bool HasCopies() const;
  RefId Borrower(RefId ref) const { return RefId(kernel_.BorrowerOf(ref.number())); }
  void Copied();
  RefId ArrayOf(RefId ref) const { return RefId(kernel_.ArrayOf(ref.number())); }

  // specialization_memory.cc
  void Memory();
  std::string ExtentList(const Buffer& buffer, bool all) const;
  std::string SpecExtents(RefId scratch) const;

  const Plan& plan_;
  const Kernel& kernel_;
  const std::string spec_file_;
  KernelNames names_;
  ScalarPrinter walk_, map_;  // of a step, and of an index map
  Fields fields_;
  std::map<RefId, std::string> index_maps_, blocks_;  // what they are called where they are shared
  std::vector<StepMember> step_;
  std::vector<TargetMember> target_;
};

}  // namespace kiln::render
