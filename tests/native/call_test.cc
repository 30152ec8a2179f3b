// Loading a kernel's library and calling it. The kernel's text is written by hand, so that what is
// tested is the way to it.
#include "generator/native/call.h"

#include <cmath>
#include <filesystem>

#include "generator/check/check_spec.h"
#include "tests/catch.h"
#include "tests/cli/tool.h"

namespace kiln {
namespace {

constexpr const char* kSpec = R"(kernel: scaled
scalars: {by: i32}
inputs:
  x: f32[m, n]
outputs:
  o: f32[m, n]
  count: i8[m]
body: |
  o = x * f32(by)
  count = i8(1)
)";

/// Adds one to each element in place, if it is in place.
constexpr const char* kRaised = R"(
kernel: raised
inputs: {x: "f32[n]"}
outputs: {o: {array: "f32[n]", alias: x}}
body: o = x + 1
)";

constexpr const char* kRaisedText = R"(
#include "raised.h"
#include <cstring>
#include "kiln/c.h"

extern "C" int32_t kiln_raised(const DLTensor* x, const DLTensor* o, kiln_context*,
                               kiln_status* status) {
  if (x->data != o->data) {
    status->code = 1;
    std::strcpy(status->message, "out of place");
    return 1;
  }
  for (int64_t i = 0; i < x->shape[0]; ++i) static_cast<float*>(o->data)[i] += 1;
  return 0;
}
)";

constexpr const char* kText = R"(
#include "scaled.h"
#include <cstring>
#include "kiln/c.h"

extern "C" int32_t kiln_scaled(int32_t by, const DLTensor* x, const DLTensor* o,
                               const DLTensor* count, kiln_context*, kiln_status* status) {
  if (by < 0) {
    status->code = 1;
    std::strcpy(status->message, "scaled: requires by >= 0");
    return 1;
  }
  // The last element stays as it was.
  for (int64_t i = 0; i + 1 < x->shape[0] * x->shape[1]; ++i) {
    static_cast<float*>(o->data)[i] = static_cast<const float*>(x->data)[i] * kOne * by;
  }
  (void)count;
  return 0;
}
)";

struct Call {
  std::unique_ptr<Kernel> kernel;
  Inputs inputs;
  std::optional<Binding> binding;

  explicit Call(int64_t by) {
    inputs.arrays["x"] = RandomArray(DType::kF32, {3, 2}, 1);
    inputs.dims["by"] = by;
    Prepare("scaled.yaml", kSpec);
  }
  Call(const std::string& file, const char* text, Array x) {
    inputs.arrays["x"] = std::move(x);
    Prepare(file, text);
  }

  void Prepare(const std::string& file, const char* text) {
    Diagnostics found;
    const auto source = std::make_shared<const Source>(file, text);
    const auto spec = ParseSpec(source, found);
    if (spec) kernel = CheckSpec(*spec, {}, found);
    INFO(Render(found, *source));
    REQUIRE(kernel);
    binding = Bind(*kernel, inputs, /*partial=*/false, found);
    INFO(Render(found, *source));
    REQUIRE(binding);
  }
};

TEST_CASE("a kernel is compiled, loaded, called, and found again") {
  const test::Folder cache;
  CompileOptions options;
  options.folder = cache.path().string();
  std::string why;
  const auto tools = FindToolchain(&why);
  REQUIRE(tools);
  const Call call(3);
  Compiled compiled;
  const auto load = [&] {
    LoadedKernel loaded = LoadKernel(*call.kernel, {"constexpr float kOne = 1;\n", kText}, *tools,
                                     options, &compiled);
    INFO(compiled.error << "\n" << compiled.log);
    REQUIRE(loaded);
    return loaded;
  };
  {
    const LoadedKernel loaded = load();
    CHECK(!compiled.cached);
    const CallResult result = loaded.Call(*call.binding, call.inputs.arrays, {});
    CHECK(result.code == 0);
    CHECK(std::isfinite(result.seconds));
    const Array& x = call.inputs.arrays.at("x");
    const Array& o = result.outputs.at("o");
    CHECK(o.shape == x.shape);
    for (int64_t i = 0; i < 5; ++i) CHECK(o.GetFloat(i) == RoundTo(3 * x.GetFloat(i), DType::kF32));
    CHECK(std::isnan(o.GetFloat(5)));
    CHECK(result.outputs.at("count").GetInt(0) == 127);
  }
  {
    const Call negative(-1);
    const CallResult refused = load().Call(*negative.binding, negative.inputs.arrays, {});
    CHECK(compiled.cached);
    CHECK(refused.code == 1);
    CHECK(refused.rule == "call");
    CHECK(refused.message == "scaled: requires by >= 0");
  }

  // As a full disk would leave it. In another place, since this one may still be mapped.
  const test::Folder copy;
  namespace fs = std::filesystem;
  const fs::path damaged = copy.path() / fs::relative(compiled.library, cache.path());
  fs::create_directories(damaged.parent_path());
  test::WriteText(damaged, "");
  options.folder = copy.path().string();
  CHECK(load().Call(*call.binding, call.inputs.arrays, {}).code == 0);
  CHECK(compiled.library == damaged);
  CHECK(!compiled.cached);
}

TEST_CASE("calls in place have the same input each time, however many there are") {
  const test::Folder cache;
  CompileOptions options;
  options.folder = cache.path().string();
  std::string why;
  const auto tools = FindToolchain(&why);
  REQUIRE(tools);
  const Call call("raised.yaml", kRaised, RandomArray(DType::kF32, {5}, 1));
  Compiled compiled;
  const LoadedKernel loaded =
      LoadKernel(*call.kernel, {"", kRaisedText}, *tools, options, &compiled);
  INFO(compiled.error << "\n" << compiled.log);
  REQUIRE(loaded);
  CallOptions how;
  CHECK(loaded.Call(*call.binding, call.inputs.arrays, how).message == "out of place");
  how.in_place = true;
  how.repeat = 3;
  const CallResult result = loaded.Call(*call.binding, call.inputs.arrays, how);
  CHECK(result.code == 0);
  const Array& x = call.inputs.arrays.at("x");
  for (int64_t i = 0; i < 5; ++i)
    CHECK(result.outputs.at("o").GetFloat(i) == RoundTo(x.GetFloat(i) + 1, DType::kF32));
}

}  // namespace
}  // namespace kiln
