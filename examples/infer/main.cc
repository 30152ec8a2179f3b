// infer WEIGHTS [PROMPT [COUNT [TEMPERATURE [SEED]]]]: continues a text, as
// examples/train/generate.py does.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <numeric>
#include <stdexcept>
#include <string>

#include "model.h"

namespace {

/// Of the characters that may follow, one: the class `Draw` of generate.py.
class Draw {
 public:
  Draw(double temperature, uint32_t seed) : temperature_(temperature), state_(seed) {}

  int operator()(const std::vector<float>& logits) {
    const auto top = std::max_element(logits.begin(), logits.end());
    if (temperature_ == 0) return static_cast<int>(top - logits.begin());
    std::vector<double> sums(logits.size());
    for (size_t i = 0; i < sums.size(); ++i)
      sums[i] = std::exp((double(logits[i]) - double(*top)) / temperature_);
    std::partial_sum(sums.begin(), sums.end(), sums.begin());
    const auto found = std::upper_bound(sums.begin(), sums.end(), Number() * sums.back());
    return static_cast<int>(std::min(found, sums.end() - 1) - sums.begin());
  }

 private:
  /// From 0 to 1.
  double Number() {
    state_ = state_ * 1664525u + 1013904223u;
    return state_ / 4294967296.0;
  }

  double temperature_;
  uint32_t state_;
};

void Run(const std::string& path, const std::string& prompt, int64_t count, Draw draw) {
  Model model(ReadNpz(path));
  const std::string& vocabulary = model.vocabulary();
  std::string text;
  const auto take = [&](char character) -> const std::vector<float>& {
    const size_t token = vocabulary.find(character);
    if (token == std::string::npos)
      throw std::runtime_error(std::string("the vocabulary has no '") + character + "'");
    text += character;
    return model.Next(static_cast<int>(token));
  };

  if (prompt.empty() || static_cast<int64_t>(prompt.size()) > model.context())
    throw std::runtime_error("the prompt may have 1 to " + std::to_string(model.context()) +
                             " characters");
  const auto start = std::chrono::steady_clock::now();
  const std::vector<float>* logits = nullptr;
  for (const char character : prompt) logits = &take(character);
  for (; count > 0 && static_cast<int64_t>(text.size()) < model.context(); --count)
    logits = &take(vocabulary[static_cast<size_t>(draw(*logits))]);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;

  std::printf("%s\n", text.c_str());
  std::fprintf(stderr, "%.0f characters a second\n", double(text.size()) / took.count());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 6) {
    std::fprintf(stderr, "usage: infer WEIGHTS [PROMPT [COUNT [TEMPERATURE [SEED]]]]\n");
    return 2;
  }
  const auto word = [&](int i, const char* otherwise) {
    return std::string(argc > i ? argv[i] : otherwise);
  };
  try {
    Run(word(1, ""), word(2, "HAMLET.\n"), std::stoll(word(3, "100")),
        Draw(std::stod(word(4, "0.7")), static_cast<uint32_t>(std::stoul(word(5, "1")))));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "infer: %s\n", error.what());
    return 1;
  }
  return 0;
}
