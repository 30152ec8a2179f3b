#include <algorithm>

#include "generator/planner/lower/lowering.h"

/// Lets of which only parts are read: where no two reads share an element, each may be computed
/// where it is read, and none of them needs memory.
namespace kiln {
namespace {

/// From where to where a part reaches in each dimension, or that it moves on from turn to turn.
struct Part {
  std::vector<std::pair<int64_t, int64_t>> ranges;
  bool moves = false;
};

bool Overlap(const Part& a, const Part& b) {
  if (a.moves || b.moves) return true;
  for (size_t d = 0; d < a.ranges.size(); ++d) {
    if (a.ranges[d].second <= b.ranges[d].first || b.ranges[d].second <= a.ranges[d].first)
      return false;
  }
  return true;
}

/// By how much an index grows with the variable of a loop; none: it is not known.
std::optional<int64_t> GrowthOf(const Node& index, LocalId variable) {
  const auto constant = [](const Node& n) { return n.op == Op::kConst; };
  switch (index.op) {
    case Op::kConst:
      return 0;
    case Op::kLocal:
      return LocalId(index.index) == variable ? std::optional<int64_t>(1) : std::nullopt;
    case Op::kCast:
      return GrowthOf(*index.args[0], variable);
    case Op::kAdd: {
      const auto a = GrowthOf(*index.args[0], variable), b = GrowthOf(*index.args[1], variable);
      return a && b ? std::optional<int64_t>(*a + *b) : std::nullopt;
    }
    case Op::kMul:
      for (const size_t k : {0, 1}) {
        const Node &by = *index.args[k], &other = *index.args[1 - k];
        const auto grows = constant(by) ? GrowthOf(other, variable) : std::nullopt;
        if (grows) return *grows * by.int_value;
      }
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

/// Follows the statements in the order of the text.
class PartsRead {
 public:
  explicit PartsRead(const Kernel& kernel) : kernel_(kernel), lets_(kernel.locals.size()) {
    Walk(kernel.body);
    Walk(kernel.epilogue);
  }

  Table<bool, Local> InParts() const {
    Table<bool, Local> in_parts(kernel_.locals.size());
    // A let is read behind its definition, so that its readers are known before it.
    for (size_t k = lets_.size(); k-- > 0;) {
      const Let& let = lets_[LocalId(k)];
      const bool by_let = let.parts.empty() && let.readers.size() == 1 && in_parts[let.readers[0]];
      in_parts[LocalId(k)] =
          !let.otherwise && (by_let || (let.readers.empty() && !let.parts.empty()));
    }
    return in_parts;
  }

 private:
  struct Let {
    size_t depth = 0;  // of the loops around it
    std::vector<Part> parts;
    std::vector<LocalId> readers;  // lets of the same shape that read all of it
    bool otherwise = false;
  };

  void Walk(const Actions& actions) {
    for (const Action& action : actions) {
      const auto* define = As<action::Define>(action);
      reader_ = define ? LocalId(define->local) : LocalId();
      if (reader_) lets_[reader_].depth = loops_.size();
      ForEachExpression(action, [&](const Node& node) { Visit(node); });
      const auto* loop = As<action::For>(action);
      const bool repeats = loop || Is<action::While>(action);
      if (repeats) loops_.push_back(loop ? LocalId(loop->local) : LocalId());
      ForEachBlock(action, [&](const Actions& block) { Walk(block); });
      if (repeats) loops_.pop_back();
    }
  }

  void Visit(const Node& node) {
    for (const Subscript& s : node.subscripts) Visit(*s.start);
    if (node.op == Op::kLocal) AddWhole(LocalId(node.index));
    if (node.op == Op::kSlice && node.args[0]->op == Op::kLocal)
      return AddPart(lets_[LocalId(node.args[0]->index)], node.subscripts);
    for (const NodePtr& arg : node.args) Visit(*arg);
  }

  void AddWhole(LocalId id) {
    Let& let = lets_[id];
    if (reader_ && kernel_[reader_].shape == kernel_[id].shape && let.depth == loops_.size())
      let.readers.push_back(reader_);
    else
      let.otherwise = true;
  }

  void AddPart(Let& let, const std::vector<Subscript>& subscripts) {
    const std::optional<Part> part = PartOf(subscripts, let.depth);
    if (!part || std::any_of(let.parts.begin(), let.parts.end(),
                             [&](const Part& other) { return Overlap(*part, other); })) {
      let.otherwise = true;
    } else {
      let.parts.push_back(*part);
    }
  }

  /// None: it may be read more than once, or nothing is known of where it is.
  std::optional<Part> PartOf(const std::vector<Subscript>& subscripts, size_t depth) const {
    const size_t turning = loops_.size() - depth;
    if (turning > 1 || (turning == 1 && !loops_.back())) return std::nullopt;
    Part part;
    for (const Subscript& s : subscripts) {
      const std::optional<int64_t> reach = s.range ? ReachOf(s).Constant() : 1;
      if (s.count || !reach) return std::nullopt;
      if (turning == 1) {
        const std::optional<int64_t> growth = GrowthOf(*s.start, loops_.back());
        part.moves = part.moves || (growth && *growth >= *reach);
      } else if (s.start->op != Op::kConst) {
        return std::nullopt;
      }
      part.ranges.emplace_back(s.start->int_value, s.start->int_value + *reach);
    }
    return part.moves == (turning == 1) ? std::optional(part) : std::nullopt;
  }

  const Kernel& kernel_;
  Table<Let, Local> lets_;
  LocalId reader_;              // of the statement at hand; none: it defines nothing
  std::vector<LocalId> loops_;  // none: a `while`
};

}  // namespace

Table<bool, Local> ReadInParts(const Kernel& kernel) { return PartsRead(kernel).InParts(); }

}  // namespace kiln
