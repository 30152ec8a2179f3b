#pragma once

#include <optional>
#include <string>

#include "generator/tune/times.h"
#include "generator/tune/tune.h"

namespace kiln {

/// Times configurations of one call on this CPU: each is generated, compiled for this CPU and
/// called, unless it was before.
class Stopwatch {
 public:
  Stopwatch(const AdviceRequest& request, const TuneOptions& options);
  ~Stopwatch();

  /// Fills in seconds and wrong. False: *error says why it cannot be timed at all.
  bool Time(Configuration& configuration, bool* known, std::string* error);

  /// How many times as fast `b` is as `a`: they take turns.
  std::optional<double> InTurns(const Configuration& a, const Configuration& b, std::string* error);

 private:
  struct Built;

  std::unique_ptr<Built> Generate(const Configuration& configuration, std::string* error);
  bool Load(Built& built, std::string* error);
  bool CallIt(const Built& built, int calls, double seconds, CallResult* timed, std::string* error);
  bool HasRightAnswers(const CallResult& timed, std::string* error, bool* right);
  std::string KeyOf(const std::string& what, const std::vector<const Built*>& of) const;

  const AdviceRequest& request_;
  const TuneOptions& options_;
  std::optional<Toolchain> tools_;
  std::string why_;  // there are no tools
  Times times_;
  std::map<std::string, Array> answers_;  // of the spec's own sizes, once they are needed
};

}  // namespace kiln
