#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generator/ir/kernel.h"
#include "generator/ir/typing.h"

/// From syntax to typed nodes: names, types, shapes. One Elaborator builds one Kernel.
namespace kiln {

/// What an expression may mention, and the arithmetic it uses.
struct Setting {
  const char* name;    // for messages: "an index map"
  bool index = false;  // 64-bit checked arithmetic; else the body's types
  bool dims = false;
  bool axes = false;
  bool host = false;     // scalars and prefetch arrays
  bool body = false;     // refs, locals, tile functions
  bool most = false;     // a range may have a size that only a call knows
  bool results = false;  // a call may give several values
};

inline constexpr Setting kParamSetting{"a parameter"};
inline constexpr Setting kSizeSetting{"a shape", true, true};
inline constexpr Setting kStepsSetting{"the grid's steps", true, true, false, true};
inline constexpr Setting kConditionSetting{"a condition over sizes", true, true, false, true};
inline constexpr Setting kMapSetting{"an index map", true, true, true, true};
inline constexpr Setting kBodySetting{"the body", false, true, true, true, true};
inline constexpr Setting kSubscriptSetting{"a subscript", true, true, true, true, true};

/// The dtype of a node, for messages.
inline std::string TypeName(const NodePtr& node) { return std::string(Name(node->dtype)); }

/// What a name stands for.
struct Symbol {
  enum class Kind { kValueParam, kTypeParam, kDim, kAxis, kRef, kLet, kLocal, kConstant, kAbsent };
  Kind kind = Kind::kAbsent;
  Span span;
  int index = -1;             // dim, axis, ref, let, local
  DType dtype = DType::kF32;  // kTypeParam
  NodePtr value;              // kValueParam, kConstant: a weak constant
  std::string why;            // kAbsent: the condition that does not hold
};

class Elaborator {
 public:
  Elaborator(const Spec& spec, Kernel& kernel, Diagnostics& diagnostics)
      : spec_(spec), kernel_(kernel), diagnostics_(diagnostics) {
    scopes_.emplace_back();
  }

  /// A copy that reports elsewhere, to look at an expression without consequences.
  Elaborator(const Elaborator& other, Diagnostics& diagnostics)
      : spec_(other.spec_),
        kernel_(other.kernel_),
        diagnostics_(diagnostics),
        scopes_(other.scopes_),
        visible_lets_(other.visible_lets_) {}

  // names.cc: the one namespace.
  /// Reports a clash that names both places; false then.
  bool Declare(const Ident& name, Symbol symbol);
  const Symbol* Find(std::string_view name) const;
  void PushScope() { scopes_.emplace_back(); }
  void PopScope() { scopes_.pop_back(); }
  std::vector<std::string> VisibleNames() const;
  NodePtr ElaborateName(const Expr& expr, const Setting& setting);
  /// The dtype a name denotes: an array type or a dtype parameter.
  std::optional<DType> DTypeNamed(std::string_view name) const;
  /// As above, reporting [name] or [type].
  std::optional<DType> ResolveDType(const Ident& name);
  /// A ref named by a plain name, for dot-less uses such as first(o); null when it is none.
  const Symbol* RefNamed(const Expr& expr) const;

  // expr.cc: operators; convert.cc: one dtype and shape for two.
  NodePtr Elaborate(const Expr& expr, const Setting& setting);
  /// A bool scalar.
  NodePtr ElaborateCondition(const Expr& expr, const Setting& setting);
  /// An integer scalar of type kIndex; a bool is 0 or 1.
  NodePtr ElaborateIndex(const Expr& expr, const Setting& setting);
  /// The same, but a bool is an error: nothing has `true` elements.
  NodePtr ElaborateCount(const Expr& expr, const Setting& setting);
  NodePtr IndexScalar(const NodePtr& node, const Expr& expr, const Setting& setting);
  std::optional<Size> ElaborateSize(const Expr& expr);
  /// `expr` as a constant of `dtype`: pads and initial values.
  NodePtr ElaborateConstant(const Expr& expr, DType dtype, const char* what);
  /// A generation-time bool.
  std::optional<bool> ElaborateStaticCondition(const Expr& expr);
  std::optional<int64_t> ElaborateStaticInt(const Expr& expr, const char* what);
  NodePtr Binary(Op op, NodePtr a, NodePtr b, const Setting& setting, Span span);
  /// Gives both arguments one dtype (weak ones follow); reports [type] with a hint.
  bool Unify(NodePtr& a, NodePtr& b, const char* what, Span span);
  /// The common shape, with an obligation for what is not provable. Reports [shape].
  std::optional<Shape> Broadcast(const Shape& a, const Shape& b, const std::string& what,
                                 Span span);
  NodePtr Select(NodePtr condition, NodePtr a, NodePtr b, Op op, const Setting& setting, Span span);
  /// Weak values as i32 or f32.
  NodePtr Decide(const NodePtr& node);
  /// `node` stored as `dtype`: weak types follow, all others must match. Reports [type].
  std::string CastHint(const NodePtr& node, DType dtype) const;
  std::string Spelling(const Node& node) const;
  NodePtr ConvertTo(NodePtr node, DType dtype, const std::string& target, Span span);

