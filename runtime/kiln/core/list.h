// A list whose layout is Kiln's own.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

#include "kiln/core/version.h"

namespace kiln::inline KILN_ABI::internal {

/// Elements one after another, as std::vector has them. Those change their layout with
/// _GLIBCXX_DEBUG, and a program that has it may link a library that has not: so no container of
/// the standard library is in what both compile. Elements have a value by default.
template <typename T>
class List {
 public:
  List() = default;
  List(std::initializer_list<T> values) { assign(values.begin(), values.end()); }
  /// Whatever list the caller has.
  template <class Values>
  requires requires(const Values& values) { std::size(values), *std::data(values); }
  List(const Values& values) {  // NOLINT: stands for it
    assign(std::data(values), std::data(values) + std::size(values));
  }
  List(const List& other) { assign(other.begin(), other.end()); }
  List(List&& other) noexcept { Swap(other); }
  List& operator=(List other) noexcept {
    Swap(other);
    return *this;
  }
  ~List() = default;

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return elements_.get(); }
  const T* data() const { return elements_.get(); }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](size_t i) {
    assert(i < size_);
    return elements_[i];
  }
  const T& operator[](size_t i) const { return const_cast<List&>(*this)[i]; }
  T& front() { return (*this)[0]; }
  const T& front() const { return (*this)[0]; }
  T& back() { return (*this)[size_ - 1]; }
  const T& back() const { return (*this)[size_ - 1]; }

  void push_back(T value) {
    if (size_ == capacity_) reserve(std::max<size_t>(2 * capacity_, 4));
    elements_[size_++] = std::move(value);
  }
  void pop_back() { resize(size_ - 1); }
  void clear() { resize(0); }
  /// New elements have the value by default; old ones give back the memory that they hold.
  void resize(size_t size) {
    reserve(size);
    if constexpr (!std::is_trivially_destructible_v<T>) {
      for (size_t i = size; i < size_; ++i) elements_[i] = T();
    }
    for (size_t i = size_; i < size; ++i) elements_[i] = T();
    size_ = size;
  }
  void erase(T* at) {
    std::move(at + 1, end(), at);
    pop_back();
  }
  void assign(size_t count, T value) {
    clear();
    reserve(count);
    size_ = count;
    std::fill(begin(), end(), value);
  }
  void assign(const T* first, const T* last) {
    clear();
    reserve(static_cast<size_t>(last - first));
    size_ = static_cast<size_t>(last - first);
    std::copy(first, last, begin());
  }
  void reserve(size_t capacity) {
    if (capacity <= capacity_) return;
    auto elements = std::make_unique_for_overwrite<T[]>(capacity);
    std::move(begin(), end(), elements.get());
    elements_ = std::move(elements);
    capacity_ = capacity;
  }

  friend bool operator==(const List& a, const List& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  void Swap(List& other) noexcept {
    std::swap(elements_, other.elements_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  std::unique_ptr<T[]> elements_;
  size_t size_ = 0, capacity_ = 0;
};

}  // namespace kiln::inline KILN_ABI::internal
