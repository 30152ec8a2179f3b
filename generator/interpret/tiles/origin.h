#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "generator/text/source.h"

namespace kiln::interpret {

/// Where an undefined value came from: an entry of the table below. 0 means defined.
using OriginId = uint32_t;
inline constexpr OriginId kDefined = 0;

struct Origin {
  enum class Kind {
    kStay,      // an output block at the start of its stay
    kScratch,   // scratch since the parallel coordinates changed
    kEdge,      // past the array's last element (or a bounded block's extent), without pad
    kHalo,      // before the array's first element, without pad
    kUncopied,  // an output in HBM that no copy has written
    kDivision,  // x // 0 and its like
    kPower,     // an integer to a negative power
    kEmpty,     // the position of the largest of no elements
  };
  Kind kind = Kind::kStay;
  int ref = -1;
  int dimension = -1;        // kEdge, kHalo
  int64_t step = -1;         // kStay, kScratch
  Span span;                 // kDivision, kPower, kEmpty
  bool reduced = false;      // passed through a reduction or contraction …
  Span reduced_at;           // … first here
  int64_t stored_step = -1;  // of the store to an output that put it there; -1: not stored
  Span stored_at;
};

class Origins {
 public:
  Origins() { table_.emplace_back(); }

  OriginId Add(const Origin& origin);
  /// The one entry of an array's edge, or of an operation.
  OriginId Edge(Origin::Kind kind, int ref, int dimension);
  OriginId Operation(Origin::Kind kind, Span span);
  /// The same origin after a reduction, or after a store to an output.
  OriginId Reduced(OriginId id, Span span);
  OriginId Stored(OriginId id, Span span, int64_t step);

  const Origin& operator[](OriginId id) const { return table_[id]; }

 private:
  using Key = std::tuple<int, int64_t, int64_t, int64_t>;
  OriginId Intern(const Key& key, const Origin& origin);

  std::vector<Origin> table_;
  std::map<Key, OriginId> known_;
  // The last answer: a tile's elements mostly ask the same.
  OriginId last_stored_of_ = kDefined, last_stored_ = kDefined;
};

}  // namespace kiln::interpret