  // subscript.cc
  NodePtr ElaborateSubscript(const Expr& expr, const Setting& setting);
  struct Subscripted {
    std::vector<Subscript> subscripts;
    Shape shape;
  };
  std::optional<Subscripted> ElaborateSubscripts(const Expr& expr, const Shape& shape,
                                                 const std::string& what, const Setting& setting);

  // calls.cc, tile_calls.cc, reduce_calls.cc and bitcast.cc: functions, one handler a kind.
  NodePtr ElaborateCall(const Expr& expr, const Setting& setting);
  NodePtr Called(const Expr& expr, const Operation& f, const Setting& setting);
  NodePtr CallCast(const Expr& expr, DType dtype, const Setting& setting);
  NodePtr CallFloats(const Expr& expr, const Operation& f, const Setting& setting);
  NodePtr CallNumber(const Expr& expr, const Operation& f, const Setting& setting);
  NodePtr CallExtreme(const Expr& expr, const Operation& f, const Setting& setting);
  NodePtr CallClamp(const Expr& expr, const Operation& f, const Setting& setting);
  NodePtr CallWhere(const Expr& expr, const Operation& f, const Setting& setting);
  NodePtr CallIntegers(const Expr& expr, const Operation& f, const Setting& setting);
  NodePtr CallBitcast(const Expr& expr, const Operation& f, const Setting& setting);
  NodePtr CallIota(const Expr& expr, const Operation& f, const Setting& setting);
  NodePtr CallBroadcast(const Expr& expr, const Operation& f, const Setting& setting);
  NodePtr CallReshape(const Expr& expr, const Operation& f, const Setting& setting);
  NodePtr CallTranspose(const Expr& expr, const Operation& f, const Setting& setting);
  NodePtr CallExpand(const Expr& expr, const Operation& f, const Setting& setting);
  NodePtr CallSqueeze(const Expr& expr, const Operation& f, const Setting& setting);
  NodePtr CallConcat(const Expr& expr, const Operation& f, const Setting& setting);
  NodePtr CallRoll(const Expr& expr, const Operation& f, const Setting& setting);
  NodePtr CallTake(const Expr& expr, const Operation& f, const Setting& setting);
  NodePtr CallReduce(const Expr& expr, const Operation& f, const Setting& setting);
  // order_calls.cc
  NodePtr CallScan(const Expr& expr, const Operation& f, const Setting& setting);
  NodePtr CallSort(const Expr& expr, const Operation& f, const Setting& setting);
  NodePtr CallTopK(const Expr& expr, const Operation& f, const Setting& setting);
  NodePtr CallFlip(const Expr& expr, const Operation& f, const Setting& setting);
  void DefineResults(const Stmt& stmt, Actions& out);
  NodePtr LookedUpOnce(const Stmt& stmt, const NodePtr& ids, Actions& out);
  NodePtr ValuesAt(const Action& places);
  NodePtr CallRepeat(const Expr& expr, const Operation& f, const Setting& setting);
  std::optional<int> AxisOfCall(const Expr& expr, const Operation& f, const NodePtr& x);
  NodePtr CallDot(const Expr& expr, const Operation& f, const Setting& setting);
  NodePtr CallVisit(const Expr& expr, const Operation& f, const Setting& setting);
  NodePtr CallSteps(const Expr& expr, const Operation& f, const Setting& setting);
  NodePtr CallInside(const Expr& expr, const Operation& f, const Setting& setting);
  NodePtr CallAt(const Expr& expr, const Operation& f, const Setting& setting);

