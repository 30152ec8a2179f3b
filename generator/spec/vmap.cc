#include "generator/spec/vmap.h"

#include <algorithm>

#include "generator/spec/find_operand.h"

namespace kiln {
namespace {

ExprPtr NameExpr(const Ident& name) {
  auto expr = std::make_shared<Expr>();
  expr->kind = Expr::Kind::kName;
  expr->name = name.name;
  expr->span = expr->name_span = name.span;
  return expr;
}

ExprPtr ZeroExpr(Span span) {
  auto expr = std::make_shared<Expr>();
  expr->span = span;
  return expr;
}

/// The position as a literal, counted from the end of the result when negative; -1 if unusable.
int Position(const Expr& expr, size_t rank) {
  const bool negative = expr.kind == Expr::Kind::kUnary && expr.name == "-";
  const Expr& literal = negative ? *expr.args[0] : expr;
  if (literal.kind != Expr::Kind::kInt) return -1;
  const int64_t last = static_cast<int64_t>(rank);  // the result has one dimension more
  const int64_t position = negative ? last + 1 - literal.int_value : literal.int_value;
  return position >= 0 && position <= last ? static_cast<int>(position) : -1;
}

void InsertDimension(OperandSpec& operand, size_t position, const VmapSpec& vmap) {
  const auto at = [&](auto& list) { return list.begin() + static_cast<std::ptrdiff_t>(position); };
  const size_t rank = operand.array ? operand.array->shape.size() : 0;
  BlockEntry squeezed;
  squeezed.kind = BlockEntry::Kind::kSqueezed;
  squeezed.span = vmap.span;
  if (!operand.like.name.empty()) {  // taken from the other operand, which has the dimension too
    operand.array->shape.insert(at(operand.array->shape), NameExpr(vmap.dim));
    return;
  }
  if (!operand.block) {
    BlockEntry all;
    all.kind = BlockEntry::Kind::kAll;
    all.span = operand.span;
    operand.block.emplace(rank, all);
    operand.block_span = operand.span;
  }
  if (!operand.index) {
    operand.index.emplace(operand.block->size(), ZeroExpr(operand.span));
    operand.index_span = operand.span;
  }
  if (position <= operand.block->size()) operand.block->insert(at(*operand.block), squeezed);
  if (position <= operand.index->size())
    operand.index->insert(at(*operand.index), NameExpr(vmap.axis));
  if (operand.array) operand.array->shape.insert(at(operand.array->shape), NameExpr(vmap.dim));
}

/// Views show the same array, so they gain the dimension where their array does.
void InsertInViews(Spec& spec, const std::string& of, size_t position, const VmapSpec& vmap) {
  for (OperandEntry& entry : spec.inputs) {
    for (OperandSpec& operand : entry.alternatives) {
      if (operand.view.name != of) continue;
      BlockEntry squeezed;
      squeezed.kind = BlockEntry::Kind::kSqueezed;
      squeezed.span = vmap.span;
      if (operand.block && position <= operand.block->size()) {
        operand.block->insert(operand.block->begin() + static_cast<std::ptrdiff_t>(position),
                              squeezed);
      }
      if (operand.index && position <= operand.index->size()) {
        operand.index->insert(operand.index->begin() + static_cast<std::ptrdiff_t>(position),
                              NameExpr(vmap.axis));
      }
    }
  }
}

}  // namespace

Spec ApplyVmap(const Spec& original, Diagnostics& diagnostics) {
  Spec spec = original;
  if (!original.vmap) return spec;
  const VmapSpec& vmap = *original.vmap;
  for (const VmapSpec::Over& over : vmap.over) {
    OperandEntry* const entry = RequireOperand(spec, over.operand, diagnostics);
    if (!entry) continue;
    for (OperandSpec& operand : entry->alternatives) {
      if (!operand.array) {
        diagnostics.Error("key", over.operand.span,
                          "`" + over.operand.name + "` is a view; map the operand it shows",
                          "views follow their array");
        continue;
      }
      const int position =
          over.position ? Position(*over.position, operand.array->shape.size()) : 0;
      if (position < 0) {
        diagnostics.Error("shape", over.position->span,
                          "the mapped dimension must be between 0 and " +
                              std::to_string(operand.array->shape.size()));
        continue;
      }
      InsertDimension(operand, static_cast<size_t>(position), vmap);
      InsertInViews(spec, over.operand.name, static_cast<size_t>(position), vmap);
    }
  }
  for (const OperandEntry& output : spec.outputs) {
    const bool mapped =
        std::any_of(vmap.over.begin(), vmap.over.end(),
                    [&](const VmapSpec::Over& o) { return o.operand.name == output.name.name; });
    if (!mapped) {
      diagnostics.Error("race", vmap.span,
                        "`vmap` maps no dimension of the output `" + output.name.name +
                            "`; every step of `" + vmap.axis.name + "` would write the same block",
                        "add it to over: {" + output.name.name + ": 0}");
    }
  }
  spec.grid.insert(spec.grid.begin(), {vmap.axis, NameExpr(vmap.dim)});
  if (spec.first_inside) ++*spec.first_inside;
  if (spec.semantics.empty()) {
    spec.semantics.assign(spec.grid.size(), {"arbitrary", vmap.span});
    spec.semantics[0].name = "parallel";
    spec.semantics_span = vmap.span;
  } else {
    spec.semantics.insert(spec.semantics.begin(), {"parallel", vmap.span});
  }
  spec.vmap.reset();
  return spec;
}

}  // namespace kiln
