#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/random/dice.h"
#include "tests/random/draft.h"
#include "tests/random/make/facts.h"

/// Makes random specs that are valid by construction: a grid first, then operands that walk it,
/// then a body whose expressions are built for a wanted dtype and shape out of what is in scope.
namespace kiln::soak {

/// Entries of the coverage report that a spec is to use where it can.
using Focus = std::set<std::string>;

/// Functions of floats to a float.
const std::vector<std::string>& FloatFunctions();
/// Those that engines may round differently.
const std::vector<std::string>& RoundedFunctions();

/// The same draft for the same arguments, everywhere.
Draft MakeDraft(uint64_t seed, const Focus& focus);

/// A run-time dimension, and the block in which an axis walks it.
struct DimInfo {
  std::string name;
  int64_t size = 1;
};

/// An axis of the grid, and how operands ride on it.
struct AxisInfo {
  enum class Kind {
    kTiled,  // cdiv(dim, block) steps: blocks of a dimension
    kEach,   // a step an element of a dimension
    kCount,  // a constant or a param
    kHost,   // of a scalar or a prefetch array
  };
  Kind kind = Kind::kTiled;
  std::string name;
  std::string steps_text;
  int64_t steps = 1;
  bool parallel = false;
  int dim = -1;             // kTiled, kEach, kHost: its dimension
  Extent block;             // kTiled
  bool partial = false;     // kHost: not all of the dimension is visited
  std::string permutation;  // a prefetch array of its steps, if there is one
};

/// One dimension of an operand.
struct DimPlan {
  std::string array, block, index;
  int64_t extent = 1;          // of the array
  std::optional<Extent> view;  // none: squeezed
  std::string edge;            // its name, if elements of the view may be past an edge
  int axis = -1;               // that it rides on; -1: it stays
  bool reread = false;         // an index that does not walk the dimension once: inputs only
};

/// What the body can name that holds elements.
struct RefInfo {
  enum class Role { kInput, kOutput, kScratch, kVar };
  std::string name;
  Role role = Role::kInput;
  DType dtype = DType::kF32;
  Extents view;
  std::vector<std::string> edges;  // by dimension of the view; empty: none
  Facts facts;
  bool readable = true;
  bool loose = false;              // may hold values that engines round differently
  bool whole_index = false;        // has positions: inside() and at()
  std::vector<std::string> array;  // extents
};

class Maker {
 public:
  Maker(uint64_t seed, const Focus& focus) : dice_(seed), focus_(focus) { draft_.seed = seed; }

  Draft Make();
  double Work() const;

 private:
  // make.cc: names, choices.
  std::string Name(const char* prefix) { return prefix + std::to_string(names_++); }
  /// A weight, many times as large if the entry is in focus.
  double Weight(const std::string& entry, double base) const;
  /// True with that probability, and nearly always if the entry is in focus.
  bool Want(const std::string& entry, double probability);
  /// Whether an entry in focus begins so, or is one of the functions that engines round
  /// differently.
  bool AsksFor(const std::string& prefix) const;
  bool AsksForRounding() const;
  bool AsksForSpecialFloats() const;
  Draft MakePlain();
  void AddReference(const RefInfo& output, const Term& stored);
  void BindDims();
  DType PickDType(const std::vector<DType>& of);
  DType AnyDType();
  /// Of an output with such blocks, which share no byte.
  DType OutputDType(const std::vector<DimPlan>& plans);
  /// One of the texts, by weights that the entries "prefix text" have.
  std::string PickEntry(const std::string& prefix, const std::vector<std::string>& of);

  // make_layout.cc
  void Grid();
  void AddAxis(size_t number);
  int AddDim(int64_t size);
  int64_t SmallSize(int64_t most);
  DimPlan Ride(size_t axis);
  DimPlan Reread(size_t axis);
  DimPlan Halo(size_t axis);
  DimPlan Bounded(size_t axis);
  DimPlan Gather(size_t axis);
  DimPlan WholeDim();
  DimPlan ConstantDim();
  std::string Permutation(size_t axis);

  // make_operands.cc
  std::vector<DimPlan> AlikeDims();
  std::vector<DimPlan> InputDims();
  std::vector<DimPlan> OutputDims(size_t axes);
  void AddOperand(const std::vector<DimPlan>& dims, DType dtype, bool output);
  void AddInput();
  void AddOutput();
  void AddView();
  void AddFactors();
  void AddTakenOver(const std::vector<DimPlan>& plans);
  void AddAlternative(OperandDraft& operand);
  void AddPad(RefInfo& ref, std::vector<Key>& keys);
  void AddWindow(const std::vector<DimPlan>& plans, bool written, std::vector<Key>& keys);
  void StartWith(OperandDraft& output, RefInfo& ref);
  std::string LikeWhom(const std::vector<DimPlan>& plans) const;
  RefInfo RefOf(const std::string& name, const std::vector<DimPlan>& plans, DType dtype) const;
  void FillInput(const std::string& name, DType dtype, Facts& facts);

