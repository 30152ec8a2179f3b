// Who has read and written which elements of an array, by windows alone.
#include "kiln/errors/touches.h"

#include "tests/catch.h"

namespace kiln {
namespace {

TEST_CASE("Elements that overlapping blocks cover are counted once") {
  Touches touches;
  const auto window = [](int64_t start, int64_t size) {
    Window part;
    part.rank = 1;
    part.extent[0] = 8;
    part.start[0] = start;
    part.size[0] = size;
    return part;
  };
  CHECK(touches.Written(3) == 0);
  touches.Write(3, window(0, 3), {3, 0, 0, 0, false});
  touches.Write(3, window(2, 4), {3, 0, 0, 1, true});
  CHECK(touches.Written(3) == 6);
  CHECK(touches.Written(2) == 0);
  touches.Clear();
  CHECK(touches.Written(3) == 0);
}

TEST_CASE("Another call begins with nobody's touches") {
  Touches touches;
  Window window;
  window.rank = 1;
  window.extent[0] = 4;
  window.size[0] = 4;
  CHECK(touches.Write(0, window, {0, 0, 0, 0, false}).code == kOk);
  CHECK(touches.Write(1, window, {1, 0, 5, 0, false}).code == kOk);
  CHECK(touches.Write(0, window, {0, 0, 1, 0, false}).code == kRace);
  touches.Clear();
  CHECK(touches.Write(0, window, {0, 0, 1, 0, false}).code == kOk);
  const Clash read = touches.Read(0, window, {0, 0, 2, 1, false}, false);
  CHECK(read.code == kRace);
  // A reader of the same run and one of another: the write races with the latter.
  touches.Clear();
  touches.Read(0, window, {0, 0, 1, 0, false}, true);
  touches.Read(0, window, {0, 0, 2, 1, false}, true);
  const Clash write = touches.Write(0, window, {0, 3, 1, 2, false});
  CHECK(write.code == kRace);
  CHECK(write.other_reads);
  CHECK(write.other.run == 2);
}

}  // namespace
}  // namespace kiln
