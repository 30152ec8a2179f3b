#include <algorithm>

#include "generator/bind/binder.h"
#include "generator/syntax/names.h"

/// [call] The host code that makes prefetch arrays and scalars, and what is then still missing.
namespace kiln {
namespace {

/// The leading part of an array in every dimension, or the array with more behind its end.
Array Resized(const Array& from, const std::vector<int64_t>& shape, HostReturn::End end) {
  Array out = Array::Zeros(from.dtype, shape);
  if (from.size() == 0) return out;
  const int64_t count = out.size();
  std::vector<int64_t> at(shape.size(), 0);
  for (int64_t i = 0; i < count; ++i) {
    int64_t linear = 0;
    bool past = false;
    for (size_t d = 0; d < shape.size(); ++d) {
      past = past || at[d] >= from.shape[d];
      linear = linear * from.shape[d] + std::min(at[d], from.shape[d] - 1);
    }
    if (past && end == HostReturn::End::kZero) {
      // it is
    } else if (IsFloat(from.dtype)) {
      out.SetFloat(i, from.GetFloat(linear));
    } else {
      out.SetInt(i, from.GetInt(linear));
    }
    for (size_t d = shape.size(); d-- > 0 && ++at[d] == shape[d];) at[d] = 0;
  }
  return out;
}

}  // namespace

void Binder::RunPrepare() {
  for (const HostCall& call : kernel_.prepare) {
    if (call.header.empty()) {
      Call(call);
    } else {
      TakeResults(call);
    }
  }
  if (!partial_) Missing();
}

/// The results of the user's own function, which only compiled code can call, are given.
void Binder::TakeResults(const HostCall& call) {
  std::string missing;
  for (const int result : call.results) {
    const auto ref = static_cast<size_t>(result);
    const Ref& declared = kernel_.refs[ref];
    const auto found = inputs_.arrays.find(declared.name);
    const bool number = declared.role == Role::kScalar && inputs_.dims.count(declared.name) > 0;
    if (found == inputs_.arrays.end() && !number) {
      missing += (missing.empty() ? "" : ", ") + Quote(declared.name);
    } else if (declared.role == Role::kScalar) {
      GivenArray(ref);
    } else if (Accept(ref, found->second)) {
      // Not owned: the caller's array outlives the binding.
      Made(ref, std::shared_ptr<const Array>(std::shared_ptr<void>(), &found->second), call);
    }
  }
  if (missing.empty() || partial_) return;
  Error("call", call.span,
        Quote(call.function) + " is a function of your own (" + call.header +
            "), which only compiled code can call",
        "give what it makes: " + missing);
}

std::optional<HostValue> Binder::ArgumentValue(const HostArgument& argument, const HostCall& call) {
  HostValue value;
  if (argument.ref >= 0) {
    value.array = binding_.host[static_cast<size_t>(argument.ref)];
    if (!value.array) value.array = given_[static_cast<size_t>(argument.ref)];
    return value.array ? std::optional<HostValue>(value) : std::nullopt;
  }
  const EvalResult result = Evaluate(*argument.value, binding_, nullptr);
  if (result.fault != EvalFault::kNone) {
    Explain(result, *argument.value, "an argument of " + Quote(call.function));
    return std::nullopt;
  }
  value.number = result.value;
  return value;
}

void Binder::Call(const HostCall& call) {
  const HostFunction* function = FindHostFunction(call.function);
  if (!function) {
    return Error("call", call.span, Quote(call.function) + " is not a prepare function",
                 DidYouMean(call.function, HostFunctionNames()));
  }
  const auto match = MatchHostCall(*function, call, kernel_);
  if (const auto* why = std::get_if<std::string>(&match)) return Error("call", call.span, *why);
  std::vector<HostValue> values;
  bool known = true;
  for (const int at : std::get<std::vector<int>>(match)) {
    const std::optional<HostValue> value =
        at < 0 ? HostValue() : ArgumentValue(call.arguments[static_cast<size_t>(at)], call);
    known = known && value;
    values.push_back(value.value_or(HostValue()));
  }
  if (!known) return;
  HostResult result = function->run(values);
  if (const auto* why = std::get_if<std::string>(&result)) {
    return Error("call", call.span, Quote(call.function) + ": " + *why);
  }
  auto& arrays = std::get<std::vector<Array>>(result);
  std::vector<int64_t> counts;
  for (const Array& array : arrays) counts.push_back(array.shape.empty() ? array.GetInt(0) : 0);
  for (size_t i = 0; i < call.results.size(); ++i) {
    binding_.made.push_back(std::make_shared<const Array>(std::move(arrays[i])));
    const int used = function->results[i].used;
    Made(static_cast<size_t>(call.results[i]), binding_.made.back(), call, &function->results[i],
         used < 0 ? std::nullopt : std::optional<int64_t>(counts[static_cast<size_t>(used)]));
  }
}

/// Dims that nothing else has given their size take it from what was made. Where the declared
/// extents are known the array is cut or continued to them, so that only they are visible. `result`
/// is null for what the caller gives in place of a function of the user's own.
void Binder::Made(size_t index, std::shared_ptr<const Array> array, const HostCall& call,
                  const HostReturn* result, std::optional<int64_t> used) {
  const Ref& ref = kernel_.refs[index];
  binding_.host[index] = array.get();
  if (ref.role == Role::kScalar) return;
  std::vector<int64_t> shape;
  for (size_t d = 0; d < ref.array.size(); ++d) {
    const int64_t made = array->shape[d];
    const Node* atom = ref.array[d].AsAtom();
    if (atom && atom->op == Op::kDim && !binding_.dims[static_cast<size_t>(atom->index)]) {
      LearnDim(atom->index, made, {Origin::Kind::kArray, static_cast<int>(index), d});
    }
    const int64_t extent = Evaluate(ref.array[d], binding_).value_or(made);
    if (result ? extent >= 0 && extent < used.value_or(made) : extent > made) {
      binding_.host[index] = nullptr;
      return result ? TooShort(ref, d, extent, used.value_or(made), call)
                    : GivenTooShort(ref, d, extent, *array);
    }
    shape.push_back(std::max<int64_t>(extent, 0));  // a negative one is reported with the others
  }
  if (shape == array->shape) return;
  const std::optional<int64_t> bytes = ByteSize(array->dtype, shape);
  if (!bytes || *bytes > kMaxHostElements * 4) {
    binding_.host[index] = nullptr;
    if (!bytes || *bytes > kMaxArrayBytes) return;  // reported with the extents
    return Error("call", ref.span,
                 Quote(ref.name) + " as " + ToString(array->dtype, shape) +
                     " is too large for what host code makes");
  }
  const auto end = result ? result->end : HostReturn::End::kRepeats;
  binding_.made.push_back(std::make_shared<const Array>(Resized(*array, shape, end)));
  binding_.host[index] = binding_.made.back().get();
}

void Binder::TooShort(const Ref& ref, size_t d, int64_t extent, int64_t needed,
                      const HostCall& call) {
  const std::string along = ref.array.size() > 1 ? " along dimension " + std::to_string(d) : "";
  Error("call", call.span,
        Quote(call.function) + " makes " + std::to_string(needed) +
            (needed == 1 ? " entry" : " entries") + " of " + Quote(ref.name) + along +
            " that are used, but the spec declares " + Declared(ref) +
            (ref.array[d].Constant() ? "" : ", where " + Valued(ref.array[d], extent)),
        "declare it longer; `kiln explain --functions` says how long what " + Quote(call.function) +
            " makes can be",
        {{ref.span, Quote(ref.name) + " is declared here"}});
}

void Binder::GivenTooShort(const Ref& ref, size_t d, int64_t extent, const Array& array) {
  Error("call", ref.span,
        "the call makes " + Quote(ref.name) + " as " + ToString(array.dtype, array.shape) +
            ", which is shorter than the spec's " + Declared(ref) + ": dimension " +
            std::to_string(d) + " is " + Valued(ref.array[d], extent));
}

/// Dims that nothing gave a size, unless an array that would have is what is missing.
void Binder::Missing() {
  std::vector<bool> excused = contradicted_;
  for (size_t index = 0; index < kernel_.refs.size(); ++index) {
    const Ref& ref = kernel_.refs[index];
    const bool expected = ref.view_of < 0 && ref.role != Role::kOutput &&
                          ref.role != Role::kScratch && ref.role != Role::kSemaphore;
    if (!expected || given_[index] || binding_.host[index]) continue;
    for (const Size& extent : ref.array) {
      const Node* atom = extent.AsAtom();
      if (atom && atom->op == Op::kDim) excused[static_cast<size_t>(atom->index)] = true;
    }
  }
  std::string names, hint;
  Span span;
  int count = 0;
  for (size_t d = 0; d < kernel_.dims.size(); ++d) {
    if (binding_.dims[d] || excused[d]) continue;
    if (count++ == 0) span = kernel_.dims[d].span;
    names += (names.empty() ? "" : ", ") + Quote(kernel_.dims[d].name);
    hint += " " + kernel_.dims[d].name + "=…";
  }
  if (count == 0) return;
  Error("call", span,
        count == 1
            ? "the dimension " + names + " is not known: no argument has it in its shape"
            : "the dimensions " + names + " are not known: no argument has them in its shape",
        "add" + hint);
}

}  // namespace kiln