  // make_host.cc
  void AddScalars();
  void AddPrepared();
  void AddOwnTable();
  void AddMade(const std::string& name, const std::string& shape, const std::string& at);
  void AddConstraints();
  void AddVariants();
  void AddBatching();
  void WriteAsPipeline();
  std::optional<Key> OtherBlock();

  // make_value.cc, make_elementwise.cc, make_reductions.cc, make_tiles.cc
  Value Make(DType dtype, const Extents& shape, int depth);
  /// Of exactly that shape.
  Value MakeWhole(DType dtype, const Extents& shape, int depth);
  Value MakeClean(DType dtype, const Extents& shape, int depth);
  Value Literal(DType dtype);
  Value WeakLiteral(DType dtype);
  Value Leaf(DType dtype, const Extents& shape);
  Value Positions(const Extents& shape);
  std::vector<Value> LeavesFor(DType dtype, const Extents& shape);
  Value ReadOf(const RefInfo& ref) const;
  std::optional<Value> Part(DType dtype, const Extents& shape);
  Value Build(const std::string& text, DType dtype, const std::vector<Value>& args);
  Value Whole(Value value, const Extents& shape);
  /// The value with everything past edges replaced; nullopt where no mask says which.
  std::optional<Value> Cleaned(Value value);
  std::optional<Value> WithEdges(Value value, const std::vector<std::string>& allowed);
  std::optional<Value> InsideOf(const Value& value, size_t d, const std::string& edge);
  Value Cast(DType dtype, Value value);
  Value CastToPower(DType dtype, const Value& value);
  Value Same(DType dtype, const Extents& shape, int depth);
  Value Condition(int depth);
  Value Mask(const Extents& shape, int depth);
  Value HostScalar();
  std::string Some(const std::string& what, int64_t size, int64_t extent, int depth);
  std::string IndexBelow(const Extent& extent, int depth);

  using Production = std::optional<Value> (Maker::*)(DType, const Extents&, int);
  struct Rule {
    std::vector<std::string> entries;  // of the coverage report
    double weight;
    bool (*makes)(DType);
    Production make;
  };
  static const std::vector<Rule>& Rules();
  static bool IsElementwise(const Rule& rule);
  std::optional<Value> MakeCast(DType dtype, const Extents& shape, int depth);
  std::optional<Value> MakeArithmetic(DType dtype, const Extents& shape, int depth);
  std::optional<Value> MakeFloatFunction(DType dtype, const Extents& shape, int depth);
  std::optional<Value> MakeNumeric(DType dtype, const Extents& shape, int depth);
  std::optional<Value> MakeExtreme(DType dtype, const Extents& shape, int depth);
  std::optional<Value> MakeSelect(DType dtype, const Extents& shape, int depth);
  std::optional<Value> MakeComparison(DType dtype, const Extents& shape, int depth);
  std::optional<Value> MakeLogic(DType dtype, const Extents& shape, int depth);
  std::optional<Value> MakeBits(DType dtype, const Extents& shape, int depth);
  std::optional<Value> MakeDivision(DType dtype, const Extents& shape, int depth);
  std::optional<Value> MakePower(DType dtype, const Extents& shape, int depth);
  std::optional<Value> MakeBitcast(DType dtype, const Extents& shape, int depth);
  std::optional<Value> MakePosition(DType dtype, const Extents& shape, int depth);
  Term OnePlace(const Extents& shape, size_t axis);
  Value MakeFolded(DType dtype, const Extents& shape, int depth);
  std::optional<Value> MakeReduction(DType dtype, const Extents& shape, int depth);
  std::optional<Value> MakeArgmax(DType dtype, const Extents& shape, int depth);
  std::optional<Value> MakeFold(DType dtype, const Extents& shape, int depth);
  std::optional<Value> MakeAnyAll(DType dtype, const Extents& shape, int depth);
  size_t AxisOf(const Extents& shape);
  std::optional<Value> MakeScan(DType dtype, const Extents& shape, int depth);
  std::optional<Value> MakeExtremeScan(DType dtype, const Extents& shape, int depth);
  std::optional<Value> MakeSort(DType dtype, const Extents& shape, int depth);
  std::optional<Value> MakeArgsort(DType dtype, const Extents& shape, int depth);
  std::optional<Value> MakeDot(DType dtype, const Extents& shape, int depth);
  std::optional<Value> MakeTranspose(DType dtype, const Extents& shape, int depth);
  std::optional<Value> MakeReshape(DType dtype, const Extents& shape, int depth);
  Value PartOfReshape(DType dtype, const Extents& shape, size_t axis, int depth);
  std::optional<Value> MakeExpand(DType dtype, const Extents& shape, int depth);
  std::optional<Value> MakeSqueeze(DType dtype, const Extents& shape, int depth);
  std::optional<Value> MakeConcat(DType dtype, const Extents& shape, int depth);
  std::optional<Value> MakeRoll(DType dtype, const Extents& shape, int depth);
  std::optional<Value> MakeFlip(DType dtype, const Extents& shape, int depth);
  std::optional<Value> MakeRepeat(DType dtype, const Extents& shape, int depth);
  std::optional<Value> MakeTake(DType dtype, const Extents& shape, int depth);
  std::optional<Value> MakeSlice(DType dtype, const Extents& shape, int depth);
  std::optional<Value> MakeBroadcast(DType dtype, const Extents& shape, int depth);
  std::optional<Value> MakeVisit(DType dtype, const Extents& shape, int depth);
  std::optional<Value> MakeHost(DType dtype, const Extents& shape, int depth);
  std::optional<Value> MakeAgain(DType dtype, const Extents& shape, int depth);
  /// A reduced dimension, put back into `shape` at *axis.
  Extents Grown(const Extents& shape, size_t* axis);
  Extent AnyExtent();
  Extent InnerExtent(const Extents& shape);

