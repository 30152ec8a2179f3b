#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "generator/ir/kernel.h"

/// Nodes of functions over tiles, as the elaborator makes them.
namespace kiln {

inline Node TileNode(Op op, DType dtype, Shape shape, Span span, std::vector<NodePtr> args) {
  Node node;
  node.op = op;
  node.dtype = dtype;
  node.shape = std::move(shape);
  node.span = span;
  node.args = std::move(args);
  return node;
}

inline NodePtr Share(Node node) { return std::make_shared<const Node>(std::move(node)); }

/// The same elements in that shape.
inline NodePtr Reshaped(const NodePtr& node, const Shape& shape) {
  if (node->shape == shape) return node;
  return Share(TileNode(Op::kReshape, node->dtype, shape, node->span, {node}));
}

inline Size Product(const Shape& shape) {
  Size product = 1;
  for (const Size& size : shape) product = product * size;
  return product;
}

}  // namespace kiln
