#pragma once

#include <set>
#include <string>
#include <vector>

#include "generator/plan/plan.h"
#include "generator/render/print/cpp.h"

namespace kiln::render {

/// What a kernel's things are called in its text: as in the spec where that is free.
struct KernelNames {
  Scope scope;
  Table<std::string, Buffer> buffers;
  Table<std::string, Panels> panels;
  Table<std::string, Panels> lives;  // the depth that is packed, by the panels of A
  Table<std::string, Axis> axes;
  Table<std::string, Dim> dims;
  std::vector<std::string> params;
  mutable std::set<int> used_params;  // which the text has to define

  const std::string& operator[](BufferId buffer) const { return buffers[buffer]; }
  const std::string& operator[](RefId ref) const { return buffers[BufferOf(ref)]; }
  const std::string& operator[](PanelsId of) const { return panels[of]; }
  const std::string& operator[](AxisId axis) const { return axes[axis]; }
  const std::string& operator[](DimId dim) const { return dims[dim]; }
  const std::string& Param(int param) const {
    used_params.insert(param);
    return params[static_cast<size_t>(param)];
  }
};

KernelNames NamesOf(const Plan& plan);

}  // namespace kiln::render
