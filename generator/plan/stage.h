#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "generator/plan/element.h"
#include "generator/plan/windows.h"

/// Statements of a plan: a struct for each kind, what all kinds have in common, and the one list of
/// what each is made of (`ForEachPart`), from which walks and rewriters are made. `Match` requires
/// a case for every kind, so that a new one is a list of compile errors.
namespace kiln {

struct Stage;
using Stages = std::vector<Stage>;

enum class Side { kA, kB };

/// What a loop by vectors takes at a time.
enum class Vectors {
  kFloats,   // lanes of 32 bits
  kDoubles,  // lanes of 64 bits, of which a vector holds half as many
  kEvenOdd,  // a line of twice as many bf16: its even lanes, and then its odd ones
};

/// What a dot reads: panels of an operand as its copy made them, or panels packed from a buffer.
struct PanelSource {
  RefId ref;        // an operand held as panels
  PanelsId panels;  // else
  bool transposed = false;
  std::vector<ElementPtr> matrix;  // which one of an operand that is a stack of them
};

/// What is requested from memory long before it is read.
struct Prefetch {
  enum class Kind {
    kElement,    // the place, as a tile begins
    kStream,     // lanes further along those that a pass reads, if its result bypasses the caches
    kNextRow,    // of the next row of a loop, in a pass over this one: its share
    kRowsAhead,  // the same lanes some rows further on, of an operand that is computed
    kRowsToAdd,  // the same lanes of the rows that are added up after these
    kAcross,     // of the rows that lanes have one each of, what is read some vectors later
  };
  Kind kind = Kind::kElement;
  Place place;
  LoopId row;                       // the loop over rows; kStream: or none; kAcross: along them
  int from = 0, to = 1, parts = 1;  // kNextRow: the share
  bool far = false;                 // kNextRow: of an array from memory alone
  bool by_turns = false;            // kStream: other parts of the row are read in between; with
                                    // `row`: of a piece of a row, as others are far from it
};

/// What a pass over a row makes of all its lanes: variable = op over them of value.
struct Fold {
  Span span;
  VariableId variable;
  Op op = Op::kSum;
  ElementPtr value;
};

namespace stage {

struct Loop {
  LoopId loop;
  Stages body;
};

/// Asks for a row of a block that is chosen like the one of `row`, by an element that is some
/// behind `by`; if the block is in memory. `chosen` may be undefined there.
struct Request {
  Place row;
  LoopId lanes;  // along the row
  VariableId chosen;
  Place by;
};

/// A loop by vectors.
struct Lanes {
  LoopId loop;
  std::vector<Prefetch> prefetches;
  Stages body;
  Vectors by = Vectors::kFloats;
  std::vector<BufferId> streamed = {};  // the outputs that it only writes, past the caches
  std::vector<Place> rows = {};         // whose beginnings have names in front of it
};

/// A loop over rows, some at a time: in its body, `EachRow` is the loop over those.
struct Rows {
  LoopId loop;
  Stages body;
  bool as_lanes = false;            // as many as a vector has lanes
  std::vector<LoopId> others = {};  // those behind the one of `loop`, if the body names each
  // Then: each of the rows that are left over, if some may be. `again`: the last turn rather takes
  // rows that have had theirs, too, and rows are left over where there are too few of them.
  Stages rest = {};
  bool again = false;
  // Those of two loops, `loop` and the one in `others`, in any order: that of an input, of which
  // this is an element, if that is in memory.
  std::vector<Place> in_order_of = {};
};
struct EachRow {
  LoopId loop;
  Stages body;
  std::vector<Place> columns = {};  // in rows that lanes have one each of: transposed all at once
};

/// The loop in `body`, by parts: of rows whose windows are inside the array of a block that lies
/// beyond its edges, which read it where it is, and of others, which read the copy. Each dimension
/// that may be outside has a window in `around`, as the loops around say, or in `along`.
struct AtEdges {
  BufferId of;
  std::vector<EdgeWindow> around;
  EdgeWindow along;
  Stages body;
};

struct Define {
  VariableId variable;
  ElementPtr value;
  bool held = false;      // a load that is not made again for each use
  bool in_order = false;  // then: no load behind it is made before it
};

/// variable = value again.
struct Assign {
  VariableId variable;
  ElementPtr value;
};

/// place = value, where mask.
struct Store {
  Place place;
  ElementPtr value;
  ElementPtr mask;                   // null: everywhere
  std::vector<ElementPtr> row = {};  // of lanes that are rows: what the elements behind it become
};

/// A pass over a row whose lanes are folded: once, or several times (`one-pass`). All values come
/// after `body`.
struct Reduce {
  LoopId loop;
  std::vector<Fold> folds;
  std::vector<Prefetch> prefetches;
  Stages body;
  Vectors by = Vectors::kFloats;
};

/// Adds a window of A, read where it is, and what it is multiplied with to the taps of the dot
/// around it.
struct Tap {
  Place place;               // over `rows`, outermost first, and `depth`
  std::vector<LoopId> rows;  // all of them are the rows of the dot
  LoopId depth;
  PanelSource b;
};

/// For each tile of (row, col) loops: sum = start + dot(a, b); then `body`, a lane loop's
/// statements.
struct Dot {
  PanelSource a, b;
  /// In place of a and b: what adds the taps over which the dot adds up, and how many there are.
  Stages taps;
  int64_t tap_count = 0;
  PanelsId gathered;  // rows of their windows, where tiles do not read them in place
  LoopId row, col;
  SpaceId depth;
  DType element = DType::kF32;
  VariableId sum;
  ElementPtr low, high;  // bound the rows, if given
  ElementPtr start;      // null: 0
  std::vector<Prefetch> prefetches;
  Stages body;
  /// The sums add up over the steps of a reduction, from 0 in the first: in the accumulators, where
  /// `prefetches` and `body` are for the last step alone, or in rows.
  bool across_steps = false;
  /// Tiles start from, and leave, the sums where `body` does nothing but store them.
  bool in_rows = false;
  BufferId streamed;  // the output that `body` only writes, past the caches; or none
};

/// Whether tiles read a matrix where it is, unpacked. kIfSmall: only a call knows its sizes.
enum class InPlace { kNever, kIfSmall, kAlways };

/// panels = the matrix at `place`, whose coordinates run over rows and columns of the matrix as
/// multiplied; or the matrix of `value`, which comes after `body` in a loop by lanes of columns.
struct Pack {
  PanelsId panels;
  Place place;
  LoopId row, col;
  Stages body;
  // Of a B that few rows of A need not have packed, or an A that few columns of B need not: these.
  SpaceId others;
  ElementPtr value;         // null: `place` has the elements
  bool by_columns = false;  // then: vectors of it are parts of columns, not of rows
  // Then, if it is scaled (plan/scaled.h): few rows of A multiply what is stored, and scale their
  // sums. They are those of the call where Direct chooses how many a step has.
  bool scaled = false;
  std::optional<Size> rows_of_call;
  std::vector<Prefetch> prefetches;
  ElementPtr low, high;  // bound the depth that is packed, if given
  PanelsId live;         // then: the panels of A that name it
  InPlace in_place = InPlace::kNever;
};

/// to = op of the elements of `from` along an axis, one call for each: running sums, elements in
/// order, their positions.
struct Along {
  Op op = Op::kSort;
  bool descending = false, streamed = false;  // past the caches
  LoopId loop, into;  // over those of `from`, and of `to`; none: there is one
  LoopId lines = {};  // over lines side by side, all of them in one call
  Place from, to;
  std::optional<Place> room;  // where elements are put in order
};

struct If {
  ElementPtr condition;
  Stages body, orelse;
};

/// variable from low to high.
struct For {
  VariableId variable;
  ElementPtr low, high;
  Stages body;
};

/// Before each turn: `before`, and out of the loop unless the condition holds; with the number of
/// the turn in `turn`, fails in one that is more than `most`.
struct While {
  VariableId turn;
  Stages before;  // what the condition is made of
  ElementPtr condition;
  ElementPtr most;  // null: as many as the engine allows
  Stages body;
};

struct Assert {
  ElementPtr condition;
  std::string message;
};

/// Fails unless 0 <= start <= extent - size.
struct Range {
  std::string of;  // what is subscripted, for the message
  ElementPtr start, size, extent;
};

/// Fails where a copy in flight has to do with the window.
struct Touch {
  CopyWindow window;
  bool writes = false;
  BufferId seen_as = {};                 // what reads or sets it, wherever Direct has it
  std::optional<CopyWindow> ahead = {};  // where a copy is going to move what is set
};

struct Copy {
  CopyWindow from, to;
  SemaphoreSlot on;
};

struct Wait {
  SemaphoreSlot on;
  std::optional<CopyWindow> window;  // until so many bytes have arrived; none: the oldest copy
  std::vector<BufferId> touched;     // by copies on its semaphore
};

}  // namespace stage

struct Stage {
  using Kind = std::variant<stage::Loop, stage::Lanes, stage::Rows, stage::EachRow, stage::AtEdges,
                            stage::Define, stage::Assign, stage::Store, stage::Reduce, stage::Dot,
                            stage::Tap, stage::Pack, stage::Along, stage::Request, stage::If,
                            stage::For, stage::While, stage::Assert, stage::Range, stage::Touch,
                            stage::Copy, stage::Wait>;
  Span span;
  Kind what;
};

/// The stage as one of a kind; null: it is of another.
template <typename Kind>
const Kind* As(const Stage& stage) {
  return std::get_if<Kind>(&stage.what);
}
template <typename Kind>
Kind* As(Stage& stage) {
  return std::get_if<Kind>(&stage.what);
}

/// Whether the stage is of one of the kinds.
template <typename... Kinds>
bool Is(const Stage& stage) {
  return (std::holds_alternative<Kinds>(stage.what) || ...);
}

template <typename... Cases>
decltype(auto) Match(const Stage& stage, Cases&&... cases) {
  return MatchKind(stage.what, std::forward<Cases>(cases)...);
}
template <typename... Cases>
decltype(auto) Match(Stage& stage, Cases&&... cases) {
  return MatchKind(stage.what, std::forward<Cases>(cases)...);
}

/// What a stage does with a place of its own.
enum class Access {
  kReads,
  kWrites,
  kNames,  // only to see whether it may
};

/// Calls `use` with each part of the stage, in the order in which they are evaluated: an
/// `ElementPtr` (perhaps null), a `Place` with its `Access`, a `Prefetch`, the `LoopId` of a loop
/// that it is (or that a tap is over), `PanelsId`s that it packs or reads, a `BufferId` of which it
/// writes nobody knows what, and lists of `Stages`. Variables are not among them: few walks ask for
/// those, and each of them for another reason.
template <typename Of, typename Use>
void ForEachPart(Of& of, const Use& use) requires std::same_as<std::remove_const_t<Of>, Stage> {
  using namespace stage;
  const auto all = [&](auto& list) {
    for (auto& part : list) use(part);
  };
  const auto counts = [&](auto& window) {
    for (auto& dimension : window.dimensions) use(dimension.count);
  };
  MatchKind(
      of.what, [&](ConstLike<Of, stage::Loop>& s) { use(s.loop), use(s.body); },
      [&](ConstLike<Of, Lanes>& s) {
        use(s.loop);
        for (auto& row : s.rows) use(row, Access::kNames);
        all(s.prefetches), use(s.body);
      },
      [&](ConstLike<Of, Rows>& s) {
        use(s.loop), all(s.others);
        for (auto& place : s.in_order_of) use(place, Access::kNames);
        use(s.body), use(s.rest);
      },
      [&](ConstLike<Of, EachRow>& s) {
        use(s.loop);
        for (auto& column : s.columns) use(column, Access::kNames);
        use(s.body);
      },
      [&](ConstLike<Of, AtEdges>& s) { use(s.body); },
      [&](ConstLike<Of, Define>& s) { use(s.value); },
      [&](ConstLike<Of, Assign>& s) { use(s.value); },
      [&](ConstLike<Of, Store>& s) {
        use(s.value), use(s.mask), all(s.row), use(s.place, Access::kWrites);
      },
      [&](ConstLike<Of, Reduce>& s) {
        use(s.loop);
        for (auto& fold : s.folds) use(fold.value);
        all(s.prefetches), use(s.body);
      },
      [&](ConstLike<Of, Dot>& s) {
        use(s.low), use(s.high), use(s.taps), all(s.a.matrix), all(s.b.matrix);
        use(s.row), use(s.col), use(s.a.panels), use(s.b.panels), use(s.gathered);
        use(s.start), all(s.prefetches), use(s.body);
      },
      [&](ConstLike<Of, Tap>& s) {
        all(s.rows), use(s.depth), use(s.place, Access::kReads);
        all(s.b.matrix), use(s.b.panels);
      },
      [&](ConstLike<Of, Pack>& s) {
        use(s.low), use(s.high), use(s.row), use(s.col);
        if (s.value)
          all(s.prefetches), use(s.body), use(s.value);
        else
          use(s.place, Access::kReads);
        use(s.panels), use(s.live);
      },
      [&](ConstLike<Of, Along>& s) {
        use(s.loop), use(s.into), use(s.lines), use(s.from, Access::kReads);
        if (s.room) use(*s.room, Access::kWrites);
        use(s.to, Access::kWrites);
      },
      [&](ConstLike<Of, Request>& s) { use(s.row, Access::kNames), use(s.by, Access::kNames); },
      [&](ConstLike<Of, If>& s) { use(s.condition), use(s.body), use(s.orelse); },
      [&](ConstLike<Of, For>& s) { use(s.low), use(s.high), use(s.body); },
      [&](ConstLike<Of, While>& s) { use(s.most), use(s.before), use(s.condition), use(s.body); },
      [&](ConstLike<Of, Assert>& s) { use(s.condition); },
      [&](ConstLike<Of, Range>& s) { use(s.start), use(s.size), use(s.extent); },
      [&](ConstLike<Of, Touch>& s) {
        use(s.window.begin, Access::kNames), counts(s.window);
        if (s.ahead) use(s.ahead->begin, Access::kNames), counts(*s.ahead);
      },
      [&](ConstLike<Of, Copy>& s) {
        all(s.on.at), use(s.from.begin, Access::kReads), use(s.to.begin, Access::kWrites);
        counts(s.from), counts(s.to);
      },
      [&](ConstLike<Of, Wait>& s) {
        all(s.on.at);
        if (s.window) use(s.window->begin, Access::kNames), counts(*s.window);
        all(s.touched);
      });
}

}  // namespace kiln
