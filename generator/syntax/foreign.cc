#include "generator/syntax/foreign.h"

#include <algorithm>
#include <iterator>
#include <sstream>

namespace kiln {
namespace {

/// One row a thing that people ask for: what they type, and what to write. `x` and `i` stand for
/// their own names.
constexpr ForeignWord kWords[] = {
    // Types.
    {"astype to asarray array convert_element_type cast",
     "a dtype is called like a function: bf16(x)"},
    {"view bitcast_convert_type", "bitcast(i32, x) has the same bits as another dtype"},
    // The grid.
    {"program_id", "the name of an axis is its step: i, of `grid: {i: …}`"},
    {"num_programs", "steps(i) is the number of steps of the axis i"},
    {"when", "a condition is a statement: `when first(i):` and, indented, what it guards"},
    {"cond lax_cond switch", "write `when c:` … `else:` around stores, or where(c, a, b)"},
    {"fori_loop map static_range", "write `for r in range(8):` and, indented, its body"},
    {"scan associative_scan",
     "running values are cumsum(x, axis=0), cumprod, cummax and cummin; for others write "
     "`for r in range(8):` and, indented, its body"},
    {"while_loop", "write `while c:` and, indented, its body, which changes a `var` of c"},
    {"range", "range stands in a loop alone: `for r in range(8):`; coordinates are iota([8], 0)"},
    // Memory.
    {"load", "a block is read by its name: x, or a part of it: x[0, :]"},
    {"store", "write `o = value`, or `o[mask] = value` to store where mask holds"},
    {"dslice", "ds(start, size) stands in a subscript: x[ds(i, 8), :]"},
    {"make_async_copy async_copy async_remote_copy",
     "a copy is a statement: `copy src -> dst, sem`, and `wait sem` waits for it"},
    {"zeros zeros_like ones ones_like full full_like empty empty_like",
     "a number is broadcast where a tile is wanted: `o = 0.0`; a tile of its own is "
     "broadcast(0.0, [8, 128])"},
    {"take_along_axis gather index_select",
     "write take(x, ids, axis=0) with ids in a tile; whole blocks are the index map's to pick: "
     "`index: ids[i], 0`"},
    // Coordinates and masks.
    {"arange broadcasted_iota linspace",
     "iota([8, 128], axis) counts within a tile, at(x, axis) within the array of x's block"},
    {"tril triu", "compare coordinates: where(at(x, 0) >= at(x, 1), x, 0.0)"},
    {"select masked_fill", "write where(c, a, b)"},
    {"logical_and logical_or logical_not", "write a and b, a or b, not a; of tiles too"},
    {"isnan", "NaN is what differs from itself: x != x"},
    // Arithmetic.
    {"pow power float_power", "write a ** b"},
    {"maximum fmax", "write max(a, b)"},
    {"minimum fmin", "write min(a, b)"},
    {"amax", "write max(x, axis=1)"},
    {"amin", "write min(x, axis=1)"},
    {"clip", "write clamp(x, low, high)"},
    {"add subtract multiply divide true_divide negative", "write a + b, a - b, a * b, a / b, -a"},
    {"floor_divide", "write a // b"},
    {"mod remainder fmod", "write a % b, or rem(a, b) with the sign of a"},
    {"square", "write x * x"},
    {"reciprocal", "write 1 / x"},
    {"logistic", "write sigmoid(x)"},
    {"swish", "write silu(x)"},
    {"log_sigmoid", "write -softplus(-x)"},
    {"arcsin arccos arctan arctan2", "write asin(x), acos(x), atan(x), atan2(y, x)"},
    {"arcsinh arccosh arctanh", "write asinh(x), acosh(x), atanh(x)"},
    {"div", "quot(a, b) rounds towards 0, a // b down; floats are divided by a / b"},
    {"pi", "write 3.141592653589793"},
    {"math", "write functions without a module, and pi as 3.141592653589793"},
    {"newaxis None", "write expand(x, axis)"},
    // Products and shapes.
    {"matmul dot_general einsum mm bmm tensordot",
     "write dot(a, b), of which leading dimensions are a batch; a.T and a.mT transpose"},
    {"swapaxes moveaxis permute", "write transpose(x, [1, 0, 2]), or x.T of two dimensions"},
    {"expand_dims unsqueeze", "write expand(x, axis)"},
    {"ravel flatten", "write reshape(x, [1024])"},
    {"broadcast_to", "write broadcast(x, [8, 128])"},
    {"concatenate cat hstack vstack", "write concat([a, b], axis=0)"},
    {"stack", "write concat([expand(a, 0), expand(b, 0)], axis=0)"},
    {"tile", "write concat([x, x], axis=0), or broadcast(x, [8, 128]) of extents of 1"},
    {"repeat_interleave", "write repeat(x, 2, axis=1)"},
    // Across a tile.
    {"softmax",
     "write `let e = exp(x - max(x, axis=1, keep=true))` and e / sum(e, axis=1, keep=true)"},
    {"logsumexp",
     "let m = max(x, axis=1, keep=true); then m + log(sum(exp(x - m), axis=1, keep=true))"},
    {"var std", "write mean(x * x, axis=1) - mean(x, axis=1) ** 2, or of x less its mean"},
    {"topk approx_max_k", "write `let values, ids = top_k(x, 8, axis=1)`"},
    {"rev reverse flipud fliplr",
     "write flip(x, axis); blocks are walked backwards by their index map: steps(i) - 1 - i"},
};

constexpr ForeignArgument kArguments[] = {
    {"cumsum cumprod cummax cummin", "reverse",
     "what runs from the end is in reverse twice: flip(cumsum(flip(x, 0), axis=0), 0)"},
    {"sort argsort", "kind stable is_stable", "equals always keep their order"},
    {"top_k", "k", "k comes second: top_k(x, 8, axis=1)"},
    {"top_k", "largest sorted", "the largest come first; the smallest are those of -x"},
    {"cumsum", "exclusive", "write cumsum(x, axis=0) - x"},
    {"dot", "preferred_element_type out_dtype acc_dtype accumulate",
     "dot gives f32 of floats and i32 of integers; a cast rounds it: bf16(dot(a, b))"},
    {"dot", "precision input_precision allow_tf32", "dot sums up in f32, or in i32, as it is"},
    {"dot", "trans_a trans_b transpose_a transpose_b dimension_numbers",
     "write dot(a, b.T), or dot(a, b.mT) where leading dimensions are a batch"},
    {"gelu", "approximate", "gelu_tanh(x) is the approximation by tanh, gelu(x) is exact"},
    {"", "keepdims keepdim keep_dims", "write keep=true"},
    {"", "dim dims dimension", "write axis=…"},
    {"", "dtype", "a dtype is called like a function: f32(x)"},
    {"", "where mask other initial", "choose the elements first: sum(where(c, x, 0.0), axis=1)"},
    {"", "out", "a value is stored by a statement: `o = value`"},
};

bool HasWord(std::string_view words, std::string_view word) {
  std::istringstream in{std::string(words)};
  return std::find(std::istream_iterator<std::string>(in), std::istream_iterator<std::string>(),
                   word) != std::istream_iterator<std::string>();
}

}  // namespace

std::span<const ForeignWord> ForeignWords() { return kWords; }
std::span<const ForeignArgument> ForeignArguments() { return kArguments; }

std::string HintForForeign(std::string_view word) {
  for (const ForeignWord& row : kWords) {
    if (HasWord(row.words, word)) return std::string(row.hint);
  }
  return "";
}

std::string HintForForeignArgument(std::string_view function, std::string_view argument) {
  for (const ForeignArgument& row : kArguments) {
    const bool of = row.functions.empty() || HasWord(row.functions, function);
    if (of && HasWord(row.arguments, argument)) return std::string(row.hint);
  }
  return "";
}

}  // namespace kiln
