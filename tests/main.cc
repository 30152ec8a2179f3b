// The main function of every test program. With Catch2 3 it comes from the library.
#define CATCH_CONFIG_MAIN
#include "tests/catch.h"
