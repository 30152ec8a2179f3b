#include "tests/random/judge.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>

#include "generator/check/check_spec.h"
#include "generator/check/grid/check_grid.h"
#include "generator/check/static_rules.h"
#include "generator/interpret/reference.h"
#include "generator/native/call_diagnostic.h"
#include "generator/native/compare.h"
#include "generator/predict/machine/machine.h"

namespace kiln::soak {
namespace {

const Machine& TheMachine() {
  static const Machine machine = [] {
    MachineFault fault;
    return LoadMachine("v4", &fault).value();
  }();
  return machine;
}

struct Setting {
  const char* name;
  CallOptions options;
};

CallOptions Direct(int cores) {
  CallOptions options;
  options.cores = cores;
  return options;
}

CallOptions Emulated(int cores, bool eager, CallOptions::Poison poison, uint64_t shuffle) {
  CallOptions options;
  options.emulate = true;
  options.cores = cores;
  options.vmem_bytes = TheMachine().vmem;
  options.smem_bytes = TheMachine().smem;
  options.eager = eager;
  options.poison = poison;
  options.shuffle = shuffle != 0;
  options.seed = shuffle;
  return options;
}

/// `lends`: whether an output takes over an input.
std::vector<Setting> Settings(uint64_t seed, bool lends) {
  using Poison = CallOptions::Poison;
  // Each array is put at both ends of its guarded pages, Direct and Emulated.
  const bool low = seed % 2 == 1;
  const auto at_start = [](CallOptions options, bool is) {
    options.at_start = is;
    return options;
  };
  const auto in_place = [](CallOptions options) {
    options.in_place = true;
    return options;
  };
  std::vector<Setting> settings = {
      {"direct on 1 core", at_start(Direct(1), low)},
      {"direct on 1 core, arrays at the other end", at_start(Direct(1), !low)},
      {"direct on 2 cores", at_start(Direct(2), low)},
      {"emulated on 1 core", at_start(Emulated(1, false, Poison::kNan, 0), low)},
      {"emulated on 1 core, eager, zeros", at_start(Emulated(1, true, Poison::kZero, 0), !low)},
      {"emulated on 2 cores", at_start(Emulated(2, false, Poison::kNan, 0), low)},
      {"emulated on 2 cores, random memory, shuffled",
       at_start(Emulated(2, false, Poison::kRandom, seed | 1), low)},
      {"emulated on 4 cores, eager, random memory, shuffled",
       at_start(Emulated(4, true, Poison::kRandom, (seed >> 7) | 1), !low)}};
  if (!lends) return settings;
  settings.push_back({"direct on 1 core, in place", in_place(at_start(Direct(1), !low))});
  settings.push_back({"direct on 2 cores, in place", in_place(at_start(Direct(2), low))});
  settings.push_back({"emulated on 2 cores, in place",
                      in_place(at_start(Emulated(2, false, Poison::kNan, 0), low))});
  return settings;
}

std::string Position(const std::vector<int64_t>& shape, int64_t at) {
  std::string text;
  for (size_t d = shape.size(); d-- > 0; at /= shape[d])
    text = std::to_string(at % shape[d]) + (text.empty() ? "" : ", ") + text;
  return "[" + text + "]";
}

std::string ElementText(const Array& array, int64_t at) {
  std::ostringstream text;
  text.precision(17);
  if (IsFloat(array.dtype))
    text << array.GetFloat(at);
  else
    text << array.GetInt(at);
  return text.str();
}

/// Whether two elements are the same value: any NaN is NaN. `zeros`: so is -0 and 0.
bool SameElement(const Array& a, const Array& b, int64_t at, bool zeros) {
  const size_t size = SizeOf(a.dtype), offset = static_cast<size_t>(at) * size;
  if (std::memcmp(a.bytes.data() + offset, b.bytes.data() + offset, size) == 0) return true;
  if (!IsFloat(a.dtype)) return false;
  const double x = a.GetFloat(at), y = b.GetFloat(at);
  return (std::isnan(x) && std::isnan(y)) || (zeros && x == y);
}

/// Empty, or the first element that differs.
std::string DifferenceOf(const Array& got, const Array& want, bool zeros) {
  if (got.dtype != want.dtype || got.shape != want.shape)
    return ToString(got.dtype, got.shape) + " instead of " + ToString(want.dtype, want.shape);
  int64_t first = -1, count = 0;
  for (int64_t i = 0; i < want.size(); ++i) {
    if (SameElement(got, want, i, zeros)) continue;
    if (count++ == 0) first = i;
  }
  if (count == 0) return "";
  return std::to_string(count) + " of " + std::to_string(want.size()) +
         " elements differ; the first is " + Position(want.shape, first) + ": " +
         ElementText(got, first) + " instead of " + ElementText(want, first);
}

/// How far the interpreter is from itself without rounding: what a right answer may be off by, as
/// it is rounded elsewhere. Nullopt: no bound, as the roundings decide what is finite.
std::optional<double> Spread(const Array& rounded, const Array& wide) {
  double spread = 0;
  for (int64_t i = 0; i < rounded.size(); ++i) {
    const double a = rounded.GetFloat(i), b = wide.GetFloat(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (!std::isfinite(a) || !std::isfinite(b)) return std::nullopt;
    spread = std::max(spread, std::fabs(a - b));
  }
  return spread;
}

/// Whether a sum of the body may leave the range of floats on its way, in one order and not in
/// another: it is the other infinity then, or NaN where one is added.
bool MayOverflowOnItsWay(const Draft& draft) {
  const bool special = std::any_of(draft.fills.begin(), draft.fills.end(), [](const auto& named) {
    return named.second.kind == Fill::Kind::kSpecial;
  });
  const std::string text = Write(draft);
  return special &&
         (text.find("dot(") != std::string::npos || text.find("sum(") != std::string::npos ||
          text.find("mean(") != std::string::npos);
}

/// What was computed, but NaN and either infinity are the one that is expected.
Array WithExpectedInfinities(Array got, const Array& want) {
  for (int64_t i = 0; i < want.size(); ++i) {
    const double expected = want.GetFloat(i);
    if (std::isinf(expected) && !std::isfinite(got.GetFloat(i))) got.SetFloat(i, expected);
  }
  return got;
}

/// Several times what the interpreter itself is off, as this is one sample of an error.
constexpr double kSpreads = 32;

struct Oracle {
  const Draft& draft;
  const Binding& binding;
  std::map<std::string, Array> outputs, wide;

  /// Empty, or how what a kernel computed differs.
  std::string Differs(const Ref& ref, const Array& got) const {
    const Array& want = outputs.at(ref.name);
    const auto allowed = AllowedOf(draft, binding, ref, want, wide.at(ref.name));
    if (!allowed) return "";
    if (allowed->relative == 0 && allowed->magnitude == 0 && allowed->absolute == 0)
      return DifferenceOf(got, want, /*zeros=*/true);
    return Compare(MayOverflowOnItsWay(draft) ? WithExpectedInfinities(got, want) : got, want,
                   *allowed)
        .description;
  }
};

/// What the spec's references say of whole arrays is what its body says of their blocks.
Verdict JudgeReferences(const Case& of, const Oracle& oracle) {
  const Kernel& kernel = of.called();
  if (!kernel.reference) return {};
  Diagnostics found;
  const auto wanted = ReferenceRun(*of.binding, of.inputs, found).Run(found);
  if (found.HasErrors())
    return {"diagnostic in a reference: " + FirstRule(found), Render(found, *of.source)};
  for (const auto& [name, want] : wanted) {
    // Neither rounds before it stores, and no operation goes over several elements.
    const Array& expected = oracle.wide.at(name);
    Array stored = Array::Zeros(expected.dtype, want.shape);
    for (int64_t e = 0; e < want.size(); ++e) {
      if (IsFloat(want.dtype))
        stored.SetFloat(e, want.GetFloat(e));
      else
        stored.SetInt(e, want.GetInt(e));
    }
    if (const std::string off = DifferenceOf(stored, expected, /*zeros=*/true); !off.empty())
      return {"a reference is not its body", "`" + name + "`: " + off};
  }
  return {};
}

bool Undecided(const Ref& ref) { return ref.init_undefined; }

/// The interpreter has found something in a spec that was to be valid: the emulator has to as well.
Verdict JudgeDiagnostic(const Case& of, const KernelInterface& kernel, const Diagnostics& found) {
  std::string said;
  for (const Diagnostic& diagnostic : found.Sorted()) {
    if (diagnostic.severity == Severity::kError) {
      said = Render(diagnostic, *of.source);
      break;
    }
  }
  const std::string rule = FirstRule(found);
  std::string message;
  const std::string emulator = EmulatorFinds(kernel, of, /*cores=*/1, &message);
  if (emulator.empty()) return {"diagnostic missed by the emulator: " + rule, said};
  if (emulator != rule)
    return {"diagnostic of two names: " + rule + ", emulator " + emulator, said + message + "\n"};
  return {"diagnostic of both: " + rule, said};
}

Verdict Run(const Draft& draft, const Case& of, const KernelInterface& kernel,
            const Oracle& oracle) {
  std::map<std::string, Array> first;
  const auto& refs = of.called().refs;
  const bool lends =
      std::any_of(refs.begin(), refs.end(), [](const Ref& r) { return r.alias >= 0; });
  for (const Setting& setting : Settings(draft.seed, lends)) {
    const auto call = [&](const CallOptions& options) {
      return CallKernel(kernel, *of.binding, of.inputs.arrays, options);
    };
    CallResult result = call(setting.options);
    const auto diagnostic =
        ExamineCall(*of.binding, of.inputs.arrays, setting.options, call, &result);
    const std::string where = std::string(setting.name) + ": ";
    if (result.code != 0)
      return {"status " + result.rule + (setting.options.emulate ? " (emulated)" : " (direct)"),
              where + result.message};
    if (diagnostic) return {"hidden diagnostic " + diagnostic->rule, where + diagnostic->message};
    for (const auto& [name, got] : result.outputs) {
      const Ref& ref = of.called().refs[static_cast<size_t>(of.called().FindRef(name))];
      if (Undecided(ref)) continue;
      if (const std::string off = oracle.Differs(ref, got); !off.empty())
        return {
            std::string(setting.options.emulate ? "emulated" : "direct") + " is not interpreted",
            where + "`" + name + "`: " + off};
      if (first.empty()) continue;
      if (const std::string off = DifferenceOf(got, first.at(name), /*zeros=*/false); !off.empty())
        return {"engines differ", where + "`" + name + "`: " + off};
    }
    if (first.empty()) first = result.outputs;
  }
  return {};
}

}  // namespace

std::optional<Tolerance> AllowedOf(const Draft& draft, const Binding& binding, const Ref& ref,
                                   const Array& rounded, const Array& wide) {
  const auto exact = draft.exact.find(ref.name);
  if (!IsFloat(ref.dtype) || (exact != draft.exact.end() && exact->second)) return Tolerance();
  const auto spread = Spread(rounded, wide);
  if (!spread) return std::nullopt;
  Tolerance tolerance = ToleranceOf(binding, ref);
  tolerance.absolute += kSpreads * *spread;
  return tolerance;
}

std::string EmulatorFinds(const KernelInterface& kernel, const Case& of, int cores,
                          std::string* message) {
  const auto call = [&](const CallOptions& options) {
    return CallKernel(kernel, *of.binding, of.inputs.arrays, options);
  };
  const CallOptions how = Emulated(cores, false, CallOptions::Poison::kNan, 0);
  CallResult result = call(how);
  const auto diagnostic = ExamineCall(*of.binding, of.inputs.arrays, how, call, &result);
  *message = diagnostic ? diagnostic->message : result.message;
  return diagnostic ? diagnostic->rule : result.rule;
}

std::string FirstRule(const Diagnostics& found) {
  for (const Diagnostic& diagnostic : found.Sorted()) {
    if (diagnostic.severity == Severity::kError) return diagnostic.rule;
  }
  return "";
}

std::unique_ptr<Case> Prepare(const Draft& draft) {
  CheckOptions check;
  check.instance = draft.InstanceName();
  check.sizes_follow = true;
  return Prepare(std::make_shared<const Source>(draft.name + ".yaml", Write(draft)), check,
                 [&](const Kernel& kernel) { return MakeInputs(draft, kernel); });
}

std::unique_ptr<Case> Prepare(std::shared_ptr<const Source> source, const CheckOptions& check,
                              const std::function<Inputs(const Kernel&)>& inputs) {
  auto of = std::make_unique<Case>();
  of->source = std::move(source);
  of->spec = ParseSpec(of->source, of->found);
  if (!of->spec) return of;
  of->kernel = CheckSpec(*of->spec, check, of->found);
  if (!of->kernel) return of;
  of->inputs = inputs(*of->kernel);
  const int variant = ChooseVariant(*of->kernel, of->inputs);
  if (variant >= 0) {
    const Variant& chosen = of->kernel->variants[static_cast<size_t>(variant)];
    of->specialised = CheckSpec(*of->spec, WithVariant(check, chosen), of->found);
    if (!of->specialised) return of;
  }
  auto binding = Bind(of->called(), of->inputs, /*partial=*/false, of->found);
  if (!binding || of->found.HasErrors()) return of;
  CheckGrid(*binding, {.vmem_bytes = TheMachine().vmem, .smem_bytes = TheMachine().smem},
            of->found);
  CheckStaticRules(of->called(), &*binding, of->found);
  of->binding = std::move(binding);
  return of;
}

Verdict Judge(const Draft& draft, const Case& of, const KernelInterface& kernel) {
  Diagnostics found;
  Oracle oracle{draft, *of.binding, {}, {}};
  oracle.outputs = Interpret(*of.binding, of.inputs.arrays, {}, found).outputs;
  if (found.HasErrors()) return JudgeDiagnostic(of, kernel, found);
  std::unique_ptr<Case> origin;
  if (draft.origin) {
    Draft before = *draft.origin;
    before.name = draft.name;
    origin = Prepare(before);
    if (!origin->binding || origin->found.HasErrors())
      return {"refused until varied", Render(origin->found, *origin->source)};
    oracle.outputs = Interpret(*origin->binding, origin->inputs.arrays, {}, found).outputs;
    if (found.HasErrors()) return {"diagnostic until varied: " + FirstRule(found), ""};
  }
  const Case& right = origin ? *origin : of;
  Diagnostics ignored;
  InterpretOptions wide;
  wide.wide = true;
  oracle.wide = Interpret(*right.binding, right.inputs.arrays, wide, ignored).outputs;
  const Verdict references = JudgeReferences(right, oracle);
  return references.kind.empty() ? Run(draft, of, kernel, oracle) : references;
}

std::string ToText(const Verdict& verdict) { return verdict.kind + "\n" + verdict.detail; }

Verdict ToVerdict(const std::string& text) {
  const size_t line = text.find('\n');
  return {text.substr(0, line), line == std::string::npos ? "" : text.substr(line + 1)};
}

}  // namespace kiln::soak
