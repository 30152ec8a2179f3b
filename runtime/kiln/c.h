/* What C and other languages include. */
#include "kiln/call/c.h"
