// A kernel to try statements in.
#pragma once

#include <memory>
#include <string>

#include "generator/check/check_spec.h"
#include "generator/ir/kernel.h"

namespace kiln::elaborate_test {

inline constexpr const char* kHead = R"(kernel: probe
params: {T: bf16, b: 8, scale: 0.5, flag: false}
grid:
  i: cdiv(m, b)
  l: 4
prefetch:
  ids: i32[count]
scalars: {offset: i32}
inputs:
  x: {array: "f32[m, n]", block: "b, 16", index: "i, 0", pad: 0}
  h: {array: "T[m, n]", block: "b, 16", index: "i, 0", pad: 0}
  q: {array: "i8[m, n]", block: "b, 16", index: "i, 0", pad: 0}
  u: {array: "u32[m]", block: b, index: i, pad: 0}
  mask: {array: "bool[m, n]", block: "b, 16", index: "i, 0", pad: false}
  w: {array: "f64[m, n]", block: "b, 16", index: "i, 0", pad: 0}
outputs:
  o: {array: "f32[m, n]", block: "b, 16", index: "i, 0"}
body: |
)";

inline std::unique_ptr<Kernel> CheckBody(const std::string& body, std::string& messages) {
  auto source = std::make_shared<const Source>("-", kHead + body);
  Diagnostics diagnostics;
  auto spec = ParseSpec(source, diagnostics);
  std::unique_ptr<Kernel> kernel;
  if (spec) kernel = CheckSpec(*spec, {}, diagnostics);
  messages = Render(diagnostics, *source);
  return kernel;
}

/// "error[type]: …", the first diagnostic without its place.
inline std::string Refused(const std::string& body) {
  std::string messages;
  if (CheckBody(body, messages)) return "accepted";
  const size_t begin = messages.find("error[");
  return messages.substr(begin, messages.find('\n', begin) - begin);
}

}  // namespace kiln::elaborate_test
