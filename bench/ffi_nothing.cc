// A custom call of XLA that does nothing, beside which calls of kernels are timed.
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

static ffi::Error Nothing(ffi::RemainingArgs, ffi::RemainingRets) { return ffi::Error::Success(); }

XLA_FFI_DEFINE_HANDLER_SYMBOL(bench_nothing, Nothing,
                              ffi::Ffi::Bind().RemainingArgs().RemainingRets());
