#include "generator/predict/schedule.h"

#include <algorithm>

namespace kiln {
namespace {

constexpr size_t kMostInFlight = 4096;

}  // namespace

void StepSums::Add(const StepSums& other, int64_t times) {
  const auto add = [times](int64_t& sum, int64_t each) {
    sum = SaturatingAdd(sum, SaturatingMultiply(each, times));
  };
  add(steps, other.steps);
  add(skipped_steps, other.skipped_steps);
  add(copies_in, other.copies_in);
  add(copies_out, other.copies_out);
  add(bytes_in, other.bytes_in);
  add(bytes_out, other.bytes_out);
  flops += other.flops * static_cast<double>(times);
  add(time, other.time);
  add(wait, other.wait);
  add(mxu, other.mxu);
  add(vpu, other.vpu);
  add(dma, other.dma);
}

bool StepSums::overflow() const {
  return std::max({copies_in, copies_out, bytes_in, bytes_out, time, wait, mxu, vpu, dma}) ==
         INT64_MAX;
}

StepSums StepSums::Since(const StepSums& before) const {
  StepSums sums = *this;
  sums.Add(before, -1);
  return sums;
}

TimelineTotals StepSums::Totals() const {
  TimelineTotals totals;
  totals.steps = steps;
  totals.skipped_steps = skipped_steps;
  totals.copies_in = copies_in;
  totals.copies_out = copies_out;
  totals.bytes_in = bytes_in;
  totals.bytes_out = bytes_out;
  totals.flops = flops;
  totals.seconds = ToSeconds(time);
  totals.wait = ToSeconds(wait);
  totals.mxu = ToSeconds(mxu);
  totals.vpu = ToSeconds(vpu);
  totals.overhead = ToSeconds(time - wait - mxu - vpu);
  totals.dma = ToSeconds(dma);
  return totals;
}

CoreSchedule::CoreSchedule(const Machine& machine, double copy_rate,
                           const std::vector<TimelineOperand>& operands, Picoseconds start)
    : picoseconds_per_byte_(1e12 / copy_rate),
      latency_(ToPicoseconds(machine.dma_seconds)),
      floor_(ToPicoseconds(machine.step_seconds())),
      skipped_floor_(ToPicoseconds(machine.skipped_step_seconds())),
      now_(start),
      dma_free_(start),
      outs_(operands.size()) {
  for (const TimelineOperand& operand : operands) {
    buffers_.push_back(std::max<int64_t>(operand.buffers, 1));
    depth_ = std::max(depth_, static_cast<size_t>(buffers_.back() - 1));
  }
  begins_.assign(depth_, start);
  sums_.time = sums_.wait = start;
}

CoreSchedule::CopyTimes CoreSchedule::Transfer(Picoseconds requested, int64_t bytes) {
  const Picoseconds begin = std::max(requested, dma_free_);
  const auto length = static_cast<Picoseconds>(
      std::min(static_cast<double>(bytes) * picoseconds_per_byte_ + 0.5, 0x1p62));
  dma_free_ = Later(begin, length);
  sums_.dma = Later(sums_.dma, length);
  copies_.push_back({begin, dma_free_});
  return copies_.back();
}

/// Requests a step's blocks; when the last of them is there.
Picoseconds CoreSchedule::CopyIn(const StepShape& shape) {
  Picoseconds ready = 0;
  for (const ShapeCopy& copy : shape.in) {
    const int64_t ahead = buffers_[static_cast<size_t>(copy.operand)] - 1;
    const Picoseconds requested = ahead == 0 ? now_ : begins_[static_cast<size_t>(ahead - 1)];
    ready = std::max(ready, Later(Transfer(requested, copy.bytes).end, latency_));
    ++sums_.copies_in;
    sums_.bytes_in = SaturatingAdd(sums_.bytes_in, copy.bytes);
  }
  return ready;
}

/// Sends blocks that were left; when all of their slots' next owners may begin.
Picoseconds CoreSchedule::CopyOut(const std::vector<ShapeCopy>& out) {
  Picoseconds free = 0;
  for (const ShapeCopy& copy : out) {
    const auto operand = static_cast<size_t>(copy.operand);
    std::vector<Picoseconds>& ends = outs_[operand];
    ends.insert(ends.begin(), Later(Transfer(now_, copy.bytes).end, latency_));
    if (static_cast<int64_t>(ends.size()) > buffers_[operand])
      ends.resize(static_cast<size_t>(buffers_[operand]));
    // The block that is opened now takes the slot of the one that was left `buffers` blocks ago.
    if (static_cast<int64_t>(ends.size()) == buffers_[operand]) free = std::max(free, ends.back());
    ++sums_.copies_out;
    sums_.bytes_out = SaturatingAdd(sums_.bytes_out, copy.bytes);
  }
  return free;
}

/// The copies of the body in their order. Each wait has an equal share of the work behind it, as in
/// a loop that waits for a part and works on it. Returns when the body has ended.
Picoseconds CoreSchedule::RunBody(const StepShape& shape, Picoseconds at, Picoseconds work) {
  const auto is_wait = [](const ManualEvent& event) { return event.wait; };
  const auto waits =
      static_cast<Picoseconds>(std::count_if(shape.manual.begin(), shape.manual.end(), is_wait));
  Picoseconds done = 0;
  for (const ManualEvent& event : shape.manual) {
    std::vector<InFlight>& queue = in_flight_[event.semaphore];
    if (!event.wait) {
      // Nobody waits for so many: a semaphore that only counts up must not hold memory for ever.
      if (queue.size() == kMostInFlight) queue.erase(queue.begin());
      const int64_t moved = event.operand < 0 ? 0 : event.bytes;  // to HBM, or from there
      queue.push_back({Later(Transfer(at, moved).end, latency_), event.bytes});
      ++(event.out ? sums_.copies_out : sums_.copies_in);
      int64_t& bytes = event.out ? sums_.bytes_out : sums_.bytes_in;
      bytes = SaturatingAdd(bytes, moved);
      continue;
    }
    const bool one_copy = event.bytes == ManualEvent::kOldest;
    int64_t left = one_copy && !queue.empty() ? queue.front().bytes : event.bytes;
    bool next = one_copy || left > 0;
    while (!queue.empty() && next) {
      InFlight& oldest = queue.front();
      const Picoseconds ready = std::max(at, oldest.end);
      sums_.wait = Later(sums_.wait, ready - at);
      at = ready;
      const int64_t some = std::min(left, oldest.bytes);
      oldest.bytes -= some;
      left -= some;
      next = left > 0;
      if (oldest.bytes == 0) queue.erase(queue.begin());
    }
    // Copies of nothing have arrived with those before them.
    while (!one_copy && !queue.empty() && queue.front().bytes == 0) queue.erase(queue.begin());
    const Picoseconds share = (work - done) / std::max<Picoseconds>(waits, 1);
    at = Later(at, share);
    done += share;
  }
  std::erase_if(in_flight_, [](const auto& of) { return of.second.empty(); });
  return Later(at, work - done);
}

CoreSchedule::StepTimes CoreSchedule::Step(const StepShape& shape, const StepWork& work) {
  copies_.clear();
  const Picoseconds mxu = ToPicoseconds(work.mxu_seconds);
  const Picoseconds vpu = ToPicoseconds(work.vpu_seconds);
  const Picoseconds ready = CopyIn(shape);
  const Picoseconds free = CopyOut(shape.out);

  StepTimes times{now_, std::max({now_, ready, free}), 0};
  const bool idle = work.skipped && shape.in.empty() && shape.out.empty() && shape.manual.empty();
  sums_.wait = Later(sums_.wait, times.compute - times.begin);
  times.end = std::max(RunBody(shape, times.compute, Later(mxu, vpu)),
                       Later(times.begin, idle ? skipped_floor_ : floor_));

  begins_.pop_back();
  begins_.insert(begins_.begin(), times.begin);
  now_ = times.end;
  ++sums_.steps;
  sums_.skipped_steps += work.skipped;
  sums_.flops += work.flops;
  sums_.mxu = Later(sums_.mxu, mxu);
  sums_.vpu = Later(sums_.vpu, vpu);
  sums_.time = Later(sums_.time, times.end - times.begin);
  return times;
}

void CoreSchedule::Finish(const std::vector<ShapeCopy>& out) {
  copies_.clear();
  CopyOut(out);
  Picoseconds end = now_;
  for (const std::vector<Picoseconds>& ends : outs_) {
    if (!ends.empty()) end = std::max(end, ends.front());
  }
  sums_.wait = Later(sums_.wait, end - now_);
  sums_.time = Later(sums_.time, end - now_);
  now_ = end;
}

std::vector<int64_t> CoreSchedule::State() const {
  // What is before the oldest begin has no more influence than that itself.
  const Picoseconds oldest = begins_.back();
  std::vector<int64_t> state = {now_ - std::max(dma_free_, oldest)};
  for (const Picoseconds begin : begins_) state.push_back(now_ - begin);
  for (const std::vector<Picoseconds>& ends : outs_) {
    state.push_back(static_cast<int64_t>(ends.size()));
    for (const Picoseconds end : ends) state.push_back(std::max<Picoseconds>(end - now_, 0));
  }
  for (const auto& [semaphore, copies] : in_flight_) {
    state.push_back(semaphore);
    for (const InFlight& copy : copies) {
      state.push_back(std::max<Picoseconds>(copy.end - now_, 0));
      state.push_back(copy.bytes);
    }
  }
  return state;
}

void CoreSchedule::Repeat(const StepSums& before, int64_t times) {
  const StepSums since = sums_.Since(before);
  sums_.Add(since, times);
  const auto move = [later = SaturatingMultiply(since.time, times)](Picoseconds& at) {
    at = Later(at, later);
  };
  move(now_);
  move(dma_free_);
  for (Picoseconds& begin : begins_) move(begin);
  for (std::vector<Picoseconds>& ends : outs_) {
    for (Picoseconds& end : ends) move(end);
  }
  for (auto& [semaphore, copies] : in_flight_) {
    for (InFlight& copy : copies) move(copy.end);
  }
}

}  // namespace kiln
