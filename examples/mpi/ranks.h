// The ranks of an MPI program, and what they send each other. No rank waits for ever: where a rank
// does not come to a collective within the patience, the others say so and end the program.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

/// A rank's share of `count` things in a row.
struct Share {
  int64_t first, count;
};

class Ranks {
 public:
  explicit Ranks(MPI_Comm comm, double patience_seconds = 20);

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// The things go to the ranks in order, as evenly as they can.
  Share ShareOf(int64_t count, int rank) const;
  Share ShareOf(int64_t count) const { return ShareOf(count, rank_); }

  /// Of rows of `width` that are shared out by ShareOf: all rows, of this rank's own.
  std::vector<float> AllGather(const std::vector<float>& own, int64_t rows, int64_t width) const;
  std::vector<int32_t> AllGather(const std::vector<int32_t>& own, int64_t rows,
                                 int64_t width) const;
  /// The other way round: this rank's rows of the sum over all ranks.
  std::vector<float> ReduceScatter(const std::vector<float>& all, int64_t rows,
                                   int64_t width) const;

  /// Says what is wrong and ends all ranks.
  [[noreturn]] void Fail(const char* what) const;

 private:
  template <typename T>
  std::vector<T> Gather(const std::vector<T>& own, MPI_Datatype type, int64_t rows,
                        int64_t width) const;
  void Wait(MPI_Request request, const char* what) const;
  std::vector<int> Counts(int64_t rows, int64_t width) const;

  const MPI_Comm comm_;
  const double patience_;
  int rank_ = 0;
  int size_ = 1;
};
