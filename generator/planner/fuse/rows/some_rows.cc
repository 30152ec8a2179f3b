#include "generator/planner/fuse/rows/some_rows.h"

#include <algorithm>
#include <utility>

#include "generator/plan/walk.h"
#include "generator/planner/fuse/rows/shared_windows.h"

namespace kiln {
namespace {

std::vector<LoopId> LoopsOf(const std::vector<std::vector<LaterRow>>& rows) {
  std::vector<LoopId> loops;
  for (const std::vector<LaterRow>& row : rows) {
    for (const LaterRow& later : row) {
      if (std::find(loops.begin(), loops.end(), later.of) == loops.end()) loops.push_back(later.of);
    }
  }
  return loops;
}

}  // namespace

OwnOfRows::OwnOfRows(std::vector<LoopId> rows, const Stages& stages) : rows_(std::move(rows)) {
  ForEachStage(stages, [&](const Stage& s) {
    if (const auto* assign = As<stage::Assign>(s)) variables_.insert(assign->variable);
  });
  ForEachStage(stages, [&](const Stage& s) {
    const auto* define = As<stage::Define>(s);
    if (define && Has(define->value)) variables_.insert(define->variable);
  });
}

bool OwnOfRows::Has(const ElementPtr& e) const {
  if (!e) return false;
  bool has =
      std::any_of(rows_.begin(), rows_.end(), [&](LoopId row) { return DependsOn(*e, row); });
  ForEachElement(e, [&](const Element& x) {
    const auto* named = As<element::Named>(x);
    has = has || (named && variables_.count(named->variable));
  });
  return has;
}

bool OwnOfRows::Has(const Stage& stage) const {
  const auto* define = As<stage::Define>(stage);
  return !define || variables_.count(define->variable);
}

SomeRows::SomeRows(Plan& plan, const Stages& stages, std::vector<std::vector<LaterRow>> later)
    : plan_(plan), own_(LoopsOf(later), stages) {
  for (std::vector<LaterRow>& row : later) others_.push_back({std::move(row), {}});
}

Stages SomeRows::Of(const Stages& stages) {
  Stages all;
  for (size_t at = 0; at < stages.size();) {
    if (const auto* loop = As<stage::For>(stages[at])) {
      stage::For together = *loop;
      together.body = Of(loop->body);
      all.push_back({stages[at++].span, std::move(together)});
      continue;
    }
    size_t end = at;
    while (end < stages.size() && !Is<stage::For>(stages[end])) ++end;
    const Stages run(stages.begin() + static_cast<std::ptrdiff_t>(at),
                     stages.begin() + static_cast<std::ptrdiff_t>(end));
    const auto behind = StatementsBehind(run);
    Append(all, ReadOnce(behind ? Skewed(run, *behind) : OneByOne(run)));
    at = end;
  }
  return all;
}

std::vector<Prefetch> SomeRows::ReadFirst(const Stages& stages) const {
  std::map<BufferId, Place> last;  // of each input
  const auto offset = [](const Coordinate& c) {
    const auto* constant = c.offset ? As<element::Constant>(c.offset) : nullptr;
    return constant ? constant->int_value : 0;
  };
  ForEachPlace(stages, [&](const Place& place, bool writes) {
    const Ref* ref = plan_.RefOf(place.buffer);
    const bool is_seen_once =
        std::all_of(place.at.begin(), place.at.end(), [](const Coordinate& c) {
          return c.stride == 1 && (!c.offset || Is<element::Constant>(*c.offset));
        });
    if (writes || !ref || ref->role != Role::kInput || IsPacked(ref->dtype) || !is_seen_once ||
        !own_.Has(LoadOf(place, ref->dtype)))
      return;
    Place& known = last.try_emplace(place.buffer, place).first->second;
    const bool is_later = std::lexicographical_compare(
        known.at.begin(), known.at.end(), place.at.begin(), place.at.end(),
        [&](const Coordinate& a, const Coordinate& b) { return offset(a) < offset(b); });
    if (is_later) known = place;
  });
  std::vector<Prefetch> prefetches;
  for (const auto& [buffer, place] : last) {
    const auto add = [&](Place of_row) {
      Prefetch& prefetch = prefetches.emplace_back();
      prefetch.kind = Prefetch::Kind::kStream;
      prefetch.place = std::move(of_row);
      prefetch.by_turns = true;
    };
    add(place);
    for (const Other& other : others_) {
      Place of_row = place;
      for (const LaterRow& later : other.later) RenameLoop(of_row, later.of, later.loop);
      add(std::move(of_row));
    }
  }
  return prefetches;
}

std::vector<Place> SomeRows::Beginnings(const stage::Lanes& lanes) const {
  std::vector<Place> rows;
  ForEachPlace(lanes.body, [&](const Place& place, bool) {
    const Buffer& buffer = plan_[place.buffer];
    if (place.at.empty() || buffer.dropped.back() || IsPacked(buffer.dtype)) return;
    Place row = OfFirstRow(place);
    const bool is_known = std::all_of(row.at.begin(), row.at.end(), [](const Coordinate& c) {
      return !c.around && (!c.offset || Is<element::Constant>(*c.offset));
    });
    const Coordinate& last = place.at.back();
    const bool is_own = own_.Has(LoadOf(row, DType::kF32));
    if (!is_known || !is_own || last.loop != lanes.loop || last.stride != 1) return;
    row = place;
    row.at.back() = {};
    const bool is_new =
        std::none_of(rows.begin(), rows.end(), [&](const Place& p) { return SamePlace(p, row); });
    if (is_new) rows.push_back(std::move(row));
  });
  return rows;
}

/// How many statements each row is to be behind the first, so that rows that share a window read
/// the same element one after the other; nothing: they share none.
std::optional<std::vector<size_t>> SomeRows::StatementsBehind(const Stages& run) const {
  std::vector<std::pair<size_t, Place>> reads;  // by the number of the statement
  for (size_t k = 0; k < run.size(); ++k) {
    ForEachPlace(run[k], [&](const Place& place, bool writes) {
      if (!writes && own_.Has(LoadOf(place, DType::kF32))) reads.emplace_back(k, place);
    });
  }
  bool shares = false;
  std::vector<size_t> all;
  for (const Other& other : others_) {
    std::optional<size_t> found;
    for (const auto& [at, place] : reads) {
      Place seen = place;
      for (const LaterRow& later : other.later)
        seen = BehindBy(std::move(seen), later.of, later.behind);
      for (const auto& [first, same] : reads) {
        if (!found && first > at && SamePlace(same, seen)) found = first - at;
      }
    }
    shares = shares || found;
    all.push_back(found.value_or((all.empty() ? 0 : all.back()) + 1));
  }
  return shares ? std::optional(all) : std::nullopt;
}

Stages SomeRows::OneByOne(const Stages& run) {
  Stages all;
  for (const Stage& stage : run) {
    all.push_back(stage);
    if (!own_.Has(stage)) continue;
    for (Other& other : others_) all.push_back(InOther(other, stage));
  }
  return all;
}

Stages SomeRows::Skewed(const Stages& run, const std::vector<size_t>& behind) {
  Stages all;
  const size_t most = *std::max_element(behind.begin(), behind.end());
  for (size_t turn = 0; turn < run.size() + most; ++turn) {
    if (turn < run.size()) all.push_back(run[turn]);
    for (size_t k = 0; k < others_.size(); ++k) {
      const size_t at = turn - behind[k];
      if (behind[k] <= turn && at < run.size() && own_.Has(run[at]))
        all.push_back(InOther(others_[k], run[at]));
    }
  }
  return all;
}

Stage SomeRows::InOther(Other& other, Stage stage) {
  for (const LaterRow& later : other.later) RenameLoop(stage, later.of, later.loop);
  if (auto* define = As<stage::Define>(stage)) {
    const Variable copy = plan_[define->variable];
    define->variable = other.variables[define->variable] = plan_.variables.Add(copy);
  }
  if (auto* assign = As<stage::Assign>(stage))
    assign->variable = other.variables.at(assign->variable);
  ChangeElements(stage, [&](const ElementPtr& e) -> ElementPtr {
    const auto* named = As<element::Named>(e);
    const auto found = named ? other.variables.find(named->variable) : other.variables.end();
    return found == other.variables.end() ? nullptr : NamedElement(plan_, found->second);
  });
  return stage;
}

/// What several statements read gets a name, and a register: compilers would read it from memory
/// for each of them.
Stages SomeRows::ReadOnce(const Stages& run) {
  struct Read {
    Place place;
    int times = 0;
    VariableId name;
  };
  std::vector<Read> reads;
  const auto find = [&](const Place& place) {
    return std::find_if(reads.begin(), reads.end(),
                        [&](const Read& read) { return SamePlace(read.place, OfFirstRow(place)); });
  };
  for (const Stage& s : run) {
    ForEachPlace(s, [&](const Place& place, bool writes) {
      if (writes || Changes(place, run)) return;
      if (find(place) == reads.end()) reads.push_back({OfFirstRow(place), 0, {}});
      ++find(place)->times;
    });
  }
  // What a few statements read is in as many registers. GCC makes all loads first, and more are
  // not.
  constexpr int kMostRegisters = 32, kTogether = 16;
  const auto held =
      std::count_if(reads.begin(), reads.end(), [](const Read& read) { return read.times > 1; });
  int named = 0;
  Stages all;
  for (Stage s : run) {
    ChangeElements(s, [&](const ElementPtr& e) -> ElementPtr {
      const Place* const place = LoadedBy(*e);
      const auto read = place ? find(*place) : reads.end();
      if (read == reads.end() || read->times == 1) return nullptr;
      if (!read->name) {
        read->name = plan_.variables.Add({plan_[place->buffer].name, e->dtype, false});
        const bool in_order = held > kMostRegisters && ++named % kTogether == 0;
        all.push_back({s.span, stage::Define{read->name, e, /*held=*/true, in_order}});
      }
      return NamedElement(plan_, read->name);
    });
    all.push_back(std::move(s));
  }
  return all;
}

/// Whether a statement may store something else there, or changes a variable by which it is
/// found.
bool SomeRows::Changes(const Place& place, const Stages& run) const {
  return std::any_of(run.begin(), run.end(), [&](const Stage& s) {
    const auto* store = As<stage::Store>(s);
    if (store) return RootOf(plan_, store->place.buffer) == RootOf(plan_, place.buffer);
    const auto* assign = As<stage::Assign>(s);
    return assign && std::any_of(place.at.begin(), place.at.end(), [&](const Coordinate& c) {
             return Uses(c.offset, assign->variable);
           });
  });
}

/// The place as the first row sees it, behind which the others are.
Place SomeRows::OfFirstRow(Place place) const {
  for (const Other& other : others_) {
    for (const LaterRow& later : other.later) {
      place = BehindBy(std::move(place), later.loop, later.behind);
      for (Coordinate& c : place.at) {
        if (c.loop == later.loop) c.loop = later.of;
      }
    }
  }
  return place;
}

}  // namespace kiln
