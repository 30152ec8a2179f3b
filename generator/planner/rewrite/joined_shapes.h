#pragma once

#include "generator/ir/kernel.h"

/// Shapes in which neighbouring dimensions are one.
namespace kiln {

/// The dimensions of `whole`, in order, of which each dimension of `joined` is made; empty: it is
/// not `whole` with some neighbours as one.
std::vector<std::vector<size_t>> PartsOf(const Kernel& kernel, const Shape& whole,
                                         const Shape& joined);
/// Whether it is, and another shape beyond dimensions of extent 1.
bool Joins(const Kernel& kernel, const Shape& whole, const Shape& joined);

/// The shape without its dimensions of extent 1.
Shape BeyondOne(const Shape& shape);
/// The finest shape of which both, a value's and that of its reshape, only divide dimensions,
/// without any of extent 1; none: there is none.
std::optional<Shape> Undivided(const Shape& from, const Shape& to);

/// What a value that broadcasts to `whole` is where that is seen as `joined`: a dimension of it is
/// made of all the extents of `whole` or of none. None: it has some of them.
std::optional<Shape> SeenBeside(const Kernel& kernel, const Shape& value, const Shape& whole,
                                const Shape& joined);
/// The least that such a value has to be broadcast to, so that it is seen so, and what it is then;
/// none: all of `whole`.
struct Broadening {
  Shape whole, joined;
};
std::optional<Broadening> BroadenedBeside(const Kernel& kernel, const Shape& value,
                                          const Shape& whole, const Shape& joined);

/// Whether each block has all of the array along an axis of the view.
bool IsWhole(const Ref& ref, size_t axis);

/// Whether the elements of a ref stay where they are when the body sees its view as `joined`.
/// Scratch has no gaps. Of an operand's dimensions that become one all but the first have to be
/// whole.
bool CanJoin(const Kernel& kernel, const Ref& ref, const Shape& joined);
/// Lets the body see it so.
void JoinView(const Kernel& kernel, Ref& ref, const Shape& joined);

}  // namespace kiln
