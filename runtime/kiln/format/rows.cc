#include "kiln/format/rows.h"

#include <algorithm>
#include <cstring>

namespace kiln::inline KILN_ABI::internal {
namespace {

/// Some elements side by side in a block, as offsets.
struct Row {
  int64_t array, array_step, block, count;
};

/// A block in VMEM, by the dimensions of the body's view.
struct Layout {
  Layout(const AnyBox& box, size_t bits) {
    for (int d = 0; d < box.rank; ++d) {
      if (!box.squeezed[d]) dims[rank++] = d;
    }
    for (int v = rank; v-- > 0;) {
      stride[v] = elements;
      elements *= box.size[dims[v]];
      if (begin >= 0 || box.in_row[dims[v]]) continue;
      begin = v;
      row = elements;
      elements = RowStride(row, bits);
    }
    if (rank == 0) elements = RowStride(1, bits);
  }

  int rank = 0;
  int begin = -1;   // the dimension with which rows begin; -1: a single element
  int64_t row = 1;  // elements of a row
  std::array<int, kMaxRank> dims{};
  std::array<int64_t, kMaxRank> stride{};
  int64_t elements = 1;
};

/// The rows of a block that are inside the array; those that follow each other in both are one.
struct RowsInside {
  RowsInside(const AnyBox& box, const Layout& layout, const int64_t* stride)
      : block_stride(layout.stride), last(layout.rank - 1) {
    for (int d = 0; d < box.rank; ++d) {
      array += (box.start[d] + box.low[d]) * stride[d];
      any = any && box.low[d] < box.high[d];
    }
    for (int v = 0; v < layout.rank; ++v) {
      const int d = layout.dims[v];
      extent[v] = box.high[d] - box.low[d];
      array_stride[v] = stride[d];
      block += box.low[d] * layout.stride[v];
    }
    for (; last > 0 && array_stride[last] == 1; --last) {
      const int64_t row = extent[last];
      if (array_stride[last - 1] != row || block_stride[last - 1] != row) break;
      extent[last - 1] *= row;
      array_stride[last - 1] = block_stride[last - 1] = 1;
    }
  }

  int64_t count() const { return last >= 0 ? extent[last] : 1; }
  int64_t step() const { return last >= 0 ? array_stride[last] : 1; }

  /// Calls fn(row) for each.
  template <class Fn>
  void ForEach(const Fn& fn) const {
    if (!any) return;
    ForEachRow(last + 1, extent.data(), array_stride.data(), block_stride.data(),
               [&](int64_t array_row, int64_t block_row) {
                 fn(Row{array + array_row, step(), block + block_row, count()});
               });
  }
  /// Calls fn(row) for the first of those that differ in the last dimension alone.
  template <class Fn>
  void ForEachFirst(const Fn& fn) const {
    if (!any) return;
    ForEachRow(last, extent.data(), array_stride.data(), block_stride.data(),
               [&](int64_t array_row, int64_t block_row) {
                 fn(Row{array + array_row, 1, block + block_row, count()});
               });
  }

