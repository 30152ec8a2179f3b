#pragma once

#include <utility>
#include <variant>

namespace kiln {

template <typename... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

/// What the one of `cases` returns that takes the alternative in `what`. A kind that none of them
/// takes does not compile; name it in a case that does nothing where nothing is to be done.
template <typename Variant, typename... Cases>
decltype(auto) MatchKind(Variant& what, Cases&&... cases) {
  return std::visit(Overloaded<std::decay_t<Cases>...>{std::forward<Cases>(cases)...}, what);
}

}  // namespace kiln