  // body.cc
  Actions ElaborateBlock(const std::vector<Stmt>& statements);
  void ElaborateStmt(const Stmt& stmt, Actions& out);

  // The sections: params.cc, dims.cc, host.cc, operands.cc, and spec.cc for the rest.
  void Params(const CheckOptions& options);
  void Dims();
  void Lets();
  void CheckLets();
  void HostArrays();
  void Operands();
  void GridAxes();
  void GridSteps();
  void Scratch();
  void Prepare();
  void Requires();
  void Body();
  void Variants();
  void CountDimUses();
  void Golden();

  Diagnostics& diagnostics() { return diagnostics_; }
  Kernel& kernel() { return kernel_; }
  std::nullptr_t Error(RuleLabel rule, Span span, std::string message, std::string hint = "") {
    const bool follows = !shapes_known_ && rule == "shape";
    if (!follows) diagnostics_.Error(rule, span, std::move(message), std::move(hint));
    return nullptr;
  }

 private:
  NodePtr ElaborateConstantExpr(const Expr& expr, const Setting& setting);
  NodePtr ElaborateUnary(const Expr& expr, const Setting& setting);
  NodePtr ElaborateBinary(const Expr& expr, const Setting& setting);
  NodePtr ElaborateLogic(const Expr& expr, const Setting& setting);
  NodePtr ElaborateCompare(const Expr& expr, const Setting& setting);
  NodePtr ElaborateIf(const Expr& expr, const Setting& setting);
  NodePtr ElaborateAttribute(const Expr& expr, const Setting& setting);
  NodePtr CompareDTypes(const Expr& expr, bool& handled);
  NodePtr ToIndex(const NodePtr& node, const Setting& setting);
  NodePtr Unary(Op op, NodePtr a, const Setting& setting, Span span);

  NodePtr ReadSymbol(const Expr& expr, const Symbol& symbol, const Setting& setting);
  NodePtr NamedConstant(const std::string& name, int64_t value, Span span) const;
  NodePtr ReadRef(int ref, Span span, const Setting& setting);

  NodePtr PackRows(const NodePtr& x, DType dtype, const std::string& what, Span span);
  NodePtr UnpackRows(const NodePtr& x, DType dtype, Span span);

  // Argument helpers of calls.
  bool CheckArguments(const Expr& expr, const Operation& f);
  const Expr* KeywordValue(const Expr& expr, std::string_view keyword) const;
  NodePtr FloatArgument(const Expr& expr, const Setting& setting, const Operation& f);
  std::optional<int> ElaborateAxis(const Expr& expr, int rank, const char* what);
  std::optional<std::vector<int>> ElaborateAxes(const Expr& expr, int rank, const char* what);
  std::optional<Shape> ElaborateShape(const Expr& expr);

  std::vector<Subscript> FullSubscripts(const Shape& shape, Span span);
  bool ElaborateEntry(const Expr& entry, const Size& extent, const std::string& what, int dimension,
                      const Setting& setting, Subscript& out);
  bool ElaborateCount(const Expr& entry, const Expr& most, const std::string& where,
                      const Setting& setting, Subscript& out);
  bool ElaborateStride(const Expr* expr, Subscript& out);
  Size EveryOther(const Size& length, int64_t stride) const;
  bool CheckWindow(const Subscript& window, const Size& extent, const std::string& where);
  static bool IsSizeNode(const Node& node);
  /// [shape] when provably less, an obligation when unknown; false when less.
  bool RequireAtLeast(const Size& a, const Size& b, Span span, const std::string& message);
  void Oblige(Size left, Size right, RuleLabel rule, Span span, std::string message,
              Obligation::Kind kind = Obligation::Kind::kEqual);
  /// [shape] when provably different, an obligation when unknown; false when different.
  bool RequireEqual(const Size& a, const Size& b, Span span, const std::string& message);

