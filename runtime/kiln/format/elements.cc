#include "kiln/format/elements.h"

namespace kiln::inline KILN_ABI::internal {
namespace {

/// Almost always none is undefined: pieces of a fixed size are what compilers turn into vectors.
template <typename T>
const void* FindPoison(const void* data, int64_t count) {
  if (!kMarksUndefined<T>) return nullptr;
  constexpr int64_t kPiece = 256;
  const T* at = static_cast<const T*>(data);
  const T* const end = at + count;
  for (; kPiece <= end - at; at += kPiece) {
    BitsOf<T> any = 0;
    for (int64_t i = 0; i < kPiece; ++i) any |= PoisonMask(at[i]);
    if (any != 0) break;
  }
  while (at != end && !IsPoison(*at)) ++at;
  return at == end ? nullptr : at;
}

template <typename T>
constexpr ElementType kElementType{
    kBitsOf<T>,
    kMarksUndefined<T>,
    {PoisonOf<T>(Hole::kUnset), PoisonOf<T>(Hole::kUnstored), PoisonOf<T>(Hole::kEdge)},
    FindPoison<T>,
    [](const void* element) { return HoleOf(*static_cast<const T*>(element)); }};

}  // namespace

const ElementType& ElementTypeOf(Dtype dtype) {
  static constexpr const ElementType* kTypes[] = {
#define KILN_DTYPE(dtype, type, name, code, bits, mantissa) &kElementType<type>,
#include "kiln/core/dtypes.def"
  };
  return *kTypes[static_cast<size_t>(dtype)];
}

}  // namespace kiln::inline KILN_ABI::internal
