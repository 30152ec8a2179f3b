// The main function of every test program. Mostly it comes from the library: this is for packages
// that have the header alone, and for another machine.
#define CATCH_CONFIG_MAIN
#include "tests/catch.h"
