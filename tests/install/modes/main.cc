// Uses all of the runtime that a program can see, to be compiled in another mode than the library.
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "double_buffer.h"
#include "gmm_f32.h"
#include "kiln/host/prepare.h"
#include "kiln/kiln.h"

namespace {

constexpr int64_t kM = 40, kK = 150, kN = 20, kGroups = 2;

/// Prints what does not hold.
bool Holds(bool condition, const std::string& what) {
  if (!condition) std::printf("wrong: %s\n", what.c_str());
  return condition;
}

/// Each row is multiplied by the matrix of its group, which holds the group's number plus one.
bool Multiplies(kiln::Context& context) {
  const std::vector<int32_t> sizes = {15, 25};
  const std::vector<float> x(kM * kK, 1.0f);
  std::vector<float> y(kGroups * kK * kN, 2.0f), z(kM * kN);
  std::fill_n(y.begin(), kK * kN, 1.0f);
  const kiln::Status status =
      kiln::gmm_f32({sizes.data(), {kGroups}}, 0, {x.data(), {kM, kK}},
                    {y.data(), {kGroups, kK, kN}}, {z.data(), {kM, kN}}, context);
  bool good = Holds(status.ok(), status.message);
  for (int64_t i = 0; i < kM * kN; ++i)
    good = good && Holds(z[static_cast<size_t>(i)] == (i < 15 * kN ? 1 : 2) * kK, "a product");
  return good;
}

bool CopiesByHand(kiln::Context& context) {
  const std::vector<float> x(8 * kN, 0.5f);
  std::vector<float> total(kN), top(kN);
  const kiln::Status status =
      kiln::double_buffer({x.data(), {8, kN}}, {total.data(), {kN}}, {top.data(), {kN}}, context);
  return Holds(status.ok(), status.message) && Holds(total == std::vector<float>(kN, 4), "a sum") &&
         Holds(top == std::vector<float>(kN, 0.5f), "a maximum");
}

/// Of an emulated call of double_buffer.
bool Records(const kiln::Context& context) {
  const kiln::Record record = context.record(), copy = record;
  std::string names;
  for (const kiln::OperandRecord& operand : copy.operands) {
    if (operand.name != nullptr) names += std::string(operand.name) + " ";
  }
  return Holds(names.starts_with("x total top buffer "), "the operands are " + names) &&
         Holds(copy.vmem_high.size() == 2, "the cores") &&
         Holds(copy.events.size() == 2 && copy.events[0] != nullptr, "the events") &&
         Holds(copy.events[0]->size() > 3, "the steps");
}

bool Prepares() {
  const std::vector<int32_t> sizes = {15, 25};
  kiln::GroupSteps steps;
  const kiln::Status status =
      kiln::GroupMetadata(kiln::Tensor<const int32_t>(sizes.data(), {kGroups}), kM, 16, {}, &steps);
  kiln::HostArray<int32_t> array = steps.ids;
  array.values = std::vector<int32_t>{4, 7};
  array.values.push_back(9);
  const std::vector<int32_t> ids(steps.ids.values.begin(), steps.ids.values.end());
  return Holds(status.ok(), status.message) && Holds(steps.visits == 4, "the visits") &&
         Holds(ids == std::vector<int32_t>{0, 1, 1, 1, 1}, "the groups") &&
         Holds(array.values.size() == 3 && array.values[2] == 9, "a list");
}

}  // namespace

int main() {
  bool good = Prepares();
  for (const kiln::Mode mode : {kiln::Mode::kDirect, kiln::Mode::kEmulated}) {
    kiln::Options options;
    options.cores = 2;
    options.mode = mode;
    options.events = true;
    std::vector<int> before(100, 1);  // what stands around a context stays as it is
    kiln::Context context(options);
    std::vector<int> behind(100, 2);
    good = Multiplies(context) && CopiesByHand(context) &&
           (mode == kiln::Mode::kDirect || Records(context)) && good;
    good = Holds(before == std::vector<int>(100, 1) && behind == std::vector<int>(100, 2),
                 "what stands around a context") &&
           good;
    context.Trim();
  }
  if (good) std::printf("all is right\n");
  return good ? 0 : 1;
}
