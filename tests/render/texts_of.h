#pragma once

#include <memory>
#include <string>

#include "generator/check/check_spec.h"
#include "generator/generate/generate.h"
#include "tests/catch.h"

namespace kiln::render {

/// What is generated of a spec without mistakes, whose file is called so in the text.
inline Generated TextsOf(const std::string& spec_text, const std::string& file) {
  Diagnostics found;
  const auto source = std::make_shared<const Source>("noted.yaml", spec_text);
  const auto spec = ParseSpec(source, found);
  const auto kernel = spec ? CheckSpec(*spec, {}, found) : nullptr;
  INFO(kiln::Render(found, *source));
  REQUIRE(kernel);
  Generated texts;
  REQUIRE(Generate(*kernel, file, found, &texts));
  return texts;
}

}  // namespace kiln::render
