#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "generator/check/grid/index_program.h"

/// Walks a grid, or only the part of it that an expression can distinguish.
namespace kiln {

/// Reports the share of the work done, at most every 50 ms.
class Progress {
 public:
  Progress(std::function<void(double)> report, int phases);
  void NextPhase();
  /// The phase consists of `parts` sweeps of about equal length.
  void Split(int64_t parts) { parts_ = parts > 0 ? parts : 1; }
  void NextPart() { ++part_; }
  void Tick(double share_of_part);
  void Finish();  ///< says so if anything was reported before

 private:
  std::function<void(double)> report_;
  int phases_, phase_ = -1;
  int64_t parts_ = 1, part_ = 0;
  bool reported_ = false;
  std::chrono::steady_clock::time_point next_;
};

/// The values of a loop variable in a space.
struct LoopRange {
  int local = -1;
  int64_t low = 0;
  int64_t count = 0;
};

/// A set of grid points in lexicographic order, numbered from 0. An axis that the program does
/// not look at stands for all its steps by its first one (or two); an axis of which only the
/// ends matter by its first three and last two. Five, because the third stands for every step
/// between: its neighbours on both sides are like it, so that stays begin and end as they do in
/// the full grid.
class GridSpace {
 public:
  enum class Unused {
    kOnce,   // nothing but the values at each point matters
    kTwice,  // the order of visits matters too: a second step comes back to what the first visited
  };
  /// Nullopt when there are more than 2^63 points.
  static std::optional<GridSpace> Make(const Binding& binding, const std::vector<AxisUse>& use,
                                       Unused unused, const std::vector<LoopRange>& loops = {});

  int64_t size() const { return size_; }
  /// Points with the same coordinates along the parallel axes, which are consecutive.
  int64_t serial_size() const { return serial_size_; }
  /// Points after which a stay of the operand ends, wherever it is then.
  int64_t RunOf(const Ref& ref) const {
    return ref.in_pipeline ? std::min(serial_size_, pipeline_size_) : serial_size_;
  }
  /// The grid's coordinates of a point.
  std::vector<int64_t> AxesAt(int64_t point) const;
  int64_t LoopAt(int64_t point, int local) const;
  /// How many points of the full grid a point stands for (saturating).
  int64_t Weight(int64_t point) const;

  /// Coordinates along `axis` of the points begin … begin+count-1; the rest of the register
  /// repeats the last.
  void FillAxis(size_t axis, int64_t begin, int count, int64_t* to) const;
  void FillLoop(int local, int64_t begin, int count, int64_t* to) const;
  /// True when the coordinate is the same for the points begin … end-1.
  bool AxisIsConstant(size_t axis, int64_t begin, int64_t end) const;

 private:
  struct Coordinate {
    int local = -1;      // a loop's variable, or
    int64_t steps = 0;   // an axis, of so many steps in the grid
    int64_t count = 1;   // positions
    int64_t period = 1;  // points between two positions
    int64_t low = 0;
    AxisUse use = AxisUse::kFull;
  };
  static int64_t ValueAt(const Coordinate& c, int64_t position);
  static int64_t PositionOf(const Coordinate& c, int64_t point);
  static void Fill(const Coordinate& c, int64_t begin, int count, int64_t* to);
  const Coordinate& Loop(int local) const;

  std::vector<Coordinate> axes_;
  std::vector<Coordinate> loops_;
  int64_t size_ = 1;
  int64_t serial_size_ = 1;
  int64_t pipeline_size_ = 1;  // points with the same coordinates outside of the pipeline
};

/// Runs a program over a space, batch by batch.
class Sweep {
 public:
  Sweep(const Binding& binding, IndexProgram& program, const GridSpace& space,
        Progress* progress = nullptr);

  bool Next();  ///< evaluates the next batch; false at the end
  int64_t begin() const { return begin_; }
  int count() const { return count_; }
  const IndexProgram& program() const { return program_; }
  const GridSpace& space() const { return space_; }

 private:
  /// The map of an operand whose stays the program asks for.
  struct Visit {
    int ref = -1;
    IndexProgram map;
    std::vector<int> results;
  };

  uint64_t FillInputs();
  Visit& VisitOf(int ref);
  void FillVisit(const ProgramInput& input, int64_t* to);
  void RunMap(Visit& visit, const std::vector<std::vector<int64_t>>& axes);

  const Binding& binding_;
  IndexProgram& program_;
  const GridSpace& space_;
  Progress* progress_;
  std::vector<Visit> visits_;
  int64_t begin_ = 0;
  int count_ = 0;
};

/// Finds where stays begin: the block index (a few registers of a program) differs from the step
/// before, or a run of points has ended (GridSpace::RunOf).
class StayTracker {
 public:
  StayTracker(std::vector<int> registers, int64_t run);
  /// The lanes of the batch at which a stay begins. Batches must come in order.
  const std::vector<int>& Starts(const Sweep& sweep);

 private:
  std::vector<int> registers_;
  std::vector<int64_t> last_;  // values of the step before the batch
  int64_t run_;
  std::vector<int64_t> differs_;  // by lane
  std::vector<int> starts_;
};

/// The program of an operand's index map: a register a dimension (and one more for the extent of
/// a bounded one); `kAll` dimensions have none.
struct MapProgram {
  IndexProgram program;
  std::vector<int> index;   // by dimension, or -1
  std::vector<int> extent;  // by dimension, or -1
};
MapProgram CompileMap(const Binding& binding, int ref);

/// Values of one expression at one grid point; null `fault` where it has one.
std::optional<int64_t> EvaluateAt(const Binding& binding, const Node& node,
                                  const std::vector<int64_t>& axes, Locals* locals = nullptr,
                                  const std::map<int, int64_t>& loops = {});

}  // namespace kiln
