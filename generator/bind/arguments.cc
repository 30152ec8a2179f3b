#include <algorithm>

#include "generator/bind/binder.h"
#include "generator/syntax/names.h"

/// [call] What the caller gave: names, dtypes, ranks, scalars, and the dims they determine.
namespace kiln {
namespace {

bool IsArgument(const Ref& ref) {
  return ref.view_of < 0 && !ref.prepared && ref.role != Role::kScratch &&
         ref.role != Role::kSemaphore;
}

std::optional<int64_t> OneInteger(const Array& array) {
  if (array.size() != 1 || !IsInteger(array.dtype)) return std::nullopt;
  return array.GetInt(0);
}

bool WellFormed(const Array& array) {
  const std::optional<int64_t> bytes = ByteSize(array.dtype, array.shape);
  return bytes && static_cast<uint64_t>(*bytes) == array.bytes.size();
}

// The scalar as its own type; `why` says what does not fit.
std::optional<Array> ConvertScalar(const Array& from, DType to, std::string& why) {
  Array out = Array::Zeros(to, {});
  if (IsFloat(from.dtype)) {
    if (!IsFloat(to)) {
      why = "is " + std::string(Name(from.dtype)) + ", but the spec says " + std::string(Name(to));
      return std::nullopt;
    }
    out.SetFloat(0, from.GetFloat(0));
    return out;
  }
  const int64_t value = from.GetInt(0);
  if (IsFloat(to)) {
    out.SetFloat(0, static_cast<double>(value));
  } else if (value < MinOf(to) || value > MaxOf(to)) {
    why = "is " + std::to_string(value) + ", which does not fit " + std::string(Name(to));
    return std::nullopt;
  } else {
    out.SetInt(0, value);
  }
  return out;
}

}  // namespace

Binder::Binder(const Kernel& kernel, const Inputs& inputs, bool partial, Diagnostics& diagnostics)
    : kernel_(kernel), inputs_(inputs), partial_(partial), diagnostics_(diagnostics) {
  const size_t refs = kernel.refs.size();
  binding_.kernel = &kernel;
  binding_.dims.resize(kernel.dims.size());
  binding_.arrays.resize(refs);
  binding_.views.resize(refs);
  binding_.host.resize(refs, nullptr);
  origins_.resize(kernel.dims.size());
  contradicted_.resize(kernel.dims.size(), false);
  given_.resize(refs, nullptr);
  makers_.resize(refs, -1);
  for (size_t i = 0; i < kernel.prepare.size(); ++i) {
    for (const int ref : kernel.prepare[i].results) {
      if (ref >= 0) makers_[static_cast<size_t>(ref)] = static_cast<int>(i);
    }
  }
}

void Binder::Error(RuleLabel rule, Span span, std::string message, std::string hint,
                   std::vector<Note> notes) {
  useless_ = true;
  diagnostics_.Error(rule, span, std::move(message), std::move(hint), std::move(notes));
}

void Binder::BindArguments() {
  CheckNames();
  GivenDims();
  for (size_t ref = 0; ref < kernel_.refs.size(); ++ref) {
    if (IsArgument(kernel_.refs[ref])) GivenArray(ref);
  }
  BindArrays();
}

void Binder::CheckNames() {
  for (const auto& [name, array] : inputs_.arrays) CheckName(name, false);
  for (const auto& [name, value] : inputs_.dims) CheckName(name, true);
}

// Whether the function that makes it is the user's own, so that its results must be given.
bool Binder::ByHeader(size_t ref) const {
  const int maker = makers_[ref];
  return maker >= 0 && !kernel_.prepare[static_cast<size_t>(maker)].header.empty();
}

void Binder::CheckName(const std::string& name, bool is_dim) {
  if (kernel_.FindDim(name) >= 0) return;
  const int found = kernel_.FindRef(name);
  if (found >= 0) {
    const Ref& ref = kernel_[RefId(found)];
    if (ref.prepared && !ByHeader(static_cast<size_t>(found))) {
      const HostCall& call =
          kernel_.prepare[static_cast<size_t>(makers_[static_cast<size_t>(found)])];
      return Error("call", ref.span,
                   Quote(name) + " is made by " + Quote(call.function) + " and cannot be given",
                   "leave it out");
    }
    if (!ref.prepared && !IsArgument(ref)) {
      const char* what = ref.view_of >= 0             ? "a view"
                         : ref.role == Role::kScratch ? "scratch"
                                                      : "a semaphore";
      return Error(
          "call", ref.span, Quote(name) + " is " + what + ", not an argument",
          ref.view_of < 0 ? "leave it out" : "give " + Quote(kernel_[RefId(ref.view_of)].name));
    }
    if (is_dim && ref.role != Role::kScalar) {
      Error("call", ref.span, Quote(name) + " is " + Declared(ref) + ", not a number");
    }
    return;
  }
  std::vector<std::string> names;
  for (const Dim& dim : kernel_.dims) names.push_back(dim.name);
  for (const Ref& ref : kernel_.refs) {
    if (IsArgument(ref)) names.push_back(ref.name);
  }
  for (const Param& param : kernel_.params) {
    if (param.name == name) {
      return Error("call", {}, Quote(name) + " is a param, fixed when the kernel is generated",
                   "write --set " + name + "=…");
    }
  }
  Error("call", {}, Quote(kernel_.name) + " has no argument or dimension " + Quote(name),
        DidYouMean(name, names));
}

void Binder::GivenDims() {
  for (size_t d = 0; d < kernel_.dims.size(); ++d) {
    const Dim& dim = kernel_.dims[d];
    if (dim.fixed) {
      binding_.dims[d] = dim.fixed;
      origins_[d].kind = Origin::Kind::kFixed;
    }
    const auto given = inputs_.dims.find(dim.name);
    if (given != inputs_.dims.end()) GivenDim(d, given->second);
    const auto array = inputs_.arrays.find(dim.name);
    if (array == inputs_.arrays.end()) continue;
    if (const std::optional<int64_t> value = OneInteger(array->second)) {
      GivenDim(d, *value);
    } else {
      Error("call", dim.span,
            Quote(dim.name) + " is a dimension: one integer, not " +
                ToString(array->second.dtype, array->second.shape));
    }
  }
}

void Binder::GivenDim(size_t dim, int64_t value) {
  if (value < 0) {
    contradicted_[dim] = true;
    binding_.dims[dim].reset();
    return Error("call", kernel_.dims[dim].span,
                 kernel_.dims[dim].name + " is " + std::to_string(value) +
                     ", but a dimension cannot be negative");
  }
  LearnDim(static_cast<int>(dim), value, {Origin::Kind::kGiven, -1, 0});
}

std::string Binder::Declared(const Ref& ref) const {
  return std::string(Name(ref.dtype)) +
         (ref.role == Role::kScalar ? " scalar" : ToString(ref.array));
}

void Binder::GivenArray(size_t index) {
  const Ref& ref = kernel_.refs[index];
  const auto found = inputs_.arrays.find(ref.name);
  if (ref.role == Role::kScalar) {
    const auto number = inputs_.dims.find(ref.name);  // `start=3` may come as a number
    if (number != inputs_.dims.end()) {
      Array one = Array::Zeros(DType::kI64, {});
      one.SetInt(0, number->second);
      return GivenScalar(index, one);
    }
    if (found != inputs_.arrays.end()) return GivenScalar(index, found->second);
  }
  if (found == inputs_.arrays.end()) {
    if (partial_ || ref.role == Role::kOutput) return;
    const char* what = ref.role == Role::kInput      ? "input "
                       : ref.role == Role::kScalar   ? "scalar "
                       : ref.role == Role::kPrefetch ? "prefetch array "
                                                     : "argument ";
    const std::string hint = "add " + ref.name;
    return Error("call", ref.span, what + Quote(ref.name) + " (" + Declared(ref) + ") is not given",
                 ref.role == Role::kScalar ? hint + "=…"
                 : ref.role == Role::kInput
                     ? hint + "=@" + ref.name + ".npy, or " + ref.name + "=random"
                     : hint + "=@" + ref.name + ".npy");
  }
  if (!Accept(index, found->second)) return;
  given_[index] = &found->second;
  if (ref.role == Role::kArgument || ref.role == Role::kPrefetch) {
    binding_.host[index] = &found->second;
  }
}

void Binder::GivenScalar(size_t index, const Array& array) {
  const Ref& ref = kernel_.refs[index];
  if (!WellFormed(array) || array.size() != 1) {
    return Error("call", ref.span,
                 Quote(ref.name) + " is " + ToString(array.dtype, array.shape) +
                     ", but a scalar is one element");
  }
  std::string why;
  std::optional<Array> value = ConvertScalar(array, ref.dtype, why);
  if (!value) return Error("call", ref.span, Quote(ref.name) + " " + why);
  binding_.made.push_back(std::make_shared<const Array>(std::move(*value)));
  binding_.host[index] = binding_.made.back().get();
}

/// Dtype and rank; the extents are compared when every dim is known.
bool Binder::Accept(size_t index, const Array& array) {
  const Ref& ref = kernel_.refs[index];
  if (!WellFormed(array)) {
    Error("call", ref.span,
          Quote(ref.name) + " holds " + std::to_string(array.bytes.size()) +
              " bytes, which its shape " + ToString(array.dtype, array.shape) + " does not fill");
    return false;
  }
  if (array.dtype == ref.dtype && array.shape.size() == ref.array.size()) return true;
  Error("call", ref.span,
        Quote(ref.name) + " is " + ToString(array.dtype, array.shape) + ", but the spec says " +
            Declared(ref));
  return false;
}

void Binder::BindArrays() {
  for (size_t ref = 0; ref < kernel_.refs.size(); ++ref) {
    if (given_[ref]) LearnDims(ref);
  }
}

/// An extent that is a dimension and nothing else gives that dimension its size.
void Binder::LearnDims(size_t index) {
  const Ref& ref = kernel_.refs[index];
  for (size_t d = 0; d < ref.array.size(); ++d) {
    const Node* atom = ref.array[d].AsAtom();
    if (!atom || atom->op != Op::kDim) continue;
    LearnDim(atom->index, given_[index]->shape[d],
             {Origin::Kind::kArray, static_cast<int>(index), d});
  }
}

void Binder::LearnDim(int index, int64_t value, Origin origin) {
  const auto dim = static_cast<size_t>(index);
  std::optional<int64_t>& known = binding_.dims[dim];
  if (contradicted_[dim]) return;
  if (!known) {
    known = value;
    origins_[dim] = origin;
    return;
  }
  if (*known == value) return;
  const Dim& declared = kernel_.dims[dim];
  const bool at_array = origin.kind == Origin::Kind::kArray;
  std::vector<Note> notes;
  if (origins_[dim].kind == Origin::Kind::kArray) {
    notes.push_back({kernel_[RefId(origins_[dim].ref)].span,
                     declared.name + " is " + std::to_string(*known) + " here"});
  }
  Error("call", at_array ? kernel_[RefId(origin.ref)].span : declared.span,
        declared.name + " is " + std::to_string(*known) + " " + Where(origins_[dim]) + " but " +
            std::to_string(value) + " " + Where(origin),
        "", std::move(notes));
  contradicted_[dim] = true;
  known.reset();
}

std::string Binder::Where(const Origin& origin) const {
  switch (origin.kind) {
    case Origin::Kind::kFixed:
      return "in the spec";
    case Origin::Kind::kArray:
      return "in " + Quote(kernel_[RefId(origin.ref)].name) + " (dimension " +
             std::to_string(origin.dimension) + ")";
    default:
      return "as given";
  }
}

}  // namespace kiln
