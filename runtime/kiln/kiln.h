// What a caller of generated kernels includes, and what every kernel's own header includes.
#pragma once

#include "kiln/c.h"
#include "kiln/context.h"
#include "kiln/status.h"
#include "kiln/tensor.h"
#include "kiln/types.h"
