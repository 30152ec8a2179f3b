#pragma once

#include <concepts>
#include <utility>
#include <variant>

namespace kiln {

template <typename... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <typename... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

/// What the one of `cases` returns that takes the alternative in `what`. A kind that none of them
/// takes does not compile; name it in a case that does nothing where nothing is to be done.
template <typename Variant, typename... Cases>
decltype(auto) MatchKind(Variant& what, Cases&&... cases) {
  return std::visit(Overloaded<std::decay_t<Cases>...>{std::forward<Cases>(cases)...}, what);
}

/// One of a few kinds: `[](const OneOf<stage::Rows, stage::EachRow> auto& rows) { … }` is a case
/// for all of them.
template <typename T, typename... Kinds>
concept OneOf = (std::same_as<T, Kinds> || ...);

/// A case for whatever no other one takes. For parts, not for kinds: a new kind has to be seen.
struct Ignore {
  template <typename... T>
  void operator()(const T&...) const {}
};

/// `T`, const where `Like` is.
template <typename Like, typename T>
using ConstLike = std::conditional_t<std::is_const_v<Like>, const T, T>;

}  // namespace kiln