  std::vector<Ident> FindDims();
  void AddUnboundDims(std::vector<Ident>& found);
  void Constrain(Dim& dim);
  std::vector<std::string> ParamNames() const;
  void AddVariant(const VariantSpec& variant, std::shared_ptr<const Source> lock);
  /// Of a param that is set elsewhere, where the spec's own check would name the wrong place.
  void CheckParamValue(const ParamSpec& set);
  bool ParseOverride(const std::string& name, const std::string& text, Span span, Symbol& out);
  Symbol ParamValue(const Expr& expr, bool& ok);
  void ArrayShape(const std::vector<ExprPtr>& shape, Ref& ref);
  int AddRef(Ref ref);
  void SemaphoreCounts(const ScratchSpec& scratch, Ref& ref);
  Memory MemoryNamed(const Ident& name, bool any_allowed);
  void HostArguments(const Expr& expr, HostCall& call);
  void CheckHostCall(const struct HostFunction& function, const Expr& expr, const HostCall& call);

  /// The alternative whose generation-time condition holds; null: the operand is absent.
  const OperandSpec* ChooseAlternative(const OperandEntry& entry);
  struct Chosen {
    const OperandSpec* spec;
    int ref;
  };
  void OperandArrays(const std::vector<OperandEntry>& entries, Role role, std::vector<Chosen>& out);
  bool OperandArray(const OperandEntry& entry, const OperandSpec& spec, Ref& ref);
  void OperandBlocks(const Chosen& chosen);
  void OutsidePipeline(const Ref& ref);
  void OperandOptions(const OperandSpec& spec, Ref& ref);
  void ResolveLike(const OperandSpec& spec, Ref& ref, const std::vector<Chosen>& all);
  bool BlockShape(const std::vector<BlockEntry>& entries, Span span, Ref& ref);
  bool IndexMap(const std::vector<ExprPtr>& index, Span span, Ref& ref);
  bool BoundedIndex(const Expr& entry, BlockDim& dim);
  void FinishView(Ref& ref);
  // packed.cc: what elements of 4 bits cannot do.
  DType HostDType(const Ident& name);
  void PackedBlocks(const Ref& ref);
  void Alias(const OperandSpec& spec, Ref& ref);

  // Statements.
  /// Where an assignment goes: a ref or a var, whole, subscripted, under a mask, or both.
  struct StoreTarget {
    int ref = -1;
    int local = -1;
    DType dtype = DType::kF32;
    Shape shape;       // of the window
    std::string what;  // for messages: "`o`"
    std::vector<Subscript> subscripts;
    NodePtr mask;
  };
  bool ResolveTarget(const Expr& base, StoreTarget& out);
  bool ResolveRefTarget(int index, Span span, StoreTarget& out);
  bool NarrowTarget(const Expr& subscripted, StoreTarget& out);
  bool StoreMask(const Expr& index, StoreTarget& out);
  NodePtr ReadTarget(const StoreTarget& target, Span span) const;
  NodePtr StoredValue(const Stmt& stmt, const StoreTarget& target);
  NodePtr TypedValue(const Stmt& stmt, NodePtr value, Shape& shape);
  void DefineLocals(const Stmt& stmt, Actions& out);
  void DefineLocal(const Stmt& stmt, NodePtr value, Actions& out);
  void Assign(const Stmt& stmt, Actions& out);
  void When(const Stmt& stmt, Actions& out);
  void For(const Stmt& stmt, Actions& out);
  void OneTurn(const Stmt& loop, int64_t counter, Actions& out);
  void While(const Stmt& stmt, Actions& out);
  void Assert(const Stmt& stmt, Actions& out);
  void Copy(const Stmt& stmt, Actions& out);
  void Wait(const Stmt& stmt, Actions& out);
  std::optional<Window> CopyWindow(const Expr& expr, bool target);
  std::optional<action::Wait> SemaphoreSlot(const Expr& expr);
  int AddLocal(const Ident& name, DType dtype, Shape shape, Local::Kind kind);

  const Spec& spec_;
  Kernel& kernel_;
  Diagnostics& diagnostics_;
  std::vector<std::map<std::string, Symbol, std::less<>>> scopes_;
  int visible_lets_ = 0;      // a let sees only the earlier ones
  int let_depth_ = 0;         // > 0 while the text of a let is read: body locals are hidden
  int elaborated_ = 0;        // nodes so far, a bound on the work
  bool shapes_known_ = true;  // false: an array's shape was at fault, and others may follow from it
  bool blocks_known_ = true;  // the same of what the body sees
  std::vector<int> assigned_;  // refs stored to since the last reset (the epilogue's outputs)
};

}  // namespace kiln
