// [tier]: bytes of VMEM in native tiles and of SMEM in words, against the budgets.
#include <algorithm>
#include <cstdio>

#include "generator/bind/memory.h"
#include "generator/check/grid/rules.h"
#include "generator/text/integer.h"

namespace kiln {
namespace {

constexpr int64_t kLanesOfTile = 128;
constexpr int64_t kTileBytes = 8 * kLanesOfTile * 4;  // whatever the dtype, up to 32 bits
constexpr int64_t kWordBytes = 4;

/// Saturating: a buffer may be far too large to exist.
int64_t Times(int64_t a, int64_t b) {
  long long product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}
int64_t Plus(int64_t a, int64_t b) {
  long long sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}
int64_t Product(const std::vector<int64_t>& extents, size_t count) {
  int64_t product = 1;
  for (size_t d = 0; d < count; ++d) product = Times(product, extents[d]);
  return product;
}

/// Bytes of an array in whole native tiles of its last two dimensions: (8, 128) elements of 32
/// bits, (16, 128) of 16, (32, 128) of 8, (64, 128) of 4; 64-bit elements are two of 32. One
/// dimension is dense.
int64_t TiledBytes(DType dtype, const std::vector<int64_t>& shape) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  const int64_t bits = RowOf(dtype).bits;
  const int64_t halves = CeilDivide(bits, 32);
  const int64_t rows = 8 * (32 / std::min<int64_t>(bits, 32));
  const size_t rank = shape.size();
  int64_t tiles = 1;
  if (rank == 1) {
    tiles = CeilDivide(shape[0], rows * kLanesOfTile);
  } else if (rank > 1) {
    tiles = Times(Product(shape, rank - 2), Times(CeilDivide(shape[rank - 2], rows),
                                                  CeilDivide(shape[rank - 1], kLanesOfTile)));
  }
  return Times(tiles, kTileBytes * halves);
}

int64_t WordBytes(DType dtype, const std::vector<int64_t>& shape) {
  return Times(Product(shape, shape.size()), std::max(kWordBytes, int64_t(SizeOf(dtype))));
}

int64_t BytesOf(const Ref& ref, const MemoryUser& user, Memory memory) {
  const int64_t one = memory == Memory::kVmem ? TiledBytes(ref.dtype, user.shape)
                                              : WordBytes(ref.dtype, user.shape);
  return Times(one, user.copies);
}

/// A block that no axis moves is fetched once and needs no second buffer.
bool NeverMoves(const Kernel& kernel, const Ref& ref) {
  std::vector<AxisUse> use(kernel.axes.size(), AxisUse::kNone);
  for (const BlockDim& dim : ref.block) {
    if (dim.index) CollectAxisUse(*dim.index, use);
    if (dim.extent) CollectAxisUse(*dim.extent, use);
  }
  return std::all_of(use.begin(), use.end(), [](AxisUse u) { return u == AxisUse::kNone; });
}

bool LivesIn(const Ref& ref, Memory memory) {
  switch (ref.role) {
    case Role::kInput:
    case Role::kOutput:
    case Role::kScratch:
      return ref.memory == memory;
    case Role::kPrefetch:
    case Role::kScalar:
      return memory == Memory::kSmem;
    default:
      return false;
  }
}

std::optional<MemoryUser> UserOf(const Binding& binding, int index) {
  const Ref& ref = binding.kernel->refs[size_t(index)];
  MemoryUser user;
  user.ref = index;
  const bool host = ref.role == Role::kPrefetch || ref.role == Role::kScalar;
  const bool bound = host && size_t(index) < binding.host.size() && binding.host[size_t(index)];
  if (bound) {
    user.shape = binding.host[size_t(index)]->shape;
  } else {
    for (const Size& size : ref.view) {
      const auto extent = Evaluate(size, binding);
      if (!extent || *extent < 0) return std::nullopt;
      user.shape.push_back(*extent);
    }
  }
  const bool operand = ref.role == Role::kInput || ref.role == Role::kOutput;
  if (operand && !NeverMoves(*binding.kernel, ref)) user.copies = ref.buffers;
  for (size_t axis = 0; axis < user.shape.size(); ++axis) {
    bool chosen = !host && axis < ref.view.size() && ref.view[axis].Constant().has_value();
    if (operand && axis < ref.view_dims.size()) {
      chosen = chosen && ref.DimOf(axis).kind != BlockDim::Kind::kAll;
    }
    user.adjustable.push_back(chosen);
  }
  return user;
}

int64_t Total(const std::vector<MemoryUser>& users) {
  int64_t total = 0;
  for (const MemoryUser& user : users) total = Plus(total, user.bytes);
  return total;
}

std::string ByteText(int64_t bytes) {
  char text[64];
  if (bytes == INT64_MAX) return "more than can be counted";
  const double value = double(bytes);
  if (bytes < 1024)
    std::snprintf(text, sizeof text, "%lld B", static_cast<long long>(bytes));
  else if (bytes < (1 << 20))
    std::snprintf(text, sizeof text, "%.1f KiB", value / 1024);
  else if (bytes < (int64_t{1} << 30))
    std::snprintf(text, sizeof text, "%.1f MiB", value / (1 << 20));
  else
    std::snprintf(text, sizeof text, "%.1f GiB", value / (1 << 30));
  return text;
}

/// Lines of columns, the first two left-aligned, the others right-aligned.
std::string Columns(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths(rows[0].size());
  for (const auto& row : rows) {
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line = " ";
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string space(widths[c] - row[c].size(), ' ');
      line += (c == 0 ? " " : "  ") + (c < 2 ? row[c] + space : space + row[c]);
    }
    out += "\n" + line;
  }
  return out;
}

