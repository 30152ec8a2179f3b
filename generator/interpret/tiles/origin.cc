#include "generator/interpret/tiles/origin.h"

namespace kiln::interpret {
namespace {

// First parts of the keys; the kinds of origins have the numbers below.
constexpr int kReducedKey = 100;
constexpr int kStoredKey = 101;

}  // namespace

OriginId Origins::Add(const Origin& origin) {
  table_.push_back(origin);
  return static_cast<OriginId>(table_.size() - 1);
}

OriginId Origins::Intern(const Key& key, const Origin& origin) {
  const auto [entry, added] = known_.try_emplace(key, kDefined);
  if (added) entry->second = Add(origin);
  return entry->second;
}

OriginId Origins::Edge(Origin::Kind kind, int ref, int dimension) {
  Origin origin;
  origin.kind = kind;
  origin.ref = ref;
  origin.dimension = dimension;
  return Intern({static_cast<int>(kind), ref, dimension, 0}, origin);
}

OriginId Origins::Operation(Origin::Kind kind, Span span) {
  Origin origin;
  origin.kind = kind;
  origin.span = span;
  return Intern({static_cast<int>(kind), span.begin, span.end, 0}, origin);
}

OriginId Origins::Reduced(OriginId id, Span span) {
  Origin origin = table_[id];
  if (origin.reduced) return id;
  origin.reduced = true;
  origin.reduced_at = span;
  return Intern({kReducedKey, id, span.begin, span.end}, origin);
}

OriginId Origins::Stored(OriginId id, Span span, int64_t step) {
  const Origin& last = table_[last_stored_];
  const bool same =
      id == last_stored_of_ && last.stored_step == step && last.stored_at.begin == span.begin;
  if (same) return last_stored_;
  Origin origin = table_[id];
  origin.stored_at = span;
  origin.stored_step = step;
  last_stored_of_ = id;
  last_stored_ = Intern({kStoredKey, id, span.begin, step}, origin);
  return last_stored_;
}

}  // namespace kiln::interpret
