#include "tests/random/maker.h"

/// What is known before the grid starts.
namespace kiln::soak {

/// Scalars and small arrays of every type that the body reads.
void Maker::AddScalars() {
  static const std::vector<std::string> types = {"i32", "f32", "bool", "i8", "u8", "i16", "u16", "u32", "i64", "bf16", "f16", "f64"};
  if (Want("key spec.scalars", 0.12)) {
    const std::string type = PickEntry("scalar", types), name = Name("c");
    draft_.scalars.push_back({name, type});
    draft_.sizes[name] = type == "bool" ? dice_.Between(0, 1) : dice_.Between(0, 7);
    const DType dtype = *ParseDType(type);
    Value value{{name, {}}, dtype, {}, FactsOf(dtype, 0)};
    value.facts.bound = 7;
    value.facts.grain = 1;
    scope_.push_back(value);
  }
  if (Want("key spec.prefetch", 0.12)) {
    const std::string type = PickEntry("prefetch", types), name = Name("q");
    const int64_t size = dice_.Between(1, 6);
    draft_.prefetch.push_back({name, type + "[" + std::to_string(size) + "]"});
    const DType dtype = *ParseDType(type);
    RefInfo ref;
    ref.name = name;
    ref.dtype = dtype;
    ref.facts = FactsOf(dtype, 1);
    FillInput(name, dtype, ref.facts);
    Value value{{name + "[" + std::to_string(dice_.Between(0, size - 1)) + "]", {}}, dtype, {}, ref.facts};
    value.facts.edges.clear();
    scope_.push_back(value);
  }
}

}  // namespace kiln::soak
