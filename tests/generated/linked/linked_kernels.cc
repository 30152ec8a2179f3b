#include "tests/generated/linked/linked_kernels.h"

// Generated headers come with Kiln's choice of instruction sets, before Highway's own headers.
#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>
#include <vector>

#include "hwy/targets.h"
#include "kernels.h"

namespace kiln::test {
namespace {

/// An argument of a kernel's C function: a tensor, or the value in it.
template <typename T>
T As(const DLTensor* tensor) {
  if constexpr (std::is_same_v<T, const DLTensor*>)
    return tensor;
  else
    return *static_cast<const T*>(tensor->data);
}

template <class... Arguments, size_t... kAt>
int32_t Invoke(int32_t (*kernel)(Arguments...), const DLTensor* const* arguments,
               kiln_context* context, kiln_status* status, std::index_sequence<kAt...>) {
  using Types = std::tuple<Arguments...>;
  return kernel(As<std::tuple_element_t<kAt, Types>>(arguments[kAt])..., context, status);
}

template <class... Arguments>
std::make_index_sequence<sizeof...(Arguments) - 2> Indices(int32_t (*)(Arguments...)) {
  return {};
}

template <auto kKernel>
int32_t Call(const DLTensor* const* arguments, kiln_context* context, kiln_status* status) {
  return Invoke(kKernel, arguments, context, status, decltype(Indices(kKernel)){});
}

constexpr LinkedKernel kKernels[] = {
#define KILN_KERNEL(name, spec, instance) {#name, spec, instance, &Call<&kiln_##name>},
#include "kernels.inc"
#undef KILN_KERNEL
};

void Use(int64_t targets) {
  hwy::SetSupportedTargetsForTest(targets);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

/// What kernels have code for and this machine has. Better ones have lower bits.
std::vector<int64_t> Supported() {
  if ((HWY_TARGETS & (HWY_TARGETS - 1)) == 0)
    return {HWY_TARGETS};  // nothing is chosen when they are called
  Use(0);
  std::vector<int64_t> targets = hwy::SupportedAndGeneratedTargets();
  // What the compiler takes for granted is there for machines that have none of the others.
  if (targets.empty() || targets.back() != HWY_STATIC_TARGET) targets.push_back(HWY_STATIC_TARGET);
  std::reverse(targets.begin(), targets.end());
  return targets;
}

}  // namespace
}  // namespace kiln::test

const kiln::test::LinkedKernel* kiln_linked_kernels(int32_t* count) {
  *count = static_cast<int32_t>(std::size(kiln::test::kKernels));
  return kiln::test::kKernels;
}

const kiln::test::LinkedRuntime* kiln_linked_runtime() {
  static constexpr kiln::test::LinkedRuntime kRuntime = {
      &kiln_options_init,      &kiln_context_new,    &kiln_context_free, &kiln_context_operands,
      &kiln_context_vmem_high, &kiln_context_events, &kiln_code_name};
  return &kRuntime;
}

int32_t kiln_linked_targets(int32_t capacity, const char** names) {
  const auto supported = kiln::test::Supported();
  const auto count = static_cast<int32_t>(supported.size());
  for (int32_t i = 0; i < count && i < capacity; ++i)
    names[i] = hwy::TargetName(supported[static_cast<size_t>(i)]);
  return count;
}

void kiln_linked_use_target(int32_t target) {
  const auto supported = kiln::test::Supported();
  kiln::test::Use(target < 0 ? 0 : supported.at(static_cast<size_t>(target)));
}
