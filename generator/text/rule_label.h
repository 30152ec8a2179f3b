#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>

namespace kiln {

/// The label of a rule of the language, as `error[label]` shows it. Literals become labels by
/// themselves, if rules.def has them: any other does not compile.
class RuleLabel {
 public:
  constexpr RuleLabel() = default;  // none
  template <size_t N>
  consteval RuleLabel(const char (&label)[N])  // NOLINT: literals are labels
      : place_(PlaceOf(std::string_view(label, N - 1))) {
    if (place_ == kCount) throw "generator/text/rules.def has no rule of this label";
  }

  /// That of a running kernel's text; none if there is no such rule.
  static constexpr RuleLabel Find(std::string_view label) {
    RuleLabel found;
    found.place_ = PlaceOf(label);
    return found;
  }

  constexpr std::string_view text() const {
    return place_ < kCount ? kLabels[place_] : std::string_view();
  }
  constexpr bool empty() const { return place_ == kCount; }
  operator std::string_view() const { return text(); }          // NOLINT: a label is its text
  operator std::string() const { return std::string(text()); }  // NOLINT

  friend std::string operator+(RuleLabel label, std::string_view rest) {
    return std::string(label.text()).append(rest);
  }
  friend std::string operator+(std::string before, RuleLabel label) {
    return before.append(label.text());
  }
  friend std::ostream& operator<<(std::ostream& out, RuleLabel label) {
    return out << label.text();
  }

  friend constexpr bool operator==(RuleLabel, RuleLabel) = default;
  /// In the order of the language page.
  friend constexpr auto operator<=>(RuleLabel, RuleLabel) = default;

 private:
  static constexpr std::string_view kLabels[] = {
#define KILN_RULE(label) label,
#include "generator/text/rules.def"
#undef KILN_RULE
  };
  static constexpr size_t kCount = sizeof(kLabels) / sizeof(kLabels[0]);

  static constexpr size_t PlaceOf(std::string_view label) {
    size_t place = 0;
    while (place < kCount && kLabels[place] != label) ++place;
    return place;
  }

  size_t place_ = kCount;
};

}  // namespace kiln
