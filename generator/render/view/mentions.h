#pragma once

#include <string_view>
#include <vector>

#include "generator/render/template/template.h"

namespace kiln::render {

/// Whether a text has the word, outside of comments and string literals.
bool Mentions(std::string_view text, std::string_view word);
/// Whether any of the texts does that a template may make of the fields.
bool Mentions(const Fields& fields, std::string_view word);
bool Mentions(const std::vector<Fields>& list, std::string_view word);

}  // namespace kiln::render
