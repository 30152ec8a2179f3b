#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "generator/bind/bind.h"

/// Kernels and expressions by hand, for tests of what comes after the front end.
namespace kiln::build {

inline NodePtr Node_(Op op, DType dtype, std::vector<NodePtr> args = {}, int index = -1) {
  auto node = std::make_shared<Node>();
  node->op = op;
  node->dtype = dtype;
  node->args = std::move(args);
  node->index = index;
  return node;
}

inline NodePtr Int(int64_t value, DType dtype = DType::kIndex) {
  auto node = std::make_shared<Node>();
  node->dtype = dtype;
  node->int_value = value;
  return node;
}

inline NodePtr Float(double value, DType dtype = DType::kF32) {
  auto node = std::make_shared<Node>();
  node->dtype = dtype;
  node->float_value = value;
  return node;
}

inline NodePtr Bool(bool value) { return Int(value, DType::kBool); }
inline NodePtr Axis_(int axis) { return Node_(Op::kAxis, DType::kIndex, {}, axis); }
inline NodePtr Steps_(int axis) { return Node_(Op::kSteps, DType::kIndex, {}, axis); }

/// An operation on kIndex values; comparisons and logic give bool.
inline NodePtr Do(Op op, std::vector<NodePtr> args) {
  const bool logic = RowOf(op).result == ResultType::kBool;
  return Node_(op, logic ? DType::kBool : DType::kIndex, std::move(args));
}
/// The same in a type of the body.
inline NodePtr Do(Op op, DType dtype, std::vector<NodePtr> args) {
  return Node_(op, dtype, std::move(args));
}

/// A point of a prefetch array, or a scalar.
inline NodePtr Read(int ref, std::vector<NodePtr> subscripts = {}, DType dtype = DType::kIndex) {
  auto node = std::make_shared<Node>();
  node->op = Op::kRead;
  node->dtype = dtype;
  node->index = ref;
  for (NodePtr& start : subscripts) {
    Subscript subscript;
    subscript.start = std::move(start);
    node->subscripts.push_back(std::move(subscript));
  }
  return node;
}

struct KernelBuilder {
  Kernel kernel;

  KernelBuilder() {
    kernel.name = "test";
    kernel.source = std::make_shared<const Source>("test.yaml", "kernel: test\n");
  }

  NodePtr AddDim(const std::string& name) {
    Dim dim;
    dim.name = name;
    kernel.dims.push_back(dim);
    return Node_(Op::kDim, DType::kIndex, {}, static_cast<int>(kernel.dims.size()) - 1);
  }

  int AddRef(const std::string& name, Role role, DType dtype, std::vector<NodePtr> shape) {
    Ref ref;
    ref.name = name;
    ref.role = role;
    ref.dtype = dtype;
    for (const NodePtr& extent : shape) ref.array.push_back(SizeOf(extent, kernel));
    ref.view = ref.array;
    kernel.refs.push_back(std::move(ref));
    return static_cast<int>(kernel.refs.size()) - 1;
  }

  void AddAxis(const std::string& name, NodePtr steps) {
    Axis axis;
    axis.name = name;
    axis.steps = std::move(steps);
    kernel.axes.push_back(std::move(axis));
  }

  void AddRequire(NodePtr condition) {
    kernel.require.push_back({condition, ToString(*condition, kernel)});
  }
};

inline Array Ints(std::vector<int64_t> shape, const std::vector<int64_t>& values,
                  DType dtype = DType::kI32) {
  Array array = Array::Zeros(dtype, std::move(shape));
  for (size_t i = 0; i < values.size(); ++i) array.SetInt(static_cast<int64_t>(i), values[i]);
  return array;
}

inline Array Scalar(int64_t value, DType dtype = DType::kI32) { return Ints({}, {value}, dtype); }

inline Array FloatScalar(double value, DType dtype = DType::kF32) {
  Array array = Array::Zeros(dtype, {});
  array.SetFloat(0, value);
  return array;
}

inline std::vector<int64_t> ValuesOf(const Array& array) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < array.size(); ++i) values.push_back(array.GetInt(i));
  return values;
}

/// "rule: message | hint" of each diagnostic, in order.
inline std::vector<std::string> Messages(const Diagnostics& diagnostics) {
  std::vector<std::string> found;
  for (const Diagnostic& d : diagnostics.Sorted()) {
    found.push_back(d.rule + ": " + d.message + (d.hint.empty() ? "" : " | " + d.hint));
  }
  return found;
}

}  // namespace kiln::build
