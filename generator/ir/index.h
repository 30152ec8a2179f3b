#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

/// Indices with types of their own: the number of a loop is not taken for that of a buffer, nor for
/// a count, and nobody has to convert it to look something up.
namespace kiln {

/// Which `T` of its kernel or plan, or none.
template <typename T>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(int number) : number_(number) {}
  constexpr explicit Id(size_t number) : number_(static_cast<int>(number)) {}

  constexpr explicit operator bool() const { return number_ >= 0; }
  constexpr int number() const { return number_; }
  constexpr size_t position() const { return static_cast<size_t>(number_); }

  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  int number_ = -1;
};

/// All up to a count, in order.
template <typename T>
class Ids {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Id<T>;
    using difference_type = std::ptrdiff_t;
    using pointer = const Id<T>*;
    using reference = Id<T>;

    constexpr explicit Iterator(size_t at) : at_(at) {}
    constexpr Id<T> operator*() const { return Id<T>(at_); }
    constexpr Iterator& operator++() { return ++at_, *this; }
    constexpr Iterator operator++(int) { return Iterator(at_++); }
    friend constexpr bool operator==(Iterator, Iterator) = default;

   private:
    size_t at_;
  };

  constexpr explicit Ids(size_t count) : count_(count) {}
  constexpr Iterator begin() const { return Iterator(0); }
  constexpr Iterator end() const { return Iterator(count_); }

 private:
  size_t count_;
};

template <typename T>
Ids<T> IdsOf(const std::vector<T>& list) {
  return Ids<T>(list.size());
}

/// A `T` for each `Of`.
template <typename T, typename Of = T>
class Table : private std::vector<T> {
  using Base = std::vector<T>;

 public:
  using Key = Id<Of>;
  using Base::Base;
  using Base::begin, Base::end, Base::rbegin, Base::rend, Base::size, Base::empty, Base::clear,
      Base::push_back, Base::back, Base::front, Base::resize, Base::assign;

  typename Base::reference operator[](Key key) { return Base::operator[](key.position()); }
  typename Base::const_reference operator[](Key key) const {
    return Base::operator[](key.position());
  }
  typename Base::const_reference at(Key key) const { return Base::at(key.position()); }

  Ids<Of> ids() const { return Ids<Of>(Base::size()); }
  /// Appends; where it is now.
  Key Add(T item) {
    Base::push_back(std::move(item));
    return Key(Base::size() - 1);
  }
};

}  // namespace kiln
