#include "tests/random/pallas/batch_file.h"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "generator/data/npy.h"
#include "tests/random/batch_run.h"
#include "tests/random/pallas/expression.h"
#include "tests/random/pallas/writer.h"

namespace kiln::soak {
namespace {

using nlohmann::json;

/// Of the types whose subnormals XLA takes for 0: smaller ones are normal in the f32 it computes
/// in.
double SmallestNormal(DType dtype) {
  return dtype == DType::kF64 ? 0x1p-1022 : RowOf(dtype).exponent < 8 ? 0 : 0x1p-126;
}

/// XLA takes subnormals for 0 on a CPU: they become the smallest numbers that are none. What
/// `prepare` has made of the arrays stays as it is, as 0 remains 0 and nothing else becomes it.
void RaiseSubnormals(Array& array) {
  if (!IsFloat(array.dtype)) return;
  const double least = SmallestNormal(array.dtype);
  for (int64_t i = 0; i < array.size(); ++i) {
    const double value = array.GetFloat(i);
    if (value != 0 && std::fabs(value) < least) array.SetFloat(i, std::copysign(least, value));
  }
}

class BatchFile {
 public:
  void Add(uint64_t number) {
    json entry = {{"number", number}};
    const Draft draft = DraftOf(number, /*faulty=*/false);
    auto of = Prepare(draft);
    entry["text"] = std::string(of->source->text());
    try {
      Add(draft, *of, entry);
    } catch (const CannotSay& why) {
      entry["skipped"] = why.what();
      ++skipped_;
    }
    entries_.push_back(std::move(entry));
  }

  int64_t skipped() const { return skipped_; }

  bool Write(const std::string& path, std::string* why) {
    Array all = Array::Zeros(DType::kU8, {static_cast<int64_t>(bytes_.size())});
    all.bytes = bytes_;
    *why = WriteNpy(path + ".npy", all);
    if (!why->empty()) return false;
    std::ofstream(path + ".py") << python_;
    std::ofstream list(path + ".json");
    list << entries_.dump(1) << "\n";
    if (list.flush()) return true;
    *why = path + ".json cannot be written";
    return false;
  }

 private:
  void Add(const Draft& draft, Case& of, json& entry) {
    if (!of.binding) throw CannotSay("refused by the checker: " + FirstRule(of.found));
    for (auto& [name, array] : of.inputs.arrays) RaiseSubnormals(array);
    Diagnostics found, ignored;
    const auto outputs = Interpret(*of.binding, of.inputs.arrays, {}, found).outputs;
    if (found.HasErrors()) throw CannotSay("a diagnostic of the interpreter: " + FirstRule(found));
    InterpretOptions exactly;
    exactly.wide = true;
    const auto wide = Interpret(*of.binding, of.inputs.arrays, exactly, ignored).outputs;

    const std::string function = "spec_" + std::to_string(entry["number"].get<uint64_t>());
    const std::string python = WritePallas(*of.binding, function);
    entry["function"] = function;
    entry["used"] = EntriesOf(*of.spec, *of.binding);
    entry["arguments"] = json::object();
    AddArguments(of, entry["arguments"]);
    for (const auto& [name, array] : outputs) {
      const Ref& ref = of.called().refs[static_cast<size_t>(of.called().FindRef(name))];
      entry["outputs"][name] = OutputEntry(draft, *of.binding, ref, array, wide.at(name));
    }
    python_ += "\n\n" + python;
  }

  void AddArguments(const Case& of, json& arguments) {
    const Kernel& kernel = of.called();
    for (size_t r = 0; r < kernel.refs.size(); ++r) {
      const Ref& ref = kernel.refs[r];
      const bool host = ref.role == Role::kPrefetch || ref.role == Role::kScalar;
      if (host) {
        Array array = *of.binding->host[r];
        if (ref.role == Role::kScalar) array.shape = {1};
        arguments[ref.name] = ArrayEntry(array);
      }
      if (ref.role == Role::kInput && ref.view_of < 0)
        arguments[ref.name] = ArrayEntry(of.inputs.arrays.at(ref.name));
    }
  }

  json OutputEntry(const Draft& draft, const Binding& binding, const Ref& ref, const Array& rounded,
                   const Array& wide) {
    if (ref.init_undefined) return "init: undefined";
    const auto allowed = AllowedOf(draft, binding, ref, rounded, wide);
    if (!allowed) return "roundings decide what is finite";
    json entry = ArrayEntry(rounded);
    entry["exact"] = allowed->relative == 0 && allowed->magnitude == 0 && allowed->absolute == 0;
    entry["relative"] = allowed->relative;
    entry["magnitude"] = allowed->magnitude;
    entry["absolute"] = allowed->absolute;
    return entry;
  }

  json ArrayEntry(const Array& array) {
    const size_t at = bytes_.size();
    bytes_.insert(bytes_.end(), array.bytes.begin(), array.bytes.end());
    return {{"dtype", Name(array.dtype)}, {"shape", array.shape}, {"at", at}};
  }

  json entries_ = json::array();
  std::string python_ = "from language import *\n";
  std::vector<std::byte> bytes_;
  int64_t skipped_ = 0;
};

}  // namespace

bool WriteBatch(const std::vector<uint64_t>& numbers, const std::string& path, int64_t* skipped,
                std::string* why) {
  BatchFile file;
  for (const uint64_t number : numbers) file.Add(number);
  *skipped = file.skipped();
  return file.Write(path, why);
}

}  // namespace kiln::soak