  std::array<int64_t, kMaxRank> extent{}, array_stride{}, block_stride{};
  int64_t array = 0, block = 0;
  int last;  // the dimension along a row; -1: none
  bool any = true;
};

/// Copies rows of kWord to 2 * kWord bytes as two pieces of kWord bytes, which may overlap.
template <size_t kWord>
void CopyAsTwo(const char* from, int64_t from_next, char* to, int64_t to_next, int64_t rows,
               int64_t bytes) {
  const int64_t second = bytes - Signed(kWord);
  for (int64_t r = 0; r < rows; ++r, from += from_next, to += to_next) {
    char words[2][kWord];
    std::memcpy(words[0], from, kWord);
    std::memcpy(words[1], from + second, kWord);
    std::memcpy(to, words[0], kWord);
    std::memcpy(to + second, words[1], kWord);
  }
}

constexpr int64_t kMostShortBytes = 64;

/// Rows of up to kMostShortBytes, such as pixels, for each of which a call takes longer.
void CopyShortRows(const char* from, int64_t from_next, char* to, int64_t to_next, int64_t rows,
                   int64_t bytes) {
  if (bytes >= 32) return CopyAsTwo<32>(from, from_next, to, to_next, rows, bytes);
  if (bytes >= 16) return CopyAsTwo<16>(from, from_next, to, to_next, rows, bytes);
  if (bytes >= 8) return CopyAsTwo<8>(from, from_next, to, to_next, rows, bytes);
  if (bytes >= 4) return CopyAsTwo<4>(from, from_next, to, to_next, rows, bytes);
  if (bytes >= 2) return CopyAsTwo<2>(from, from_next, to, to_next, rows, bytes);
  CopyAsTwo<1>(from, from_next, to, to_next, rows, bytes);
}

/// Whether the rows are short, and more than one follow each other; then copies them, from an array
/// into a block or back.
bool CopyIfShort(const RowsInside& rows, char* array, char* block, size_t bits, bool back) {
  if (bits < 8 || rows.last < 1 || rows.step() != 1) return false;
  const auto width = Signed(bits / 8);
  const int64_t bytes = rows.count() * width;
  if (bytes > kMostShortBytes) return false;
  const int64_t next = rows.array_stride[rows.last - 1] * width;
  const int64_t block_next = rows.block_stride[rows.last - 1] * width;
  const int64_t count = rows.extent[rows.last - 1];
  rows.ForEachFirst([&](const Row& row) {
    char* const in_array = array + row.array * width;
    char* const in_block = block + row.block * width;
    if (back)
      CopyShortRows(in_block, block_next, in_array, next, count, bytes);
    else
      CopyShortRows(in_array, next, in_block, block_next, count, bytes);
  });
  return true;
}

template <typename Bits>
void CopyApart(const char* from, int64_t from_step, char* to, int64_t to_step, int64_t count) {
  for (int64_t c = 0; c < count; ++c) {
    std::memcpy(to + c * to_step * Signed(sizeof(Bits)),
                from + c * from_step * Signed(sizeof(Bits)), sizeof(Bits));
  }
}

/// Elements side by side, or apart, from one memory into another; `at` counts elements.
void CopyRow(const char* from, int64_t from_at, int64_t from_step, char* to, int64_t to_at,
             int64_t to_step, int64_t count, size_t bits) {
  if (bits < 8) {
    return CopyPlaces(PlaceOfByte(from) + static_cast<uintptr_t>(from_at), from_step,
                      PlaceOfByte(to) + static_cast<uintptr_t>(to_at), to_step, count);
  }
  const auto width = Signed(bits / 8);
  from += from_at * width;
  to += to_at * width;
  if ((from_step == 1 && to_step == 1) || count == 1) {
    std::memcpy(to, from, Unsigned(count * width));
    return;
  }
  switch (width) {
    case 1:
      return CopyApart<uint8_t>(from, from_step, to, to_step, count);
    case 2:
      return CopyApart<uint16_t>(from, from_step, to, to_step, count);
    case 4:
      return CopyApart<uint32_t>(from, from_step, to, to_step, count);
    default:
      return CopyApart<uint64_t>(from, from_step, to, to_step, count);
  }
}

/// Sets elements of a block that are outside of the array.
struct Padding {
  const AnyBox& box;
  const Layout& layout;
  const void* value;
  size_t bits;
  char* block;
  int deepest = -1;  // the last dimension that has such elements, set by Find

