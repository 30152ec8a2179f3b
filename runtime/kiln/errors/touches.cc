#include "kiln/errors/touches.h"

#include <algorithm>

namespace kiln::inline KILN_ABI {
namespace {

/// Calls use(element) with the row-major number of each element of the window.
template <class Use>
void ForEachElement(const Window& window, const Use& use) {
  const auto is_empty = [](int64_t size) { return size <= 0; };
  if (std::any_of(window.size.begin(), window.size.begin() + window.rank, is_empty)) return;
  std::array<int64_t, kMaxRank> at{};
  const int last = window.rank - 1;
  const int64_t row = window.rank > 0 ? window.size[last] : 1;
  for (;;) {
    int64_t first = 0;
    for (int d = 0; d < window.rank; ++d)
      first = first * window.extent[d] + window.start[d] + at[d];
    for (int64_t i = 0; i < row; ++i) use(static_cast<size_t>(first + i));
    int d = last;
    while (--d >= 0 && ++at[d] == window.size[d]) at[d] = 0;
    if (d < 0) return;
  }
}

std::array<int64_t, kMaxRank> CoordinatesOf(const Window& window, size_t element) {
  std::array<int64_t, kMaxRank> at{};
  auto rest = static_cast<int64_t>(element);
  for (int d = window.rank; d-- > 0; rest /= window.extent[d]) at[d] = rest % window.extent[d];
  return at;
}

}  // namespace

void Touches::Clear() {
  for (Elements& elements : memories_) {
    for (auto* of : {&elements.writers, &elements.readers, &elements.other_readers}) of->clear();
  }
  touches_.clear();
}

Touches::Elements& Touches::ElementsOf(int32_t output, const Window& window) {
  const auto number = static_cast<size_t>(output);
  if (memories_.size() <= number) memories_.resize(number + 1);
  Elements& elements = memories_[number];
  size_t count = 1;
  for (int d = 0; d < window.rank; ++d) count *= static_cast<size_t>(window.extent[d]);
  if (elements.writers.size() != count) {
    for (auto* of : {&elements.writers, &elements.readers, &elements.other_readers}) {
      of->assign(count, 0);
    }
  }
  return elements;
}

Touches::Number Touches::Add(const Touch& touch) {
  touches_.push_back(touch);
  return static_cast<Number>(touches_.size());
}

Clash Touches::Write(int32_t output, const Window& window, const Touch& touch) {
  const std::lock_guard lock(mutex_);
  Elements& elements = ElementsOf(output, window);
  const Number number = Add(touch);
  Clash clash;
  const auto note = [&](Code code, Number other, bool reads, size_t element) {
    if (clash.code == kOk) clash = {code, Of(other), reads, CoordinatesOf(window, element)};
  };
  ForEachElement(window, [&](size_t e) {
    const Number writer = elements.writers[e];
    if (writer != 0 && Of(writer).run != touch.run) note(kRace, writer, false, e);
    if (writer != 0 && Of(writer).run == touch.run && !touch.by_hand)
      note(kRevisit, writer, false, e);
    for (const Number reader : {elements.readers[e], elements.other_readers[e]}) {
      if (reader != 0 && Of(reader).run != touch.run) note(kRace, reader, true, e);
    }
    elements.writers[e] = number;
  });
  return clash;
}

int64_t Touches::Written(int32_t output) const {
  const size_t at = static_cast<size_t>(output);
  if (at >= memories_.size()) return 0;
  const internal::List<Number>& writers = memories_[at].writers;
  return std::count_if(writers.begin(), writers.end(), [](Number writer) { return writer != 0; });
}

Clash Touches::Read(int32_t output, const Window& window, const Touch& touch, bool moves) {
  const std::lock_guard lock(mutex_);
  Elements& elements = ElementsOf(output, window);
  const Number number = Add(touch);
  Clash clash;
  ForEachElement(window, [&](size_t e) {
    Number& reader = elements.readers[e];
    if (reader == 0)
      reader = number;
    else if (Of(reader).run != touch.run)
      elements.other_readers[e] = number;
    if (elements.writers[e] == 0 || clash.code != kOk) return;
    const Touch& writer = Of(elements.writers[e]);
    // Waits order manual copies among themselves, and the block of this step is not yet written.
    const bool ordered = touch.by_hand && (writer.by_hand || writer.step == touch.step);
    if (writer.run != touch.run)
      clash = {kRace, writer, false, CoordinatesOf(window, e)};
    else if (moves && !ordered)
      clash = {kAlias, writer, false, CoordinatesOf(window, e)};
  });
  return clash;
}

}  // namespace kiln::inline KILN_ABI
