#pragma once

#include <string>
#include <vector>

#include "generator/bind/bind.h"
#include "generator/check/grid/statements.h"
#include "generator/predict/machine/machine.h"

/// What the statements of a body cost on a machine.
namespace kiln {

/// Of one execution. Tiles count as whole registers, dots as multiples of the matmul unit's edge:
/// the machine computes ragged blocks like full ones.
struct Cost {
  double flops = 0;       // of dots, as written: 2 m n k
  double vector_ops = 0;  // on single elements
  double mxu_seconds = 0;
  double vpu_seconds = 0;

  bool none() const { return mxu_seconds == 0 && vpu_seconds == 0; }
  /// Adds `other`, `times` over.
  void Add(const Cost& other, double times = 1);
};

/// The statements that run under the same conditions and in the same loops.
struct GuardedWork {
  std::vector<Enclosing> enclosing;  // of all of them, outermost first
  Cost cost;
  std::vector<int> lines;  // of the spec
};

struct Workload {
  std::vector<GuardedWork> guarded;  // only what costs anything
  Locals locals;                     // the lets that conditions can see
  double dot_rate = 0;               // of the machine for the first dot; 0: there is none
  std::optional<DType> dot_type;     // what the first dot multiplies
  /// Dtypes that the machine's matmul unit lacks: their dots count as vector operations.
  std::vector<DType> without_unit;
};

Workload WorkloadOf(const Binding& binding, const Machine& machine);

}  // namespace kiln
