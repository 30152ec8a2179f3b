#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "generator/bind/bind.h"
#include "tests/random/make/maker.h"

/// What random specs use of the language. The entries come from the program's own tables, so that a
/// key, a function or an operation which nobody generates shows.
namespace kiln::soak {

/// Everything that is to be used: "key operand.pad", "function exp", "op shl", "statement for".
const std::vector<std::string>& Entries();

/// The entries that a spec uses; those of its kernel and of a call, too.
std::set<std::string> EntriesOf(const Spec& spec, const Binding& binding);

/// What the spec of this number is to use: all entries in turn, a few at a time. So every entry is
/// asked for as often as any other, and a spec depends on nothing but its number.
Focus FocusOf(uint64_t number);

/// Which entries specs have used, and how often.
using Coverage = std::map<std::string, int64_t>;

/// A line for each entry, the least used first; the last line says how many have fewer than `goal`.
std::string CoverageReport(const Coverage& coverage, int64_t goal);

}  // namespace kiln::soak
