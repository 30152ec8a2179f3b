#include "tests/catch.h"
#include "tests/elaborate/probe.h"

/// Functions along an axis that look at its order, as they are called.
namespace kiln::elaborate_test {
namespace {

std::string MessagesOf(const std::string& body) {
  std::string messages;
  return CheckBody(body, messages) ? "accepted" : messages;
}

/// The statements of the body that the kernel has, in Kiln's spelling.
std::string StatementsOf(const std::string& body) {
  std::string messages;
  const auto kernel = CheckBody(body, messages);
  INFO(messages);
  REQUIRE(kernel);
  const std::string text = ToString(*kernel);
  return text.substr(text.find("body:"));
}

TEST_CASE("scans, sorts and reversals keep the shape, and what selects keeps the type") {
  CHECK(StatementsOf("  o = cummax(x, axis=0) + cumprod(x, axis=1)\n")
            .find("cummax(x, axis=0) + cumprod(x, axis=1)") != std::string::npos);
  CHECK(StatementsOf("  o = f32(sort(h, axis=1, descending=true))\n")
            .find("sort(h, axis=1, descending=true)") != std::string::npos);
  CHECK(StatementsOf("  o = f32(cummin(h, axis=1))\n").find("f32(cummin(h, axis=1))") !=
        std::string::npos);
  CHECK(StatementsOf("  o = f32(argsort(h, axis=-1)) + flip(x, [0, 1])\n")
            .find("f32(argsort(h, axis=1)) + flip(x, axis=[0, 1])") != std::string::npos);
  CHECK(StatementsOf("  o[:, 0:8] = repeat(x[:, 0:2], 4, axis=1)\n  o[:, 8:] = 0\n")
            .find("reshape(broadcast(reshape(") != std::string::npos);
}

TEST_CASE("top_k names its values and where they are; what is computed is so once") {
  const std::string both = StatementsOf(
      "  let v, at = top_k(x, 3, axis=1)\n  o[:, 0:3] = v + f32(at)\n"
      "  o[:, 3:] = 0\n");
  CHECK(both.find("let at: i32[8, 3] = top_k(x, 3, axis=1)") != std::string::npos);
  CHECK(both.find("let v: f32[8, 3] = take_along(x, at, axis=1)") != std::string::npos);
  const std::string made = StatementsOf("  let v, at = top_k(x * 2, 3, axis=1)\n  o = 0\n");
  CHECK(made.find("let v_of: f32[8, 16] = x * 2.0") != std::string::npos);
  CHECK(made.find("let at: i32[8, 3] = top_k(v_of, 3, axis=1)") != std::string::npos);
}

TEST_CASE("an axis is needed, and has to be there") {
  CHECK(MessagesOf("  o = sort(x)\n") ==
        R"(-:19:7: error[syntax]: `sort` needs an axis
  19 |   o = sort(x)
     |       ^~~~~~~
  hint: write sort(x, axis=1, descending=true)
)");
  CHECK(Refused("  o = flip(x)\n") == "error[syntax]: `flip` needs an axis, or a list of axes");
  CHECK(Refused("  o = cummax(x, axis=2)\n") ==
        "error[shape]: axis 2 of the value, which has rank 2");
  CHECK(Refused("  o = repeat(x, 2)\n") == "error[syntax]: `repeat` needs an axis");
  CHECK(Refused("  o = repeat(x, -1, axis=1)\n") ==
        "error[shape]: `repeat` of each element -1 times");
  CHECK(Refused("  o = sort(x, axis=1, descending=x)\n") ==
        "error[name]: `x` is an operand; a generation-time condition cannot use it");
}

TEST_CASE("top_k gives two values, of as many as there are") {
  CHECK(MessagesOf("  o = top_k(x, 3, axis=1)\n") ==
        R"(-:19:7: error[type]: `top_k` gives two values, the largest and their positions
  19 |   o = top_k(x, 3, axis=1)
     |       ^~~~~~~~~~~~~~~~~~~
  hint: name both: let values, ids = top_k(x, 8, axis=1)
)");
  CHECK(MessagesOf("  let v, at = top_k(x, 17, axis=1)\n  o = 0\n") ==
        R"(-:19:24: error[shape]: `top_k` takes 17 of 16 elements along axis 1
  19 |   let v, at = top_k(x, 17, axis=1)
     |                        ^~
)");
  CHECK(MessagesOf("  let v, at, c = top_k(x, 3, axis=1)\n  o = 0\n") ==
        R"(-:19:18: error[syntax]: 3 names for two values
  19 |   let v, at, c = top_k(x, 3, axis=1)
     |                  ^~~~~~~~~~~~~~~~~~~
  hint: write let values, ids = top_k(x, 8, axis=1)
)");
  CHECK(Refused("  let s, t = exp(x)\n  o = 0\n") == "error[syntax]: 2 names for one value");
  CHECK(Refused("  let s, t = f32(x)\n  o = 0\n") == "error[syntax]: 2 names for one value");
  CHECK(Refused("  let s, t = nothing(x)\n  o = 0\n") ==
        "error[name]: there is no function `nothing`");
  CHECK(Refused("  let s, t = top_k(top_k(x, 3, axis=1), 2, axis=1)\n  o = 0\n") ==
        "error[type]: `top_k` gives two values, the largest and their positions");
}

}  // namespace
}  // namespace kiln::elaborate_test
