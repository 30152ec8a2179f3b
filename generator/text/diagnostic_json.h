#pragma once

#include <nlohmann/json_fwd.hpp>

#include "generator/text/diagnostic.h"

namespace kiln {

/// What RenderJson spells. Without a source, what has none of its own has no path and no place.
nlohmann::ordered_json DiagnosticsJson(const Diagnostics& diagnostics, const Source* source);

}  // namespace kiln