std::string Table(const Kernel& kernel, std::vector<MemoryUser> users) {
  std::stable_sort(users.begin(), users.end(),
                   [](const MemoryUser& a, const MemoryUser& b) { return a.bytes > b.bytes; });
  std::vector<std::vector<std::string>> rows;
  for (const MemoryUser& user : users) {
    const Ref& ref = kernel.refs[size_t(user.ref)];
    const std::string one =
        ByteText(user.bytes == INT64_MAX ? user.bytes : user.bytes / user.copies);
    rows.push_back({"`" + ref.name + "`", ToString(ref.dtype, user.shape),
                    user.copies == 1 ? one : std::to_string(user.copies) + " x " + one,
                    ByteText(user.bytes)});
  }
  return Columns(rows);
}

/// The users with one extent replaced wherever the spec chose it.
std::vector<MemoryUser> Replaced(const Kernel& kernel, std::vector<MemoryUser> users,
                                 int64_t extent, int64_t by, Memory memory) {
  for (MemoryUser& user : users) {
    for (size_t axis = 0; axis < user.shape.size(); ++axis) {
      if (user.adjustable[axis] && user.shape[axis] == extent) user.shape[axis] = by;
    }
    user.bytes = BytesOf(kernel.refs[size_t(user.ref)], user, memory);
  }
  return users;
}

struct Fit {
  int64_t extent = 0, by = 0;
  int64_t total = 0;
  std::vector<MemoryUser> users;
};

/// The largest replacement of `extent`, in whole tiles, with which everything fits.
std::optional<Fit> LargestFit(const Kernel& kernel, const std::vector<MemoryUser>& users,
                              int64_t extent, Memory memory, int64_t budget) {
  const int64_t unit = extent > kLanesOfTile ? kLanesOfTile : 8;
  int64_t low = 0, high = (extent - 1) / unit;  // in units; `low` fits
  const auto fits = [&](int64_t units) {
    return Total(Replaced(kernel, users, extent, units * unit, memory)) <= budget;
  };
  while (low < high) {
    const int64_t middle = high - (high - low) / 2;
    if (fits(middle))
      low = middle;
    else
      high = middle - 1;
  }
  if (low == 0) return std::nullopt;
  Fit fit{extent, low * unit, 0, Replaced(kernel, users, extent, low * unit, memory)};
  fit.total = Total(fit.users);
  return fit;
}

/// The one change of a block extent that fits and keeps the most.
std::string FitHint(const Kernel& kernel, const std::vector<MemoryUser>& users, Memory memory,
                    int64_t budget) {
  std::set<int64_t> extents;
  for (const MemoryUser& user : users) {
    for (size_t axis = 0; axis < user.shape.size(); ++axis) {
      if (user.adjustable[axis] && user.shape[axis] > 8) extents.insert(user.shape[axis]);
    }
  }
  std::optional<Fit> best;
  for (const int64_t extent : extents) {
    auto fit = LargestFit(kernel, users, extent, memory, budget);
    if (fit && (!best || fit->total > best->total)) best = std::move(fit);
  }
  if (!best) {
    return extents.empty() ? "cut the arrays into smaller blocks, or leave the largest in HBM "
                             "(memory: any) and copy parts of it"
                           : "no change of one block extent is enough: make several smaller";
  }
  const MemoryUser* changed = nullptr;  // the largest of those that shrink
  for (size_t i = 0; i < users.size(); ++i) {
    const bool shrinks = best->users[i].shape != users[i].shape;
    if (shrinks && (!changed || best->users[i].bytes > changed->bytes)) changed = &best->users[i];
  }
  const Ref& ref = kernel.refs[size_t(changed->ref)];
  return "the largest that fits with one extent changed: " + std::to_string(best->by) +
         " in place of " + std::to_string(best->extent) + " (`" + ref.name + "` is then " +
         ToString(ref.dtype, changed->shape) + "; " + ByteText(best->total) + " in all)";
}

void CheckTier(GridContext& context, Memory memory, const char* name, int64_t budget) {
  if (budget <= 0) return;
  const std::vector<MemoryUser> users = MemoryUsers(context.binding, memory);
  const int64_t total = Total(users);
  if (total <= budget) return;
  const auto largest =
      std::max_element(users.begin(), users.end(),
                       [](const MemoryUser& a, const MemoryUser& b) { return a.bytes < b.bytes; });
  context.Error("tier", largest->ref, context.ref(largest->ref).span,
                std::string("the kernel needs ") + ByteText(total) + " of " + name +
                    ", which has " + ByteText(budget) + ":" + Table(context.kernel, users),
                FitHint(context.kernel, users, memory, budget));
}

}  // namespace

std::vector<MemoryUser> MemoryUsers(const Binding& binding, Memory memory) {
  std::vector<MemoryUser> users;
  for (size_t i = 0; i < binding.kernel->refs.size(); ++i) {
    const Ref& ref = binding.kernel->refs[i];
    if (!LivesIn(ref, memory)) continue;
    auto user = UserOf(binding, int(i));
    if (!user) continue;  // at least what the rest needs is counted
    user->bytes = BytesOf(ref, *user, memory);
    users.push_back(std::move(*user));
  }
  return users;
}

void CheckTiers(GridContext& context) {
  CheckTier(context, Memory::kVmem, "VMEM", context.options.vmem_bytes);
  CheckTier(context, Memory::kSmem, "SMEM", context.options.smem_bytes);
}

}  // namespace kiln
