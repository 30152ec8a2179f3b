// Copies by hand that Direct does not make: who reads what they would bring reads it where it is,
// and who computes what they would take away puts it where it goes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kiln/core/list.h"
#include "kiln/core/tile.h"
#include "kiln/core/version.h"
#include "kiln/emulate/copy_end.h"

namespace kiln::inline KILN_ABI {
namespace internal {

/// Whether each element of one is an element of the other, of the same tile or array.
bool Covers(const Window& all, const Window& part);

/// Whether the elements of one end can be seen at the other as those of a tile: its last dimension
/// is contiguous.
bool CanSee(const CopyEnd& of_tile, const CopyEnd& other);

/// The tile, of which `of_tile` is a part, with that part where the other end of the copy is. It
/// has no other elements.
template <typename T, int V>
Tile<T, V> SeenAt(Tile<T, V> tile, const CopyEnd& of_tile, const CopyEnd& other) {
  for (int k = 0; k < of_tile.rank; ++k) {
    const int d = of_tile.dimension[k];
    if (d + 1 < V)  // the last one's is 1, whatever that of a single element is
      tile.stride[static_cast<size_t>(d)] = other.stride[k] / static_cast<int64_t>(sizeof(T));
  }
  int64_t before = 0;  // elements from the tile's first to the part's
  for (size_t d = 0; d < V; ++d) before += of_tile.window.start[d] * tile.stride[d];
  const auto first = reinterpret_cast<uintptr_t>(other.data);
  tile.data = reinterpret_cast<T*>(first - static_cast<uintptr_t>(before) * sizeof(T));
  return tile;
}

}  // namespace internal

/// A copy to a buffer of VMEM that has not been made.
struct LeftCopy {
  CopyEnd from, to;
  size_t element;
};

/// One whose bytes are there before it starts.
struct CopyAhead {
  const char *from, *to;
};

/// Those to one buffer, which nothing but copies from arrays sets that nobody writes.
class LeftCopies {
 public:
  explicit LeftCopies(const void* buffer = nullptr) : buffer_(buffer) {}

  bool IsOf(const void* buffer) const { return buffer_ == buffer; }
  bool IsEmpty() const { return left_.empty(); }

  /// Leaves a copy, in place of those whose elements it brings anew. False: it has to be made, and
  /// what it does not replace is in the buffer.
  bool Leave(const CopyEnd& from, const CopyEnd& to, size_t element);
  /// The copy that brings all of a part; null: it is in the buffer. Of what several copies bring
  /// together they are made, and from now on all are: they would have been made one by one.
  const LeftCopy* Find(const CopyEnd& part);
  /// Makes all of them.
  void Make();

 private:
  const void* buffer_;
  bool leaves_ = true;
  internal::List<LeftCopy> left_;
};

}  // namespace kiln::inline KILN_ABI
