#pragma once

// Catch2 under either of its names: one header (2.x) or a library (3.x).
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
