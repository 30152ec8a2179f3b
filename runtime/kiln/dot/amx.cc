#include "kiln/dot/amx.h"

#include <string.h>

#include <atomic>

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#define KILN_HAS_AMX
#endif

namespace kiln::inline KILN_ABI {
namespace {

#ifdef KILN_HAS_AMX
/// AMX's registers are large, so that Linux gives them to a process that asks.
bool AskForRegisters() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

bool Detect() {
  constexpr unsigned kBf16 = 1u << 22, kTiles = 1u << 24, kBytes = 1u << 25;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  return (d & kBf16) != 0 && (d & kTiles) != 0 && (d & kBytes) != 0 && AskForRegisters();
}
#else
bool Detect() { return false; }
#endif

std::atomic<bool>& IsUsed() {
  static std::atomic<bool> used{Detect()};
  return used;
}

std::atomic<AmxMultiply>& Instead() {
  static std::atomic<AmxMultiply> instead{nullptr};
  return instead;
}

}  // namespace

bool HasAmx() { return IsUsed().load(std::memory_order_relaxed); }

void SetAmxForTest(bool used, AmxMultiply instead) {
  static const bool detected = Detect();
  Instead() = instead;
  IsUsed() = used && (detected || instead != nullptr);
}

#ifdef KILN_HAS_AMX

// Registers by number, as assembly names them. 0 to 5 have sums, 6 has A. B is in 7, or in 3 to 5
// where these have no sums. Assembly and not intrinsics, which need a compiler's option.
#define KILN_ZERO(sums) asm volatile("tilezero %%tmm" #sums ::)
#define KILN_LOAD(to, from, stride) \
  asm volatile("tileloadd (%0,%1,1), %%tmm" #to ::"r"(from), "r"(stride) : "memory")
#define KILN_STORE(from, to, stride) \
  asm volatile("tilestored %%tmm" #from ", (%0,%1,1)" ::"r"(to), "r"(stride) : "memory")
#define KILN_MULTIPLY(sums, b) Multiply##sums##By##b<kElements>()
#define KILN_DEFINE_MULTIPLY(sums, b)                                \
  template <AmxElements kElements>                                   \
  inline void Multiply##sums##By##b() {                              \
    if constexpr (kElements == AmxElements::kBf16)                   \
      asm volatile("tdpbf16ps %%tmm" #b ", %%tmm6, %%tmm" #sums ::); \
    else if constexpr (kElements == AmxElements::kS8S8)              \
      asm volatile("tdpbssd %%tmm" #b ", %%tmm6, %%tmm" #sums ::);   \
    else if constexpr (kElements == AmxElements::kS8U8)              \
      asm volatile("tdpbsud %%tmm" #b ", %%tmm6, %%tmm" #sums ::);   \
    else if constexpr (kElements == AmxElements::kU8S8)              \
      asm volatile("tdpbusd %%tmm" #b ", %%tmm6, %%tmm" #sums ::);   \
    else                                                             \
      asm volatile("tdpbuud %%tmm" #b ", %%tmm6, %%tmm" #sums ::);   \
  }

namespace {

constexpr ptrdiff_t kRegisterRowBytes = 64;

KILN_DEFINE_MULTIPLY(0, 7)
KILN_DEFINE_MULTIPLY(1, 7)
KILN_DEFINE_MULTIPLY(2, 7)
KILN_DEFINE_MULTIPLY(3, 7)
KILN_DEFINE_MULTIPLY(4, 7)
KILN_DEFINE_MULTIPLY(5, 7)
KILN_DEFINE_MULTIPLY(0, 3)
KILN_DEFINE_MULTIPLY(1, 4)
KILN_DEFINE_MULTIPLY(2, 5)

/// The sums of a register row of a tile.
template <size_t kVectors>
inline void LoadSums(const AmxTile& tile) {
  if (tile.from_zero) {
    KILN_ZERO(0);
    if constexpr (kVectors > 1) KILN_ZERO(1);
    if constexpr (kVectors > 2) KILN_ZERO(2);
    return;
  }
  const char* const at = tile.sums;
  KILN_LOAD(0, at, tile.sums_to_row);
  if constexpr (kVectors > 1) KILN_LOAD(1, at + tile.sums_to_vector, tile.sums_to_row);
  if constexpr (kVectors > 2) KILN_LOAD(2, at + 2 * tile.sums_to_vector, tile.sums_to_row);
}
template <size_t kVectors>
inline void LoadSumsOfSecondRows(const AmxTile& tile) {
  if (tile.from_zero) {
    KILN_ZERO(3);
    if constexpr (kVectors > 1) KILN_ZERO(4);
    if constexpr (kVectors > 2) KILN_ZERO(5);
    return;
  }
  const char* const at = tile.sums + ptrdiff_t{kAmxRows} * tile.sums_to_row;
  KILN_LOAD(3, at, tile.sums_to_row);
  if constexpr (kVectors > 1) KILN_LOAD(4, at + tile.sums_to_vector, tile.sums_to_row);
  if constexpr (kVectors > 2) KILN_LOAD(5, at + 2 * tile.sums_to_vector, tile.sums_to_row);
}

template <size_t kVectors>
inline void StoreSums(const AmxTile& tile) {
  char* const at = tile.sums;
  KILN_STORE(0, at, tile.sums_to_row);
  if constexpr (kVectors > 1) KILN_STORE(1, at + tile.sums_to_vector, tile.sums_to_row);
  if constexpr (kVectors > 2) KILN_STORE(2, at + 2 * tile.sums_to_vector, tile.sums_to_row);
}
template <size_t kVectors>
inline void StoreSumsOfSecondRows(const AmxTile& tile) {
  char* const at = tile.sums + ptrdiff_t{kAmxRows} * tile.sums_to_row;
  KILN_STORE(3, at, tile.sums_to_row);
  if constexpr (kVectors > 1) KILN_STORE(4, at + tile.sums_to_vector, tile.sums_to_row);
  if constexpr (kVectors > 2) KILN_STORE(5, at + 2 * tile.sums_to_vector, tile.sums_to_row);
}

/// One register of A times those of B.
template <AmxElements kElements, size_t kVectors>
inline void Step(const char* a, ptrdiff_t a_to_row, const char* b, ptrdiff_t b_to_k) {
  KILN_LOAD(6, a, a_to_row);
  KILN_LOAD(3, b, b_to_k);
  KILN_MULTIPLY(0, 3);
  if constexpr (kVectors > 1) {
    KILN_LOAD(4, b + kRegisterRowBytes, b_to_k);
    KILN_MULTIPLY(1, 4);
  }
  if constexpr (kVectors > 2) {
    KILN_LOAD(5, b + 2 * kRegisterRowBytes, b_to_k);
    KILN_MULTIPLY(2, 5);
  }
}

/// Two of A. Those of B are read twice, the last one once: a load takes half as long as a product.
template <AmxElements kElements, size_t kVectors>
inline void StepOfTwo(const char* a, ptrdiff_t a_to_row, const char* b, ptrdiff_t b_to_k) {
  KILN_LOAD(6, a, a_to_row);
  KILN_LOAD(7, b, b_to_k);
  KILN_MULTIPLY(0, 7);
  if constexpr (kVectors > 1) {
    KILN_LOAD(7, b + kRegisterRowBytes, b_to_k);
    KILN_MULTIPLY(1, 7);
  }
  if constexpr (kVectors > 2) {
    KILN_LOAD(7, b + 2 * kRegisterRowBytes, b_to_k);
    KILN_MULTIPLY(2, 7);
  }
  KILN_LOAD(6, a + ptrdiff_t{kAmxRows} * a_to_row, a_to_row);
  if constexpr (kVectors > 2) {
    KILN_MULTIPLY(5, 7);
    KILN_LOAD(7, b + kRegisterRowBytes, b_to_k);
  }
  if constexpr (kVectors > 1) {
    KILN_MULTIPLY(4, 7);
    KILN_LOAD(7, b, b_to_k);
  }
  KILN_MULTIPLY(3, 7);
}

/// A tile of one register of rows, or of two.
template <AmxElements kElements, size_t kVectors, bool kTwo>
void MultiplyTile(const AmxTile& tile, size_t rows) {
  constexpr auto kStep = kTwo ? StepOfTwo<kElements, kVectors> : Step<kElements, kVectors>;
  LoadSums<kVectors>(tile);
  if constexpr (kTwo) LoadSumsOfSecondRows<kVectors>(tile);
  const char *a = tile.a, *b = tile.b;
  if (tile.depth < kAmxKGroups) {  // of which registers have no more
    if (tile.depth != 0) kStep(a, tile.a_to_row, b, tile.b_to_k);
  } else {
    for (size_t k = 0; k < tile.depth / kAmxKGroups; ++k) {
      kStep(a, tile.a_to_row, b, tile.b_to_k);
      a += kRegisterRowBytes;
      b += ptrdiff_t{kAmxKGroups} * tile.b_to_k;
    }
    if (const size_t left = tile.depth % kAmxKGroups; left != 0) {
      alignas(64) char rest[kAmxTileRows * kRegisterRowBytes] = {};
      for (size_t r = 0; r < rows; ++r) {
        memcpy(rest + r * kRegisterRowBytes, a + static_cast<ptrdiff_t>(r) * tile.a_to_row,
               left * sizeof(int32_t));
      }
      kStep(rest, kRegisterRowBytes, b, tile.b_to_k);
    }
  }
  StoreSums<kVectors>(tile);
  if constexpr (kTwo) StoreSumsOfSecondRows<kVectors>(tile);
}

template <AmxElements kElements, bool kTwo>
void MultiplyVectors(const AmxTile& tile, size_t rows, size_t vectors) {
  if (vectors == 3) return MultiplyTile<kElements, 3, kTwo>(tile, rows);
  if (vectors == 2) return MultiplyTile<kElements, 2, kTwo>(tile, rows);
  MultiplyTile<kElements, 1, kTwo>(tile, rows);
}

template <AmxElements kElements>
void MultiplyRows(const AmxTile& tile, size_t rows, size_t vectors) {
  if (rows == kAmxTileRows) return MultiplyVectors<kElements, true>(tile, rows, vectors);
  MultiplyVectors<kElements, false>(tile, rows, vectors);
}

}  // namespace

namespace {

/// What registers of sums and of A have rows of, how many k-groups A has and B has rows of, and
/// whether there are sums of two registers of rows.
struct Shapes {
  size_t rows = 0, groups = 0;  // 0: not in use
  bool two = false;

  bool operator==(const Shapes&) const = default;
};

/// The same as the instruction wants them. They stay in memory from one product to the next: it
/// waits if they have just been written.
struct alignas(64) ShapesInMemory {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};

  void Set(const Shapes& shapes) {
    const auto set = [this](int i, size_t of_rows, size_t bytes) {
      rows[i] = static_cast<uint8_t>(of_rows);
      row_bytes[i] = static_cast<uint16_t>(bytes);
    };
    for (int i = 0; i < 3; ++i) set(i, shapes.rows, kRegisterRowBytes);
    for (int i = 3; i < 6; ++i) set(i, shapes.two ? kAmxRows : shapes.groups, kRegisterRowBytes);
    set(6, shapes.rows, shapes.groups * sizeof(int32_t));
    set(7, shapes.groups, kRegisterRowBytes);
  }
};
static_assert(sizeof(ShapesInMemory) == 64);

/// The registers of a thread.
struct OfThread {
  int users = 0;
  Shapes now, known;
  ShapesInMemory in_memory;  // of `known`
};
thread_local OfThread of_thread;

void SetShapes(size_t rows, size_t depth) {
  const size_t groups = depth == 0 || depth > kAmxKGroups ? kAmxKGroups : depth;
  const Shapes shapes{rows < kAmxRows ? rows : kAmxRows, groups,
                      rows > kAmxRows || (rows == kAmxRows && groups == kAmxKGroups)};
  OfThread& registers = of_thread;
  if (registers.now == shapes) return;
  if (registers.known != shapes) registers.in_memory.Set(shapes);
  registers.now = registers.known = shapes;
  asm volatile("ldtilecfg %0" ::"m"(registers.in_memory));
}

}  // namespace

AmxRegisters::AmxRegisters() { ++of_thread.users; }

AmxRegisters::~AmxRegisters() {
  OfThread& registers = of_thread;
  if (--registers.users != 0 || registers.now.rows == 0) return;
  asm volatile("tilerelease" ::);
  registers.now = {};
}

void AmxRegisters::Multiply(AmxElements elements, const AmxTile& tile, size_t rows,
                            size_t vectors) {
  if (const AmxMultiply instead = Instead().load(std::memory_order_relaxed))
    return instead(elements, tile, rows, vectors);
  SetShapes(rows, tile.depth);
  switch (elements) {
    case AmxElements::kNone:
      return;
    case AmxElements::kBf16:
      return MultiplyRows<AmxElements::kBf16>(tile, rows, vectors);
    case AmxElements::kS8S8:
      return MultiplyRows<AmxElements::kS8S8>(tile, rows, vectors);
    case AmxElements::kS8U8:
      return MultiplyRows<AmxElements::kS8U8>(tile, rows, vectors);
    case AmxElements::kU8S8:
      return MultiplyRows<AmxElements::kU8S8>(tile, rows, vectors);
    case AmxElements::kU8U8:
      return MultiplyRows<AmxElements::kU8U8>(tile, rows, vectors);
  }
}

#else

AmxRegisters::AmxRegisters() = default;
AmxRegisters::~AmxRegisters() = default;
void AmxRegisters::Multiply(AmxElements elements, const AmxTile& tile, size_t rows,
                            size_t vectors) {
  if (const AmxMultiply instead = Instead()) instead(elements, tile, rows, vectors);
}

#endif

}  // namespace kiln::inline KILN_ABI
