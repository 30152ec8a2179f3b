#include "generator/predict/machine/machine.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>

#include "generator/spec/yaml/yaml.h"

namespace kiln {
namespace {

constexpr RuleLabel kRule = "key";

/// A number's limits. All but shares may be as large as they like.
struct Range {
  double low = 0;
  bool above = false;  // more than `low`, not `low` itself
  double high = std::numeric_limits<double>::infinity();
};
constexpr Range kPositive{0, true};
constexpr Range kNotNegative{0, false};
constexpr Range kShare{0, true, 1};
constexpr double kMostBytes = 9e18;  // fits an int64

std::string Decimal(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string Describe(const Range& range) {
  const std::string low = (range.above ? "more than " : "at least ") + Decimal(range.low);
  return std::isinf(range.high) ? low : low + " and at most " + Decimal(range.high);
}

/// One key of a machine's file.
struct Key {
  const char* name;
  const char* example;
  Range range;
  bool whole = false;
  bool required = true;
  std::function<void(Machine&, double)> set;
};

template <typename T>
Key Number(const char* name, const char* example, Range range, T Machine::*member,
           bool required = true) {
  constexpr bool kWhole = std::is_integral_v<T>;
  if (kWhole) range.high = std::min(range.high, kMostBytes);
  return {name,
          example,
          range,
          kWhole,
          required,
          [member](Machine& machine, double value) { machine.*member = static_cast<T>(value); }};
}

/// In the order of the shipped files.
const std::vector<Key>& Numbers() {
  static const std::vector<Key> keys = {
      Number("cores", "1", {1, false, 4096}, &Machine::cores),
      Number("vmem", "134217728", kPositive, &Machine::vmem),
      Number("vmem_limit", "16777216", kPositive, &Machine::vmem_limit, /*required=*/false),
      Number("smem", "1048576", kPositive, &Machine::smem),
      Number("hbm", "17200000000", kPositive, &Machine::hbm),
      Number("hbm_bps", "820e9", kPositive, &Machine::hbm_bps),
      Number("hbm_share", "0.8", kShare, &Machine::hbm_share),
      Number("dma_seconds", "0.2e-6", kNotNegative, &Machine::dma_seconds),
      Number("mxu", "128", {1, false, 65536}, &Machine::mxu),
      Number("clock", "1.5e9", kPositive, &Machine::clock),
      Number("sublanes", "8", {1, false, 65536}, &Machine::sublanes),
      Number("lanes", "128", {1, false, 65536}, &Machine::lanes),
      Number("vector_ops", "4", kPositive, &Machine::vector_ops),
      Number("vector_loads", "2", kPositive, &Machine::vector_loads),
      Number("vector_stores", "1", kPositive, &Machine::vector_stores),
      Number("step_cycles", "533", kNotNegative, &Machine::step_cycles),
      Number("skipped_step_cycles", "225", kNotNegative, &Machine::skipped_step_cycles),
      Number("call_seconds", "0.11e-3", kNotNegative, &Machine::call_seconds),
  };
  return keys;
}

class MachineReader {
 public:
  explicit MachineReader(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  Machine Read(const YamlNode& file) {
    for (const YamlEntry& entry : file.entries) ReadEntry(entry);
    const Span where = file.span;
    Require("machine", "v5e", where);
    for (const Key& key : Numbers()) {
      if (key.required) Require(key.name, key.example, where);
    }
    Require("rates", "{bf16: 197e12}", where);
    if (machine_.vmem_limit == 0) machine_.vmem_limit = machine_.vmem;
    if (machine_.vmem_limit > machine_.vmem)
      diagnostics_.Error(kRule, places_["vmem_limit"], "`vmem_limit` is more than `vmem`");
    return machine_;
  }

 private:
  void Require(const std::string& name, const std::string& example, Span where) {
    if (places_.count(name) > 0) return;
    diagnostics_.Error(kRule, {where.begin, where.begin}, "the key `" + name + "` is missing",
                       "for example `" + name + ": " + example + "`");
  }

  void ReadEntry(const YamlEntry& entry) {
    const std::string& name = entry.key.value;
    places_[name] = entry.value.span;
    if (entry.value.kind == YamlNode::Kind::kBad) return;
    if (name == "machine" || name == "doc") {
      if (!IsScalar(entry)) return;
      (name == "machine" ? machine_.name : machine_.doc) = entry.value.text.value;
      return;
    }
    if (name == "rates") return ReadRates(entry);
    for (const Key& key : Numbers()) {
      if (name != key.name) continue;
      if (const auto value = ReadNumber(entry, key.range, key.whole)) key.set(machine_, *value);
      return;
    }
    std::vector<std::string> known = {"machine", "doc", "rates"};
    for (const Key& key : Numbers()) known.push_back(key.name);
    diagnostics_.Error(kRule, entry.key.span(), "a machine has no key `" + name + "`",
                       DidYouMean(name, known));
  }

  bool IsScalar(const YamlEntry& entry) {
    if (entry.value.kind == YamlNode::Kind::kScalar) return true;
    diagnostics_.Error(kRule, entry.value.span, "`" + entry.key.value + "` is one value");
    return false;
  }

  std::optional<double> ReadNumber(const YamlEntry& entry, const Range& range, bool whole) {
    if (!IsScalar(entry)) return std::nullopt;
    const std::string& text = entry.value.text.value;
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    const std::string name = "`" + entry.key.value + "`";
    if (text.empty() || *end != '\0' || !std::isfinite(value)) {
      diagnostics_.Error(kRule, entry.value.span, name + " is a number, not `" + text + "`",
                         "plain bytes, seconds and operations a second: 16777216, 0.2e-6, 820e9");
      return std::nullopt;
    }
    const bool low = range.above ? value <= range.low : value < range.low;
    if (low || value > range.high) {
      diagnostics_.Error(kRule, entry.value.span, name + " must be " + Describe(range));
      return std::nullopt;
    }
    if (whole && value != std::floor(value)) {
      diagnostics_.Error(kRule, entry.value.span, name + " must be a whole number");
      return std::nullopt;
    }
    return value;
  }

  void ReadRates(const YamlEntry& entry) {
    if (entry.value.kind != YamlNode::Kind::kMapping || entry.value.entries.empty()) {
      diagnostics_.Error(kRule, entry.value.span,
                         "`rates` has the operations a second of each dtype",
                         "for example `rates: {bf16: 197e12, i8: 394e12}`");
      return;
    }
    for (const YamlEntry& rate : entry.value.entries) {
      const auto dtype = ParseDType(rate.key.value);
      if (!dtype) {
        diagnostics_.Error(kRule, rate.key.span(), "there is no dtype `" + rate.key.value + "`",
                           "dtypes:" + std::string(kDTypeNames));
      } else if (const auto value = ReadNumber(rate, kPositive, /*whole=*/false)) {
        machine_.rates[*dtype] = *value;
      }
    }
  }

  Diagnostics& diagnostics_;
  Machine machine_;
  std::map<std::string, Span> places_;
};

}  // namespace

std::optional<double> Machine::RateOf(DType dtype) const {
  const auto rate = [this](DType of) -> std::optional<double> {
    const auto found = rates.find(of);
    if (found == rates.end()) return std::nullopt;
    return found->second;
  };
  if (const auto own = rate(dtype)) return own;
  const auto instead = RowOf(dtype).multiplied_as;
  // An integer is no sum of f32.
  if (!instead || (dtype == DType::kI8 && !rate(*instead))) return std::nullopt;
  return RateOf(*instead);
}

double Machine::Ridge() const { return RateOf(DType::kBF16).value_or(0) / hbm_bps; }

double Machine::CopyRate(int64_t working_cores) const {
  return hbm_bps * hbm_share * static_cast<double>(cores) /
         static_cast<double>(std::max<int64_t>(working_cores, 1));
}

std::optional<Machine> ParseMachine(const Source& source, Diagnostics& diagnostics) {
  const auto file = ParseYaml(source, diagnostics);
  if (!file) return std::nullopt;
  Machine machine = MachineReader(diagnostics).Read(*file);
  if (diagnostics.HasErrors()) return std::nullopt;
  return machine;
}

}  // namespace kiln
