// Says what it found wrong; the first argument is the version that it ought to be linked with.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "kiln/kiln.h"

extern "C" int Scale(const float* x, float* y, int64_t n, int emulated);
extern "C" int Multiply(const float* a, const float* b, float* c, int64_t m, int64_t k, int64_t n);

namespace {

int Holds(bool condition, const char* what) {
  if (!condition) std::printf("wrong: %s\n", what);
  return condition ? 0 : 1;
}

int CheckScale() {
  constexpr int64_t kSize = 300;
  std::vector<float> x(kSize), direct(kSize), emulated(kSize);
  for (int64_t i = 0; i < kSize; ++i) x[static_cast<size_t>(i)] = static_cast<float>(i) / 7;
  int wrong = Holds(Scale(x.data(), direct.data(), kSize, 0) == 0, "a call") +
              Holds(Scale(x.data(), emulated.data(), kSize, 1) == 0, "an emulated call") +
              Holds(direct == emulated, "Direct and Emulated differ");
  for (size_t i = 0; i < x.size(); ++i) wrong += Holds(direct[i] == x[i] * 3 + 1, "a number");
  return wrong;
}

int CheckMultiply() {
  constexpr int64_t kM = 40, kK = 20, kN = 70;
  std::vector<float> a(kM * kK, 2), b(kK * kN, 3), c(kM * kN);
  int wrong = Holds(Multiply(a.data(), b.data(), c.data(), kM, kK, kN) == 0, "a call from C");
  for (const float sum : c) wrong += Holds(sum == 2 * 3 * kK, "a sum");
  return wrong;
}

int CheckPlugin() {
  void* const plugin = dlopen(PLUGIN, RTLD_NOW);
  if (plugin == nullptr) return Holds(false, dlerror());
  int wrong =
      Holds(dlsym(plugin, "kiln_packed_scaled") != nullptr, "the plugin has no array function") +
      Holds(dlsym(plugin, "kiln_scaled") != nullptr, "the plugin has no kernel") +
      Holds(dlsym(plugin, "kiln_context_new") != nullptr, "the plugin has no runtime");
  return wrong + Holds(dlclose(plugin) == 0, "dlclose");
}

}  // namespace

int main(int argc, char** argv) {
  const int wrong = Holds(argc == 2 && std::strcmp(kiln_version(), argv[1]) == 0, "the version") +
                    CheckScale() + CheckMultiply() + CheckPlugin();
  if (wrong == 0) std::printf("all right, by Kiln %s\n", kiln_version());
  return wrong;
}
