// What a caller lends to calls: a flag that ends them, and memory.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "kiln/call/c.h"
#include "kiln/call/context.h"
#include "tests/runtime/runtime_testing.h"
#include "tests/runtime/samples/matmul.h"

namespace kiln {
namespace {

using Floats = std::vector<float>;

/// z = x y of 1100 rows, in several steps of each core.
struct Product {
  int64_t m = 1100, k = 16, n = 64;
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

/// Some of the caller's memory, between bytes that are not a call's.
struct Lent {
  Lent(size_t bytes_, size_t after_line) : bytes(bytes_), all(bytes + 3 * kLineBytes) {
    const size_t to_line = -reinterpret_cast<uintptr_t>(all.data()) % kLineBytes;
    begin = all.data() + to_line + after_line;
  }

  size_t bytes;
  std::vector<char> all;
  char* begin;

  bool IsUntouchedAround(char filling) const {
    const auto is_untouched = [&](char c) { return c == filling; };
    const char* const end = begin + bytes;
    return std::all_of(all.data(), static_cast<const char*>(begin), is_untouched) &&
           std::all_of(end, all.data() + all.size(), is_untouched);
  }
};

/// A call in `lent`, and in nothing that an earlier one has left.
Status CallIn(Lent& lent, char filling, Options options, Context& context, Product& product) {
  std::fill(lent.all.begin(), lent.all.end(), filling);
  std::fill(product.z.begin(), product.z.end(), -1.0f);
  options.memory = lent.begin;
  options.memory_bytes = lent.bytes;
  context.Configure(options);
  context.Trim();
  return product.Call(context);
}

TEST_CASE("Blocks are kept in memory of the caller's, and nowhere else") {
  for (const Mode mode : kModes) {
    for (const size_t after_line : {0, 4, 60}) {
      const Options options = TwoCores(mode);
      Context context(options);
      Product product;
      REQUIRE(product.Call(context).ok());
      const auto needed = static_cast<size_t>(context.record().memory_bytes);

      // Two fillings: what a call has written differs from one of them.
      Lent lent[] = {{needed, after_line}, {needed, after_line}};
      constexpr char kFillings[] = {0x5A, 0x25};
      for (const int i : {0, 1}) {
        CHECK(CallIn(lent[i], kFillings[i], options, context, product).ok());
        CHECK(product.IsDone());
        CHECK(context.record().memory_bytes == static_cast<int64_t>(needed));
        CHECK(lent[i].IsUntouchedAround(kFillings[i]));
      }
      int64_t written = 0;
      for (size_t b = 0; b < needed; ++b)
        written += lent[0].begin[b] != kFillings[0] || lent[1].begin[b] != kFillings[1];
      CHECK(written >= product.k * product.n * 4);  // all of y is packed, or copied

      // To the byte: what it takes to begin on a line depends on where the memory is.
      const size_t spare = after_line == 0 ? kLineBytes : after_line;
      Lent exact(needed - spare, after_line), less(needed - spare - 1, after_line);
      CHECK(CallIn(exact, kFillings[0], options, context, product).ok());
      CHECK(product.IsDone());
      CHECK(exact.IsUntouchedAround(kFillings[0]));
      const Status status = CallIn(less, kFillings[0], options, context, product);
      CHECK(status.code == kMemory);
      const std::string enough = "[memory] the memory of the options, " +
                                 std::to_string(less.bytes) + " bytes, is not enough";
      CHECK(std::string(status.message).find(enough) != std::string::npos);
      CHECK(less.IsUntouchedAround(kFillings[0]));

      context.Configure(options);  // memory of its own again
      CHECK(product.Call(context).ok());
      CHECK(product.IsDone());
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
