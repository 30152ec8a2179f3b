#pragma once

#include <string>

#include "generator/plan/plan.h"

namespace kiln {

/// Whether it is evaluated only when something else says so.
bool IsLazy(const Element& e);

/// Whether computing the element again for every vector costs more than a register.
bool IsCostly(const Element& e);

/// Or what it is made of, if that is much: what memory holds of a step has to be read again each
/// time.
bool IsWorthAName(const ElementPtr& e);

/// The name of an element that gets one in front of a nest, before it is told from others.
std::string NameOf(const Element& value);

/// One element of `offsets` is an offset.
std::string Singular(const std::string& array);

}  // namespace kiln
