// One core of a call: its memory, and what it has to say about the call.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>

#include "kiln/core/buffer.h"
#include "kiln/core/list.h"
#include "kiln/core/options.h"
#include "kiln/core/poison.h"
#include "kiln/core/record.h"
#include "kiln/core/recorder.h"
#include "kiln/core/status.h"
#include "kiln/core/types.h"
#include "kiln/core/version.h"

namespace kiln::inline KILN_ABI {

class Copies;
class SharedBlocks;
class SharedMemory;
class Touches;
class Turns;
class Visits;

/// Names of a kernel, for diagnostics.
struct KernelNames {
  const char* kernel = nullptr;
  const char* axes = nullptr;  // "i, j"
};

/// Memory of the caller's, of which the cores of a call take what they need.
class CallersMemory {
 public:
  void Reset(void* data, size_t bytes) {
    data_ = static_cast<char*>(data);
    bytes_ = bytes;
    taken_.store(0, std::memory_order_relaxed);
  }
  /// Begins on a line. Null when there is not so much left.
  void* Take(size_t bytes);
  /// What so many bytes take of it.
  static size_t Lines(size_t bytes) {
    return RoundUp(std::max<size_t>(bytes, 1), size_t{kLineBytes});
  }

 private:
  char* data_ = nullptr;
  size_t bytes_ = 0;
  std::atomic<size_t> taken_{0};
};

/// What the cores of a call have in common. Null: each works for itself.
struct Common {
  Visits* visits = nullptr;
  Touches* touches = nullptr;
  Turns* turns = nullptr;
  SharedMemory* shared = nullptr;
  CallersMemory* memory = nullptr;
  std::atomic<int64_t>* useful = nullptr;  // how many cores the grid has steps for, once one knows
  int64_t bytes = 0;                       // of the arguments
};

/// A core keeps its memory from call to call.
class Core {
 public:
  Core() = default;
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  /// Begins a call.
  void Reset(int index, int count, const Options& options, const KernelNames& names,
             const Common& common);
  /// Where the grid is, for diagnostics: at a step that has not begun, as the copies for the one
  /// behind it, `ahead`, start first. Null: there is none.
  void TrackGrid(const int64_t* at, const int64_t* ahead, int rank) {
    at_ = at;
    ahead_ = point_ = ahead;
    rank_ = rank;
  }
  /// Where the grid is, for a diagnostic that is made later, …
  struct Remembered {
    std::array<int64_t, 16> point;
  };
  void Remember(Remembered* now) const {
    if (point_ != nullptr && rank_ <= 16) std::copy_n(point_, rank_, now->point.data());
  }
  /// … and that diagnostic.
  void About(const Remembered& then) {
    if (point_ != nullptr && rank_ <= 16) point_ = then.point.data();
  }
  /// What `fail` finds about that step is reported if nothing else is found until the call's end:
  /// what a block lacks means little if a later step comes back to it.
  template <class Fail>
  void FailLate(const Remembered& then, const Fail& fail) {
    if (!ok() || !late_.ok()) return;
    const int64_t* const now = point_;
    About(then);
    fail();
    late_ = status_;
    status_ = Status();
    point_ = now;
  }
  const Status& late() const { return late_; }
  /// Begins the step, once its successor's copies have started; `run` changes whenever a parallel
  /// coordinate does.
  void BeginStep(int64_t run) {
    run_ = run;
    ++step_;
    point_ = at_;
    if (cancel_ != nullptr && cancel_->load(std::memory_order_relaxed) != 0) FailCancelled();
  }
  /// Code of this instruction set runs, one of Highway's targets.
  void RunsOn(int64_t target) { target_ = target; }
  int64_t target() const { return target_; }
  /// The grid has no step, on whatever core.
  void WalkNothing() { walks_nothing_ = true; }
  /// The one grid of the call has steps for so many cores, from the first on.
  void UsesCores(int64_t count) {
    if (useful_ != nullptr) useful_->store(count, std::memory_order_relaxed);
  }
  /// An output of which `due` elements are to be stored, and nothing else sets them.
  void CheckWalked(const Operand& output, int64_t due);
  int64_t run() const { return run_; }
  int64_t step() const { return step_; }

  /// For diagnostics about the step ahead, whatever the core is at.
  struct NextStep {
    Core& core;
    template <class... A>
    void Fail(Code code, const char* format, A... values) const {
      core.point_ = core.ahead_;
      core.Fail(code, format, values...);
    }
  };

