#include "ranks.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

namespace {

std::vector<int> Offsets(const std::vector<int>& counts) {
  std::vector<int> offsets(counts.size(), 0);
  for (size_t r = 1; r < counts.size(); ++r) offsets[r] = offsets[r - 1] + counts[r - 1];
  return offsets;
}

}  // namespace

Ranks::Ranks(MPI_Comm comm, double patience_seconds) : comm_(comm), patience_(patience_seconds) {
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
}

Share Ranks::ShareOf(int64_t count, int rank) const {
  const int64_t each = count / size_, more = count % size_;
  return {rank * each + std::min<int64_t>(rank, more), each + (rank < more ? 1 : 0)};
}

std::vector<int> Ranks::Counts(int64_t rows, int64_t width) const {
  std::vector<int> counts;
  for (int r = 0; r < size_; ++r)
    counts.push_back(static_cast<int>(ShareOf(rows, r).count * width));
  return counts;
}

template <typename T>
std::vector<T> Ranks::Gather(const std::vector<T>& own, MPI_Datatype type, int64_t rows,
                             int64_t width) const {
  const std::vector<int> counts = Counts(rows, width), offsets = Offsets(counts);
  std::vector<T> all(static_cast<size_t>(rows * width));
  MPI_Request request;
  MPI_Iallgatherv(own.data(), counts[static_cast<size_t>(rank_)], type, all.data(), counts.data(),
                  offsets.data(), type, comm_, &request);
  Wait(request, "gathering");
  return all;
}

std::vector<float> Ranks::AllGather(const std::vector<float>& own, int64_t rows,
                                    int64_t width) const {
  return Gather(own, MPI_FLOAT, rows, width);
}

std::vector<int32_t> Ranks::AllGather(const std::vector<int32_t>& own, int64_t rows,
                                      int64_t width) const {
  return Gather(own, MPI_INT32_T, rows, width);
}

std::vector<float> Ranks::ReduceScatter(const std::vector<float>& all, int64_t rows,
                                        int64_t width) const {
  const std::vector<int> counts = Counts(rows, width);
  std::vector<float> own(static_cast<size_t>(counts[static_cast<size_t>(rank_)]));
  MPI_Request request;
  MPI_Ireduce_scatter(all.data(), own.data(), counts.data(), MPI_FLOAT, MPI_SUM, comm_, &request);
  Wait(request, "adding up");
  return own;
}

/// MPI_Wait would wait for ever for a rank that hangs. (One that dies is noticed by mpirun.)
void Ranks::Wait(MPI_Request request, const char* what) const {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const auto spin_end = start + std::chrono::milliseconds(2);
  const auto end =
      start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(patience_));
  for (int done = 0;;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return;
    const Clock::time_point now = Clock::now();
    if (now > end) {
      Fail((std::string(what) + ": a rank has not come for " +
            std::to_string(static_cast<int>(patience_)) + " s")
               .c_str());
    }
    // Ranks may have to share cores.
    if (now > spin_end) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    } else {
      std::this_thread::yield();
    }
  }
}

void Ranks::Fail(const char* what) const {
  std::fprintf(stderr, "rank %d of %d: %s\n", rank_, size_, what);
  std::fflush(stderr);
  MPI_Abort(comm_, 1);
  std::abort();
}
