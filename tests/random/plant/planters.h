#pragma once

#include "tests/random/plant/plant.h"

/// What planters share: where a draft has a place for a fault.
namespace kiln::soak {

/// In the order of `Planters`.
std::vector<Planter> IndexPlanters();
std::vector<Planter> OrderPlanters();
std::vector<Planter> ValuePlanters();
std::vector<Planter> MemoryPlanters();
std::vector<Planter> TextPlanters();

/// Null: there is none of that name.
Key* FindKey(std::vector<Key>& keys, const std::string& name);

/// At the commas outside of brackets.
std::vector<std::string> Split(const std::string& text);

/// An operand's dimension, and the axis that walks it.
struct Place {
  size_t operand = 0, dimension = 0, axis = 0;
};

/// Of an axis in the draft's call; 0: there is none of that name.
int64_t StepsOf(const Case& of, const std::string& axis);

/// Where an operand's index is just an axis of so many steps at least, that walks its dimension.
std::vector<Place> Walks(const Draft& draft, const Case& of, bool output, int64_t least);

/// Gives the dimension of that place another index.
void SetIndex(Draft& draft, const Place& place, const std::string& text);

/// An output of which every step stores its own element: what faults are to reach. False where the
/// grid's steps are not known to shapes.
bool AddWitness(Draft& draft, const std::string& dtype, const Statement& store);

}  // namespace kiln::soak