  /// All along dimension v, and what a row has behind it.
  int64_t Elements(int v) const {
    return v == layout.begin ? RowStride(layout.row, bits)
                             : layout.stride[v] * box.size[layout.dims[v]];
  }
  void Find() {
    for (int v = 0; v < layout.rank; ++v) {
      const int d = layout.dims[v];
      if (box.low[d] != 0 || box.high[d] * layout.stride[v] != Elements(v)) deepest = v;
    }
  }
  void Fill(int64_t at, int64_t count) const {
    if (bits < 8)
      FillPlaces(PlaceOfByte(block) + static_cast<uintptr_t>(at), 1, count,
                 *static_cast<const uint8_t*>(value));
    else
      FillElements(block + at * Signed(bits / 8), count, value, bits);
  }
  /// In the part of the block from `at` on, by the dimensions of the view from v on.
  void Fill(int v, int64_t at) const {
    if (v > deepest) return;
    const int d = layout.dims[v];
    const int64_t each = layout.stride[v];
    Fill(at, box.low[d] * each);
    Fill(at + box.high[d] * each, Elements(v) - box.high[d] * each);
    if (v == deepest) return;
    for (int64_t i = box.low[d]; i < box.high[d]; ++i) Fill(v + 1, at + i * each);
  }
};

template <typename Bits>
void FillWith(void* to, int64_t count, const void* value) {
  Bits bits;
  std::memcpy(&bits, value, sizeof(bits));
  std::array<Bits, 64 / sizeof(Bits)> line;
  line.fill(bits);
  const auto in_line = Signed(line.size());
  char* at = static_cast<char*>(to);
  for (; count >= in_line; count -= in_line, at += sizeof(line))
    std::memcpy(at, line.data(), sizeof(line));
  for (; count > 0; --count, at += sizeof(bits)) std::memcpy(at, &bits, sizeof(bits));
}

}  // namespace

void CopyRows(const AnyArray& from, const AnyBox& box, void* to) {
  char* const block = static_cast<char*>(to);
  const RowsInside rows(box, Layout(box, from.bits), from.stride.data());
  if (CopyIfShort(rows, from.data, block, from.bits, /*back=*/false)) return;
  rows.ForEach([&](const Row& row) {
    CopyRow(from.data, row.array, row.array_step, block, row.block, 1, row.count, from.bits);
  });
}

void CopyRowsBack(const AnyArray& to, const AnyBox& box, const void* from) {
  char* const block = const_cast<char*>(static_cast<const char*>(from));
  const RowsInside rows(box, Layout(box, to.bits), to.stride.data());
  if (CopyIfShort(rows, to.data, block, to.bits, /*back=*/true)) return;
  rows.ForEach([&](const Row& row) {
    CopyRow(block, row.block, 1, to.data, row.array, row.array_step, row.count, to.bits);
  });
}

void FillElements(void* to, int64_t count, const void* value, size_t bits) {
  switch (bits) {
    case 4:
      return FillPlaces(PlaceOfByte(to), 1, count, *static_cast<const uint8_t*>(value));
    case 8:
      return FillWith<uint8_t>(to, count, value);
    case 16:
      return FillWith<uint16_t>(to, count, value);
    case 32:
      return FillWith<uint32_t>(to, count, value);
    default:
      return FillWith<uint64_t>(to, count, value);
  }
}

void FillRows(const AnyBox& box, const void* value, size_t bits, void* to) {
  FillElements(to, Layout(box, bits).elements, value, bits);
}

void PadRows(const AnyBox& box, const void* value, size_t bits, void* to) {
  for (int d = 0; d < box.rank; ++d) {
    if (box.high[d] <= box.low[d]) return FillRows(box, value, bits, to);
  }
  const Layout layout(box, bits);
  // Behind each short row is more to pad than in it: all of the block is as soon filled.
  const auto bytes = Signed(BytesOf(Unsigned(layout.row), bits));
  if (bytes < kMostShortBytes) return FillElements(to, layout.elements, value, bits);
  Padding padding{box, layout, value, bits, static_cast<char*>(to)};
  padding.Find();
  padding.Fill(0, 0);
}

const void* FindPoisonInRows(const AnyBox& box, const void* data, const ElementType& element,
                             int64_t* at) {
  const char* const block = static_cast<const char*>(data);
  const auto width = Signed(element.bits / 8);  // packed elements show nothing
  const Layout layout(box, element.bits);
  constexpr std::array<int64_t, kMaxRank> kNoArray{};
  const void* found = nullptr;
  RowsInside(box, layout, kNoArray.data()).ForEach([&](const Row& row) {
    if (found == nullptr) found = element.find_poison(block + row.block * width, row.count);
  });
  if (found == nullptr) return nullptr;
  int64_t offset = (static_cast<const char*>(found) - block) / width;
  std::copy_n(box.start, box.rank, at);
  for (int v = 0; v < layout.rank; ++v) {
    at[layout.dims[v]] += offset / layout.stride[v];
    offset %= layout.stride[v];
  }
  return found;
}

}  // namespace kiln::inline KILN_ABI::internal
