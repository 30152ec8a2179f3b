#include "generator/render/view/kernel_view.h"

#include <algorithm>

#include "generator/data/sha256.h"
#include "generator/render/print/cpp.h"
#include "generator/render/view/call_view.h"
#include "generator/render/view/dot_headers.h"
#include "generator/render/view/specialization_view.h"
#include "generator/text/shell.h"
#include "generator/text/utf8.h"

namespace kiln::render {
namespace {

/// The call, which chooses between the specializations; what the specializations share.
class KernelView {
 public:
  KernelView(const std::vector<std::unique_ptr<Plan>>& plans, const SpecName& spec)
      : plans_(plans),
        kernel_(*plans[0]->kernel),
        spec_(spec),
        spec_file_(OneLine(spec.file)),
        names_(NamesOf(*plans[0])) {
    for (const auto& plan : plans) {
      calls_.emplace_back(*plan, names_, plans.size() > 1 ? static_cast<int>(calls_.size()) : -1);
    }
  }

  Fields Make();

 private:
  std::string Identity() const;
  void Heading();
  void Arguments();
  void Options();
  void Sizes();
  void Checks();
  void Specializations();

  const std::vector<std::unique_ptr<Plan>>& plans_;
  const Kernel& kernel_;  // the base
  const SpecName& spec_;
  const std::string spec_file_;  // on one line
  KernelNames names_;
  std::vector<CallView> calls_;  // by specialization
  Fields fields_;
  std::vector<std::string> call_values_;  // in the order of Call's members
};

Fields KernelView::Make() {
  Heading();
  Arguments();
  Options();
  Sizes();
  Checks();
  Specializations();
  fields_.SetFlag("call_calls_functions",
                  std::any_of(calls_.begin(), calls_.end(),
                              [](const CallView& call) { return call.calls_functions(); }));
  return std::move(fields_);
}

/// A name that kernels of another meaning do not have, whatever they are called: a program that
/// links two of one name calls each where it means it, or does not link.
std::string KernelView::Identity() const {
  Sha256 hash;
  for (const auto& plan : plans_) hash.AddField(ToString(*plan->kernel));
  return GeneratedName(kernel_) + "_" + hash.Hex().substr(0, 8);
}

void KernelView::Heading() {
  fields_.Set("name", GeneratedName(kernel_));
  fields_.Set("identity", Identity());
  fields_.Set("spec_file", spec_file_);
  fields_.Set("doc", kernel_.doc.empty() ? "The kernel " + GeneratedName(kernel_) + "."
                                         : CommentText(kernel_.doc));
  fields_.Set("instance", kernel_.instance.empty() ? "" : " (" + kernel_.instance + ")");
}

std::string TypeOf(const Ref& ref) {
  return (ref.role == Role::kOutput ? "" : "const ") + StorageType(ref.dtype);
}

void KernelView::Arguments() {
  std::vector<Fields> arguments;
  std::vector<std::pair<std::string, std::string>> members;  // of Call, by type and name
  std::vector<std::string> c_names, c_values;
  for (const RefId r : IdsOf(kernel_.refs)) {
    const Ref& ref = kernel_[r];
    if (!IsArgument(ref)) continue;
    Fields& a = arguments.emplace_back();
    a.Set("argument", names_[r]);
    a.SetFlag("is_tensor", ref.role != Role::kScalar);
    a.Set("type", ref.role == Role::kScalar ? ValueType(ref.dtype) : TypeOf(ref));
    a.Set("spec",
          std::string(kiln::Name(ref.dtype)) + (ref.array.empty() ? "" : ToString(ref.array)));
    c_names.push_back(Quoted(ref.name));
    c_values.push_back(names_[r]);
    call_values_.push_back(names_[r]);
    members.emplace_back(
        ref.role == Role::kScalar ? ValueType(ref.dtype) : "Tensor<" + TypeOf(ref) + ">",
        names_[r]);
  }
  fields_.SetList("arguments", std::move(arguments));
  c_names.push_back(Quoted("context"));
  c_values.push_back("context");
  fields_.Set("c_names", Joined(c_names));
  fields_.Set("c_values", Joined(c_values));
  for (const RefId r : IdsOf(kernel_.refs)) {
    const Ref& ref = kernel_[r];
    if (!ref.prepared) continue;
    const bool scalar = ref.role == Role::kScalar;
    members.emplace_back(
        scalar ? ValueType(ref.dtype) : "Tensor<const " + StorageType(ref.dtype) + ">", names_[r]);
    call_values_.push_back(scalar ? "0" : "{}");
  }
  fields_.SetList("call_members", Declarations(members));
  fields_.Set("quoted_name", Quoted(GeneratedName(kernel_)));
}

/// What the call says of itself, and of the spec, as `kiln run` is told.
void KernelView::Options() {
  std::string axes;
  for (const Axis& axis : kernel_.axes) axes += (axes.empty() ? "" : ", ") + axis.name;
  const std::string& instance = spec_.instance.empty() ? kernel_.instance : spec_.instance;
  const std::string spec = spec_file_ + (instance.empty() ? "" : ":" + instance);
  std::vector<std::string> options{".kernel = " + Quoted(GeneratedName(kernel_)),
                                   ".axes = " + Quoted(axes), ".spec = " + Quoted(ShellWord(spec))};
  std::string set;
  for (const auto& [name, value] : spec_.set)
    set += (set.empty() ? "" : " ") + ShellWord(OneLine(name + "=" + value));
  if (!set.empty()) options.push_back(".set = " + Quoted(set));
  fields_.Set("and_specialization", plans_.size() > 1 ? ", call.specialization" : "");
  fields_.SetList("options", Enumerated("option", options, "});"));
}

/// Dimensions as members of Call, and where the call finds them.
void KernelView::Sizes() {
  std::vector<Fields> dims;
  for (const DimId d : IdsOf(kernel_.dims)) {
    const Dim& dim = kernel_[d];
    Fields& f = dims.emplace_back();
    f.Set("dim", names_[d]);
    f.Set("separator", d.position() + 1 < kernel_.dims.size() ? "," : ";");
    std::string source;
    for (const RefId r : IdsOf(kernel_.refs)) {
      const Ref& ref = kernel_[r];
      if (!source.empty() || !IsArgument(ref) || ref.role == Role::kScalar) continue;
      for (size_t k = 0; k < ref.array.size() && source.empty(); ++k) {
        const Node* atom = ref.array[k].AsAtom();
        if (!atom || atom->op != Op::kDim || DimId(atom->index) != d) continue;
        source = "check.Dim(" + Quoted(dim.name) + ", " + names_[r] + ", " + Quoted(ref.name) +
                 ", " + std::to_string(k) + ")";
      }
    }
    const std::string named = "/*" + names_[d] + "=*/";
    if (dim.fixed) source = named + std::to_string(*dim.fixed);
    size_t dimension = 0;
    if (MakerOf(kernel_, d, &dimension)) source = named + "0";  // until host code has run
    call_values_.push_back(source);  // any other dimension is one of an argument
  }
  if (plans_.size() > 1) call_values_.push_back("/*specialization=*/0");
  fields_.SetList("call_values", Enumerated("value", call_values_, "};"));
  fields_.SetFlag("has_dims", !dims.empty());
  fields_.SetList("dims", std::move(dims));
}

std::vector<Fields> Lines(const std::vector<std::string>& lines) {
  std::vector<Fields> list;
  for (const std::string& line : lines) list.emplace_back().Set("text", line);
  return list;
}

/// What all specializations check comes before the choice, the rest after it.
void KernelView::Checks() {
  std::vector<std::string> common;
  for (const std::string& line : calls_[0].checks()) {
    const bool shared = std::all_of(calls_.begin(), calls_.end(), [&](const CallView& call) {
      return std::count(call.checks().begin(), call.checks().end(), line) > 0;
    });
    if (shared) common.push_back(line);
  }
  fields_.SetList("checks", Lines(common));
  const std::vector<std::string> params = ParamDefinitions(kernel_, names_);
  fields_.SetFlag("has_params", !params.empty());
  fields_.SetList("params", Enumerated("param", params, ";"));
  std::vector<std::string> memory;
  for (const CallView& call : calls_)
    memory.insert(memory.end(), call.memory().begin(), call.memory().end());
  fields_.SetList("memory", Lines(memory));
  std::vector<Fields> headers;
  for (const std::string& header : DotHeaders(plans_))
    headers.emplace_back().Set("header", Quoted(header));
  if (!memory.empty() || !kernel_.prepare.empty())
    headers.emplace_back().Set("header", Quoted("kiln/host/prepare.h"));
  for (const HostCall& call : kernel_.prepare) {
    if (!call.header.empty()) headers.emplace_back().Set("header", Quoted(call.header));
  }
  fields_.SetList("headers", std::move(headers));
  const bool many = calls_.size() > 1;
  fields_.SetFlag("has_specializations", many);
  std::vector<std::string> rest = many ? std::vector<std::string>() : calls_[0].rest();
  if (!rest.empty() && rest.back() == kReturnFailure) rest.pop_back();  // as Run() does
  fields_.SetFlag("goes_on", many || !rest.empty());
  fields_.SetList("steps_of_call", Lines(rest));

  std::vector<Fields> choices;
  for (size_t f = 0; many && f < calls_.size(); ++f) {
    Fields& choice = choices.emplace_back();
    // The base comes last: it is what is left.
    const size_t specialization = f + 1 == calls_.size() ? 0 : f + 1;
    std::vector<std::string> lines;
    for (const std::string& line : calls_[specialization].checks()) {
      if (std::count(common.begin(), common.end(), line) == 0) lines.push_back(line);
    }
    if (!lines.empty()) lines.push_back(kReturnFailure);
    lines.insert(lines.end(), calls_[specialization].rest().begin(),
                 calls_[specialization].rest().end());
    const std::string condition =
        specialization == 0
            ? ""
            : calls_[specialization].Print(*kernel_.variants[specialization - 1].when);
    choice.Set("opening", (f == 0                ? "if ("
                           : specialization == 0 ? "} else {"
                                                 : "} else if (") +
                              condition + (specialization == 0 ? "" : ") {"));
    choice.Set("specialization", std::to_string(specialization));
    choice.SetList("lines", Lines(lines));
  }
  fields_.SetList("choices", std::move(choices));
}

void KernelView::Specializations() {
  const bool many = plans_.size() > 1;
  std::vector<Fields> specializations;
  Dots all;  // all specializations are compiled for the same instructions
  for (size_t f = 0; f < plans_.size(); ++f) {
    all |= plans_[f]->dots;
    Fields specialization = SpecializationView(*plans_[f], spec_file_).Make();
    specialization.SetFlag("named", many);
    const std::string space = f == 0 ? "base" : "variant_" + std::to_string(f);
    specialization.Set("namespace", space);
    specialization.Set("qualifier", many ? space + "::" : "");
    specialization.Set("within", many ? "::" + space : "");
    specialization.Set("number", std::to_string(f));
    std::string when = "where no condition holds";
    if (f > 0) {
      const Variant& variant = kernel_.variants[f - 1];
      when = "if " + ToString(*variant.when, kernel_);
      for (const auto& [name, value] : variant.set) when += ", " + name + ": " + value;
      if (variant.fixed_blocks) when += ", blocks fixed";
    }
    specialization.Set("when", when);
    specialization.SetFlag("is_variant", f > 0);
    specializations.push_back(std::move(specialization));
  }
  fields_.SetFlag("multiplies_bf16", all.MayBeF32());
  fields_.SetList("specializations", std::move(specializations));
}

}  // namespace

Fields MakeView(const std::vector<std::unique_ptr<Plan>>& specializations, const SpecName& spec) {
  return KernelView(specializations, spec).Make();
}

}  // namespace kiln::render
