#include <cstdio>
#include <sstream>

#include "generator/cli/run/run.h"
#include "generator/cli/run/tune.h"

namespace kiln::cli {
namespace {

constexpr size_t kShown = 10;

std::string SizesText(const Binding& binding) {
  std::string text;
  for (size_t d = 0; d < binding.dims.size(); ++d) {
    const Dim& dim = binding.kernel->dims[d];
    if (!dim.fixed && binding.dims[d])
      text += " " + dim.name + "=" + std::to_string(*binding.dims[d]);
  }
  return text;
}

}  // namespace

std::string GainText(double gain) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", gain);
  return text;
}

std::string SettingsText(const Configuration& configuration) {
  std::string text;
  for (const auto& [name, value] : configuration.set)
    text += (text.empty() ? "" : " ") + name + "=" + value;
  if (text.empty()) text = "as the spec says";
  if (configuration.fixed) text += ", in Direct too";
  if (configuration.wrong) text += ": other answers, so never taken";
  return text;
}

std::string TuneText(const Simulation& call, const TuneResult& result, const std::string& where,
                     bool measured) {
  std::ostringstream out;
  out << GeneratedName(*call.whole) << SizesText(*call.binding) << ", " << where << ": "
      << result.all << " combinations, " << result.kept << " fit and are not slow on "
      << call.machine.name;
  if (measured)
    out << ", " << result.tried.size() << " timed (" << result.measured << " of them now)";
  out << "\n";
  const double own = result.spec.seconds;
  size_t shown = 0;
  for (const Configuration& one : result.tried) {
    const bool is_spec = &one != &result.tried.front() && one.set == result.spec.set && !one.fixed;
    if (++shown > kShown && !is_spec) continue;
    const std::string time = SimulatedTime(one.seconds);
    out << "  " << time << std::string(time.size() < 10 ? 10 - time.size() : 1, ' ')
        << (own > 0 ? GainText(own / one.seconds) : "   -") << "  " << SettingsText(one) << "\n";
  }
  if (result.tried.size() > kShown)
    out << "  and " << result.tried.size() - kShown << " that are slower\n";
  return out.str();
}

}  // namespace kiln::cli
