// Writes the hash of what each kernel computes, with 1 to 16 cores, in both modes and several
// orders: "softmax 0f…; direct, 3 cores". An argument is a locale to do it in; "flush": in a thread
// that rounds down and takes subnormal numbers for zero.
#include <cfenv>
#include <cinttypes>
#include <clocale>
#include <cstdio>
#include <cstring>
#include <utility>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "tests/promises/kernels.h"

namespace {

using namespace kiln::test;

bool Write(KernelCall& call, const Setting& setting) {
  const kiln_options options = setting.options();
  kiln_context* const context = kiln_context_new(&options);
  call.Spoil();
  const kiln_status status = call.Run(context);
  kiln_context_free(context);
  std::printf("%s %016" PRIx64 "; %s\n", call.name().c_str(), call.Hash(), NameOf(setting).c_str());
  if (status.code != 0) std::fprintf(stderr, "%s\n", status.message);
  return status.code == 0;
}

/// Diagnostics have decimal points, too.
void WriteDiagnostic(KernelCall call) {
  kiln_options options = Setting{KILN_EMULATED}.options();
  options.vmem_bytes = 10000;
  kiln_context* const context = kiln_context_new(&options);
  std::printf("%s\n", call.Run(context).message);
  kiln_context_free(context);
}

void RoundDownAndFlush() {
  std::fesetround(FE_DOWNWARD);
#if defined(__SSE2__)
  _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
}

bool RoundsDownAndFlushes() {
#if defined(__SSE2__)
  if ((_mm_getcsr() & 0x8040) != 0x8040) return false;
#endif
  return std::fegetround() == FE_DOWNWARD;
}

}  // namespace

int main(int count, char** arguments) {
  const bool flush = count > 1 && std::strcmp(arguments[1], "flush") == 0;
  if (count > 1 && !flush && std::setlocale(LC_ALL, arguments[1]) == nullptr) {
    std::fprintf(stderr, "there is no locale %s\n", arguments[1]);
    return 2;
  }
  bool good = true;
  WriteDiagnostic(std::move(KernelCalls(8).front()));
  auto calls = KernelCalls(8);
  if (flush) RoundDownAndFlush();
  for (KernelCall& call : calls) {
    for (const int32_t mode : {KILN_DIRECT, KILN_EMULATED}) {
      for (int32_t cores = 1; cores <= 16; ++cores) good = Write(call, {mode, cores}) && good;
      good = Write(call, {mode, 3, false, true}) && good;
    }
    good = Write(call, {KILN_EMULATED, 2, true}) && good;
  }
  if (flush && !RoundsDownAndFlushes()) {
    std::fprintf(stderr, "a call has changed how its thread rounds\n");
    return 1;
  }
  return good ? 0 : 1;
}
