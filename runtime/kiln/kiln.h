// What a caller of generated kernels includes, and what every kernel's own header includes.
#pragma once

#include "kiln/call/c.h"
#include "kiln/call/context.h"
#include "kiln/core/status.h"
#include "kiln/core/tensor.h"
#include "kiln/core/types.h"