  // make_body.cc, make_stores.cc, make_sums.cc
  using Block = std::vector<Statement>;
  struct Region {
    std::string text;
    Extents shape;
    std::vector<std::string> edges;
  };
  struct Mark {
    size_t scope, refs, loops;
  };
  void Body();
  void Any(Block& to);
  void Define(Block& to);
  bool DefineTop(Block& to);  // make_lines.cc
  void Temporary(Block& to);
  void Assertion(Block& to);
  void StoreOutput(RefInfo& ref, size_t axes, Block& to);
  void StoreWhole(RefInfo& ref, Block& to);
  void StorePart(RefInfo& ref, Block& to);
  void StoreByRows(RefInfo& ref, Block& to);
  void StoreInBranches(RefInfo& ref, Block& to);
  void StoreOnInit(RefInfo& ref, size_t axes, Block& to);
  void StoreFrom(RefInfo& ref, const RefInfo& buffer, Block& to);
  void Accumulate(RefInfo& ref, size_t axes, const std::string& set, Block& to);
  void AccumulateInScratch(RefInfo& ref, size_t axes, Block& to);
  void StoreMasked(RefInfo& ref, const Region& window, Block& to);
  void AnyChange(RefInfo& ref, Block& to);
  Statement RepeatChange(RefInfo& ref, Block& before);
  void Update(RefInfo& ref, const std::string& target, const Extents& shape,
              const std::vector<std::string>& edges, Block& to);
  void AddScratch(const RefInfo& buffer, const std::string& memory);
  Region AnyWindow(const RefInfo& ref);
  Value ValueFor(const RefInfo& ref, const Extents& shape, const std::vector<std::string>& edges,
                 int depth);
  std::optional<Value> Reduced(DType dtype, const Extents& shape, int depth);
  Value SmallValue(const RefInfo& ref);
  void Widen(RefInfo& ref, const Value& value, bool only);
  void Forget(RefInfo& ref);
  std::string FirstOf(size_t from);
  std::string LastOf(size_t from);
  void Enter();
  void Leave();

  // make_copies.cc
  void CopyIn(Block& to);
  void CopyOut(Block& to);
  std::string AnySemaphore();
  std::string Awaited(const std::string& window);

  static constexpr int64_t kMostElements = 9000;      // of an operand, of which a step may have all
  static constexpr int kDepth = 4;                    // of the expressions that are stored
  static constexpr double kMostOfTemporary = 20'000;  // elements

  Dice dice_;
  const Focus& focus_;
  Draft draft_;
  int names_ = 0;
  std::vector<DimInfo> dims_;
  std::vector<AxisInfo> axes_;
  std::vector<RefInfo> refs_;
  std::vector<std::vector<DimPlan>> plans_;  // by operand, which come first among the refs
  std::set<std::string> likes_,
      views_;  // names of operands that are like another, or no array of their own
  std::set<std::string> tabled_;  // axes that tables are as long as
  bool varied_ = false;
  bool plain_ = false;           // elementwise alone
  std::set<std::string> inits_;  // outputs that start as something, or keep it where no step comes
  std::vector<Value> scope_;     // lets, loop variables as values, host scalars
  std::vector<Value> loops_;     // loop variables: weak integers below an extent
  std::vector<Value> made_;      // values that may be written once more, as nothing has changed
  std::vector<size_t> output_axes_;  // by output: how many axes of the grid it walks
  std::vector<Mark> marks_;
  int need_same_ = 0;  // > 0: what is made decides something
};

}  // namespace kiln::soak
