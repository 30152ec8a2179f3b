// What stages may take of the machine: how it is written, and how it is told.
#include "generator/system/limits.h"

#include "tests/catch.h"

namespace kiln {
namespace {

TEST_CASE("limits are read as memory, as time, or as both") {
  Limits limits{1, 2};
  REQUIRE(ParseLimits("64GiB", limits));
  CHECK(limits.bytes == 64 * 0x1p30);
  CHECK(limits.seconds == 2);
  REQUIRE(ParseLimits("1.5h", limits));
  CHECK(limits.bytes == 64 * 0x1p30);
  CHECK(limits.seconds == 5400);
  REQUIRE(ParseLimits("10min,512MiB", limits));
  CHECK(limits.bytes == 0x1p29);
  CHECK(limits.seconds == 600);
}

TEST_CASE("what is no limit is refused") {
  for (const char* text : {"", ",", "64", "GiB", "64GB", "-1GiB", "0s", "nan s", "inf", "1e999GiB",
                           "64GiB 2h", "64GiB,", "2hours", "0x"}) {
    INFO(text);
    Limits limits;
    CHECK(!ParseLimits(text, limits));
  }
}

TEST_CASE("estimates are printed in two digits") {
  CHECK(RoughBytes(40 * 0x1p30) == "40 GiB");
  CHECK(RoughBytes(1.5 * 0x1p20) == "1.5 MiB");
  CHECK(RoughBytes(7) == "7 B");
  CHECK(RoughBytes(0x1p70) == "1024 EiB");
  CHECK(RoughSeconds(12.34) == "12 s");
  CHECK(RoughSeconds(185) == "3.1 min");
  CHECK(RoughSeconds(7200) == "2 h");
  CHECK(RoughSeconds(0x1p62) == "1.5e+11 years");
}

TEST_CASE("the limit that is suggested lets the demand pass, and none is suggested in vain") {
  const Limits limits{0x1p30, 60};
  for (const Demand& demand : {Demand{40 * 0x1p30, 0}, Demand{0, 61}, Demand{0x1p49, 1e6},
                               Demand{0x1p30 + 1, 3599}, Demand{0, 200 * 3600.0}}) {
    REQUIRE(!limits.Allow(demand));
    Limits raised = limits;
    const std::string text = LimitFor(demand, limits);
    INFO(text);
    REQUIRE(ParseLimits(text, raised));
    CHECK(raised.Allow(demand));
  }
  CHECK(LimitFor({40 * 0x1p30, 150}, limits) == "64GiB,4min");
  CHECK(LimitFor({0x1p60, 0}, limits).empty());
  CHECK(LimitFor({0, 1e12}, limits).empty());
}

TEST_CASE("the default is half of the memory, 8 GiB at most, and a minute") {
  const Limits limits = DefaultLimits();
  CHECK(limits.bytes <= 8 * 0x1p30);
  CHECK(limits.bytes > 0);
  CHECK(limits.seconds == 60);
}

}  // namespace
}  // namespace kiln
