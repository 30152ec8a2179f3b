// What a caller lends to calls: a flag that ends them, and memory.
#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "kiln/call/c.h"
#include "kiln/call/context.h"
#include "tests/runtime/runtime_testing.h"
#include "tests/runtime/samples/matmul.h"

namespace kiln {
namespace {

using Floats = std::vector<float>;

/// z = x y of 700 rows, in several steps of each core.
struct Product {
  int64_t m = 700, k = 90, n = 600;
  Floats x = Floats(static_cast<size_t>(m * k), 0.5f), y = Floats(static_cast<size_t>(k * n), 2);
  Floats bias = Floats(static_cast<size_t>(n), 1), z = Floats(static_cast<size_t>(m * n), -1);

  Status Call(Context& context) {
    return sample_matmul({x.data(), {m, k}}, {y.data(), {k, n}}, {bias.data(), {n}},
                         {z.data(), {m, n}}, context);
  }
  /// How many elements are as they should be.
  int64_t Done() const { return std::count(z.begin(), z.end(), static_cast<float>(k) + 1); }
  bool IsDone() const { return Done() == m * n; }
};

constexpr Mode kModes[] = {Mode::kDirect, Mode::kEmulated};

Options TwoCores(Mode mode) {
  Options options;
  options.cores = 2;
  options.mode = mode;
  return options;
}

TEST_CASE("A flag that is set ends a call before its first step, and one that is not, none") {
  for (const Mode mode : kModes) {
    std::atomic<int32_t> flag{1};
    Options options = TwoCores(mode);
    options.cancel = &flag;
    Context context(options);
    Product product;
    const Status status = product.Call(context);
    CHECK(status.code == kCancelled);
    CHECK(std::string(NameOf(status.code)) == "cancelled");
    CHECK(std::string(status.message).find("[cancelled] the caller has ended the call") !=
          std::string::npos);
    CHECK(product.Done() == 0);
    flag = 0;
    CHECK(product.Call(context).ok());
    CHECK(product.IsDone());
  }
}

TEST_CASE("A flag that is set amid a call ends the steps that have not begun") {
  for (const Mode mode : kModes) {
    std::atomic<int32_t> flag{0};
    Options options = TwoCores(mode);
    options.cancel = &flag;
    options.parallel_for_data = &flag;
    options.parallel_for = [](void* data, int32_t, void (*task)(void*, int32_t), void* argument) {
      task(argument, 0);
      *static_cast<std::atomic<int32_t>*>(data) = 1;
      task(argument, 1);
    };
    Context context(options);
    Product product;
    CHECK(product.Call(context).code == kCancelled);
    CHECK(product.Done() > 0);
    CHECK(!product.IsDone());
    options.parallel_for = nullptr;
    flag = 0;
    context.Configure(options);
    CHECK(product.Call(context).ok());
    CHECK(product.IsDone());
  }
}

TEST_CASE("Blocks are kept in memory of the caller's, if that is enough") {
  for (const Mode mode : kModes) {
    for (const size_t misaligned : {0, 4}) {
      Options options = TwoCores(mode);
      Context context(options);
      Product product;
      REQUIRE(product.Call(context).ok());
      const auto needed = static_cast<size_t>(context.record().memory_bytes);
      CHECK(needed > 600 * 4);  // at least some of B is packed, or copied

      constexpr char kUntouched = 0x5A;
      std::vector<char> memory(needed + misaligned + 64, kUntouched);
      options.memory = memory.data() + misaligned;
      options.memory_bytes = needed;
      context.Configure(options);
      context.Trim();
      std::fill(product.z.begin(), product.z.end(), -1.0f);
      CHECK(product.Call(context).ok());
      CHECK(product.IsDone());
      CHECK(context.record().memory_bytes == static_cast<int64_t>(needed));
      CHECK(std::count(memory.begin(), memory.end(), kUntouched) <
            static_cast<int64_t>(memory.size() / 2));
      for (size_t i = 0; i < misaligned; ++i) CHECK(memory[i] == kUntouched);
      for (size_t i = misaligned + needed; i < memory.size(); ++i) CHECK(memory[i] == kUntouched);

      options.memory_bytes = needed / 2;
      context.Configure(options);
      const Status status = product.Call(context);
      CHECK(status.code == kMemory);
      const std::string enough = "[memory] the memory of the options, " +
                                 std::to_string(needed / 2) + " bytes, is not enough";
      CHECK(std::string(status.message).find(enough) != std::string::npos);
      options.memory = nullptr;
      context.Configure(options);
      CHECK(product.Call(context).ok());
    }
  }
}

TEST_CASE("Memory of the caller's serves one call at a time") {
  std::vector<char> memory(1 << 20);
  Options options = TwoCores(Mode::kDirect);
  options.memory = memory.data();
  options.memory_bytes = memory.size();
  Context context(options);
  struct Nested {
    Context* context;
    Status* status;
  };
  Status inner;
  const auto nest = [](const Nested& nested, Core& core) {
    if (core.index() == 0) *nested.status = Product().Call(*nested.context);
  };
  CHECK(context.Run<Nested>(nest, {&context, &inner}).ok());
  CHECK(inner.code == kMemory);
  CHECK(std::string(inner.message).find("[memory] another call is in the memory of the options") !=
        std::string::npos);
  CHECK(context.Run<Nested>([](const Nested&, Core&) {}, {}).ok());  // it is free again
}

TEST_CASE("Flag and memory by the C interface") {
  kiln_options options;
  kiln_options_init(&options);
  kiln_context* const context = kiln_context_new(&options);
  REQUIRE(context != nullptr);
  Product product;
  auto& as_cpp = *reinterpret_cast<Context*>(context);
  const int32_t set = 1;
  kiln_context_set_cancel(context, &set);
  options.cores = 1;
  kiln_context_configure(context, &options);  // leaves flag and memory as they are
  CHECK(product.Call(as_cpp).code == kCancelled);
  kiln_context_set_cancel(context, nullptr);
  CHECK(product.Call(as_cpp).ok());
  const int64_t needed = kiln_context_memory_bytes(context);
  CHECK(needed > 64);
  std::vector<char> memory(static_cast<size_t>(needed));
  kiln_context_set_memory(context, memory.data(), needed);
  CHECK(product.Call(as_cpp).ok());
  kiln_context_set_memory(context, memory.data(), -1);
  CHECK(product.Call(as_cpp).code == kMemory);
  kiln_context_free(context);
}

}  // namespace
}  // namespace kiln