  int index() const { return index_; }
  int count() const { return count_; }
  const Options& options() const { return options_; }
  /// For which Direct chooses blocks.
  const Cpu& cpu() const { return options_.cpu; }
  /// Of all arguments of the call, as far as that is known.
  int64_t call_bytes() const { return call_bytes_; }
  bool emulated() const { return options_.mode == Mode::kEmulated; }
  /// What integer operations give that have no value, such as x // 0.
  int64_t no_value() const { return emulated() ? internal::NoValueIn(options_) : 0; }
  /// Of a loop without a bound of its own: in more it is taken for one that never ends.
  int64_t most_turns() const { return emulated() ? int64_t{1} << 24 : INT64_MAX; }
  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }

  /// A Buffer. The n-th request of a call gets the n-th one: the same shapes never allocate twice.
  /// Null when there is none: then the core is not ok.
  void* Allocate(size_t bytes);
  /// What it has asked for in this call, other than what is shared.
  size_t asked_bytes() const { return asked_bytes_; }

  /// Whether blocks can be packed once for all cores.
  bool shares() const { return shared_memory_ != nullptr; }
  /// So many blocks of so many bytes. Each core of a call makes the same requests in the same
  /// order.
  SharedBlocks* Share(int64_t blocks, int64_t bytes);
  /// Who walks which part of the grid. Null: each core its own.
  Turns* turns() const { return turns_; }

  /// Ends the call with a diagnostic; the first one is kept. The kernel's name and `[rule] ` go
  /// before it, the grid point behind it.
  void Fail(Code code, const char* format, ...) __attribute__((format(printf, 3, 4)));

  /// The loop at that line of the spec has taken all the turns that it may.
  void FailEndless(int line, int64_t turns);

  /// A diagnostic is about a block of this operand.
  void About(int32_t ordinal) { about_ = ordinal; }
  bool is_about(int32_t ordinal) const { return about_ == ordinal; }
  /// Adds to the diagnostic: "; ids[3] is 17".
  void AddElement(const char* array, std::initializer_list<int64_t> subscripts, int64_t value);

  /// The operand's counters in this call.
  OperandRecord& RecordOf(const Operand& operand);
  using Records = internal::List<std::unique_ptr<OperandRecord>>;
  const Records& records() const { return records_; }

  /// Takes emulated memory from the machine's budget.
  bool Reserve(const Operand& operand, int64_t bytes, int64_t buffers);
  int64_t used(Memory memory) const { return used_[static_cast<int>(memory)]; }

  /// Who wrote which block in this call, for the emulator. Null: it is not recorded.
  Visits* visits() const { return visits_; }
  Touches* touches() const { return touches_; }
  /// Its manual copies. Null: there are none.
  Copies* copies() const { return copies_; }
  void SetCopies(Copies* copies) { copies_ = copies; }

  /// Null: events are not recorded.
  Recorder* recorder() const { return recorder_.get(); }

 private:
  int index_ = 0;
  int count_ = 1;
  Options options_;
  KernelNames names_;
  const int64_t* at_ = nullptr;
  const int64_t* ahead_ = nullptr;
  const int64_t* point_ = nullptr;  // of a diagnostic
  int rank_ = 0;
  int64_t target_ = 0;  // none yet
  bool walks_nothing_ = false;
  void FailCancelled();
  void AddPoint();
  void Add(const char* format, ...) __attribute__((format(printf, 2, 3)));

  Status status_;
  Status late_;
  int32_t about_ = -1;
  int64_t run_ = -1;
  int64_t step_ = -1;
  Visits* visits_ = nullptr;
  Touches* touches_ = nullptr;
  Copies* copies_ = nullptr;
  Turns* turns_ = nullptr;
  SharedMemory* shared_memory_ = nullptr;
  const std::atomic<int32_t>* cancel_ = nullptr;
  CallersMemory* callers_memory_ = nullptr;
  std::atomic<int64_t>* useful_ = nullptr;
  size_t asked_bytes_ = 0;
  int64_t call_bytes_ = 0;
  internal::List<Buffer> buffers_;
  size_t next_buffer_ = 0, next_shared_ = 0;
  std::unique_ptr<Recorder> recorder_;
  Records records_;           // which stay where they are: the tiers hold references
  int64_t used_[2] = {0, 0};  // by Memory
};

/// Whether `size` elements from `start` on are among `extent`, else a diagnostic of the spec's
/// line.
inline bool InRange(Core& core, int32_t line, const char* of, int64_t start, int64_t size,
                    int64_t extent) {
  if (start >= 0 && start <= extent - size) return true;
  core.Fail(kIndexRange,
            "elements %lld to %lld of %s are used (line %d) on core %d, which has %lld",
            static_cast<long long>(start), static_cast<long long>(start + size - 1), of, line,
            core.index(), static_cast<long long>(extent));
  return false;
}

}  // namespace kiln::inline KILN_ABI
