#include "generator/check/check_spec.h"

#include <algorithm>

#include "generator/check/static_rules.h"
#include "generator/elaborate/elaborate.h"
#include "generator/elaborate/reference.h"
#include "generator/spec/pipeline.h"
#include "generator/spec/vmap.h"

namespace kiln {
namespace {

std::string ChooseInstance(const Spec& spec, const std::string& wanted, Diagnostics& diagnostics) {
  std::vector<std::string> names;
  for (const InstanceSpec& instance : spec.instances) names.push_back(instance.name.name);
  if (wanted.empty()) return names.empty() ? "" : names.front();
  if (std::find(names.begin(), names.end(), wanted) != names.end()) return wanted;
  std::string hint = DidYouMean(wanted, names);
  if (hint.empty() && names.empty()) hint = "the spec has no instances";
  if (hint.empty()) hint = "instances: " + names.front() + (names.size() > 1 ? ", …" : "");
  diagnostics.Error("name", spec.kernel.span, "there is no instance `" + wanted + "`", hint);
  return "";
}

/// The names come first, in the order that lets each section use those before it.
void ElaborateAll(Elaborator& elaborate, const CheckOptions& options) {
  elaborate.Params(options);
  elaborate.Dims();
  elaborate.Lets();
  elaborate.HostArrays();
  elaborate.GridAxes();
  elaborate.GridSteps();
  elaborate.Operands();
  elaborate.Scratch();
  elaborate.CheckLets();
  elaborate.Prepare();
  elaborate.Requires();
  elaborate.Body();
  elaborate.Variants();
  elaborate.CountDimUses();
  elaborate.Golden();
}

void ElaborateReference(const Spec& spec, const CheckOptions& options, Kernel& kernel,
                        Diagnostics& diagnostics);

std::unique_ptr<Kernel> ElaborateOne(const Spec& spec, const CheckOptions& options,
                                     Diagnostics& diagnostics) {
  Diagnostics found;
  auto kernel = std::make_unique<Kernel>();
  kernel->source = spec.source;
  kernel->name = spec.kernel.name;
  kernel->doc = spec.doc;
  kernel->fixed_blocks = options.fixed_blocks;
  kernel->instance = ChooseInstance(spec, options.instance, found);
  const Spec mapped = ApplyVmap(ApplyPipeline(spec, found), found);
  Elaborator elaborate(mapped, *kernel, found);
  ElaborateAll(elaborate, options);
  if (!found.HasErrors()) ElaborateReference(mapped, options, *kernel, found);
  if (!found.HasErrors() && !options.sizes_follow) CheckStaticRules(*kernel, nullptr, found);
  for (Diagnostic& diagnostic : found.Sorted()) diagnostics.Add(diagnostic);
  return found.HasErrors() ? nullptr : std::move(kernel);
}

/// The kernel that `reference` is, by the same road.
void ElaborateReference(const Spec& spec, const CheckOptions& options, Kernel& kernel,
                        Diagnostics& diagnostics) {
  if (spec.reference.empty()) return;
  const Spec reference = ReferenceSpecOf(spec, kernel, diagnostics);
  if (reference.body.empty()) return;
  CheckOptions without_sizes = options;
  without_sizes.sizes_follow = true;
  kernel.reference = ElaborateOne(reference, without_sizes, diagnostics);
}

/// A lock that was right once, and of which the spec has gone its own way.
Diagnostic Outdated(const Variant& variant, const Kernel& kernel, const Diagnostic& found) {
  std::string set;
  for (const auto& [name, value] : variant.set) set += " " + name + "=" + value;
  const LineColumn at = kernel.source->Locate(found.span.begin);
  return {Severity::kError,
          found.rule,
          variant.span,
          "the lock does not fit its spec any more: with" + set + ", " + kernel.source->path() +
              ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ": " +
              found.message,
          "remove this entry, or run `kiln tune` again",
          {},
          variant.lock};
}

/// Every compiled specialisation must be right, not only the base text.
void CheckVariants(const Spec& spec, Kernel& kernel, const CheckOptions& options,
                   Diagnostics& diagnostics) {
  for (Variant& variant : kernel.variants) {
    Diagnostics found;
    variant.kernel = ElaborateOne(spec, WithVariant(options, variant), found);
    for (Diagnostic& diagnostic : found.Sorted()) {
      const bool outdated = variant.lock && diagnostic.severity == Severity::kError;
      diagnostics.Add(outdated ? Outdated(variant, kernel, diagnostic) : std::move(diagnostic));
      if (outdated) break;  // one reason is enough
    }
  }
}

}  // namespace

CheckOptions WithVariant(const CheckOptions& options, const Variant& variant) {
  CheckOptions with = options;
  with.ignore_variants = true;
  with.fixed_blocks = variant.fixed_blocks;
  for (const auto& set : variant.set) {
    const bool overridden = std::any_of(options.set.begin(), options.set.end(),
                                        [&](const auto& o) { return o.first == set.first; });
    if (!overridden) with.set.push_back(set);
  }
  return with;
}

std::unique_ptr<Kernel> CheckSpec(const Spec& spec, const CheckOptions& options,
                                  Diagnostics& diagnostics) {
  Diagnostics found;
  auto kernel = ElaborateOne(spec, options, found);
  if (kernel && !options.ignore_variants) CheckVariants(spec, *kernel, options, found);
  for (Diagnostic& diagnostic : found.Sorted()) diagnostics.Add(diagnostic);
  return found.HasErrors() ? nullptr : std::move(kernel);
}

}  // namespace kiln
