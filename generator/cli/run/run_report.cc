#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <sstream>

#include "generator/cli/run/run.h"
#include "generator/data/npy.h"
#include "generator/text/utf8.h"

namespace kiln::cli {

std::string Age(double seconds) {
  const std::pair<double, const char*> units[] = {{86400, " days"}, {3600, " h"}, {60, " min"}};
  for (const auto& [unit, name] : units) {
    if (seconds >= 2 * unit) return std::to_string(static_cast<int64_t>(seconds / unit)) + name;
  }
  return std::to_string(static_cast<int64_t>(std::max(seconds, 0.0))) + " s";
}

std::string AgeText(int64_t then) {
  return Age(static_cast<double>(std::time(nullptr) - then)) + " ago";
}

std::string Digits(double value) {
  char text[32];
  const int decimals =
      value == 0 ? 0 : std::clamp(2 - static_cast<int>(std::floor(std::log10(value))), 0, 6);
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

std::string SimulatedTime(double seconds) {
  if (seconds >= 1) return Digits(seconds) + " s";
  if (seconds >= 1e-3) return Digits(seconds * 1e3) + " ms";
  return Digits(seconds * 1e6) + " us";
}

std::string Steps(const Binding& binding) {
  const std::vector<Axis>& axes = binding.kernel->axes;
  const int64_t count = binding.StepCount();
  std::string text = std::to_string(count) + " grid step" + (count == 1 ? "" : "s");
  for (size_t a = 0; a < axes.size(); ++a) {
    text += (a ? ", " : " (") + axes[a].name + "=" + std::to_string(binding.steps[a]);
  }
  return text + (axes.empty() ? "" : ")");
}

void PrintSummary(const Kernel& kernel, const Inputs& inputs, const RunResult& result) {
  std::cout << kernel.name << (kernel.instance.empty() ? "" : ":" + kernel.instance) << ", "
            << result.headline << "\n";
  for (const Ref& ref : kernel.refs) {
    const auto input = inputs.arrays.find(ref.name);
    const auto output = result.outputs.find(ref.name);
    const bool is_output = output != result.outputs.end();
    if (!is_output && input == inputs.arrays.end()) continue;
    const Array& array = is_output ? output->second : input->second;
    std::cout << Row(is_output ? "output" : "input", ref.name, ToString(array.dtype, array.shape),
                     RangeText(array))
              << "\n";
  }
  for (const std::string& line : result.lines) std::cout << line << "\n";
}

bool WriteOutputs(const RunResult& result, const std::string& folder) {
  for (const auto& [name, array] : result.outputs) {
    const std::string path = folder + "/" + name + ".npy";
    const std::string why = WriteNpy(path, array);
    if (!why.empty()) {
      UsageError(why);
      return false;
    }
    std::cout << "  wrote " << OneLine(path) << "\n";
  }
  return true;
}

}  // namespace kiln::cli
