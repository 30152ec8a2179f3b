#include "generator/render/view/runner_view.h"

#include <string>
#include <vector>

#include "generator/data/passed_as.h"
#include "generator/render/print/cpp.h"
#include "generator/render/print/scalars.h"
#include "generator/render/view/kernel_names.h"
#include "generator/render/view/specialization_view.h"

namespace kiln::render {
namespace {

std::string NumberOr(const std::optional<int64_t>& value, const char* none) {
  return value ? std::to_string(*value) : none;
}

Fields DimFields(const Dim& dim) {
  Fields f;
  f.Set("dim_name", Quoted(dim.name));
  f.Set("min", std::to_string(dim.min)).Set("multiple_of", std::to_string(dim.multiple_of));
  f.Set("max", NumberOr(dim.max, "-1")).Set("fixed", NumberOr(dim.fixed, "-1"));
  return f;
}

/// The size that an extent is, by its number; -1: an expression.
std::string DimOf(const Size& size) {
  const Node* const atom = size.AsAtom();
  return atom && atom->op == Op::kDim ? std::to_string(atom->index) : "-1";
}

const char* RoleText(Role role) {
  return role == Role::kOutput ? "kOutput" : role == Role::kScalar ? "kScalar" : "kInput";
}

Fields ArgumentFields(const Ref& ref, const std::string& number, const ScalarPrinter& printer) {
  Fields f;
  f.Set("number", number).Set("argument_name", Quoted(ref.name)).Set("role", RoleText(ref.role));
  f.Set("dtype", Quoted(Name(ref.dtype)));
  const bool is_scalar = ref.role == Role::kScalar;
  f.Set("passed_as", is_scalar ? Quoted(Name(PassedAs(ref.dtype))) : "nullptr");
  f.Set("shape", Quoted(ref.array.empty() ? "" : ToString(ref.array)));
  f.Set("rank", std::to_string(ref.array.size()));
  std::vector<std::string> dims;
  std::vector<Fields> extents;
  for (const Size& size : ref.array) {
    extents.emplace_back()
        .Set("dimension", std::to_string(dims.size()))
        .Set("extent", printer.Print(size));
    dims.push_back(DimOf(size));
  }
  f.SetFlag("has_extents", !extents.empty()).Set("dims_of_it", Joined(dims));
  f.Set("dims", extents.empty() ? "nullptr" : "kDimsOf" + number);
  f.Set("extents_of", extents.empty() ? "nullptr" : "ExtentsOf" + number);
  f.SetList("extents", std::move(extents));
  return f;
}

}  // namespace

Fields MakeRunnerView(const Plan& plan) {
  const Kernel& kernel = *plan.kernel;
  const KernelNames names = NamesOf(plan);
  ScalarPrinter::Names of = WalkNames(names, "at", "size");
  of.dim = [](DimId dim) { return "size(" + std::to_string(dim.number()) + ")"; };
  const ScalarPrinter printer(plan, of);

  std::vector<Fields> dims, arguments;
  for (const Dim& dim : kernel.dims) dims.push_back(DimFields(dim));
  for (const RefId r : IdsOf(kernel.refs)) {
    if (!IsArgument(kernel[r])) continue;
    const std::string number = std::to_string(arguments.size());
    arguments.push_back(ArgumentFields(kernel[r], number, printer));
  }
  Fields fields;
  fields.Set("name", GeneratedName(kernel)).Set("quoted_name", Quoted(GeneratedName(kernel)));
  fields.Set("quoted_doc", Quoted(kernel.doc));
  fields.SetFlag("has_dims", !dims.empty());
  fields.Set("dim_count", std::to_string(dims.size()));
  fields.Set("dim_table", dims.empty() ? "nullptr" : "kDims");
  fields.Set("argument_count", std::to_string(arguments.size()));
  fields.SetList("dim_rows", std::move(dims)).SetList("arguments", std::move(arguments));
  return fields;
}

}  // namespace kiln::render
