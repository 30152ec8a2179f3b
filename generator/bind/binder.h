#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generator/bind/bind.h"
#include "generator/bind/host.h"

/// The state of one Bind. Parts, in the order they run: arguments.cc (names, arrays,
/// scalars, dims), prepare.cc, sizes.cc (extents, steps, conditions).
/// What is not known stays unset and excuses everything that depends on it, so that one missing
/// array or one contradiction is one diagnostic.
namespace kiln {

/// Larger arrays are taken for a mistake.
inline constexpr int64_t kMaxArrayBytes = int64_t{1} << 40;

class Binder {
 public:
  Binder(const Kernel& kernel, const Inputs& inputs, bool partial, Diagnostics& diagnostics);

  /// Arguments and dims only: what conditions of variants need.
  void BindArguments();
  void RunPrepare();
  void BindSizes();

  const Binding& binding() const { return binding_; }
  bool useless() const { return useless_; }
  Binding Take() { return std::move(binding_); }

 private:
  /// Where a dim's size was learnt.
  struct Origin {
    enum class Kind { kNone, kFixed, kGiven, kArray } kind = Kind::kNone;
    int ref = -1;
    size_t dimension = 0;
  };

  // arguments.cc
  void CheckNames();
  void CheckName(const std::string& name, bool is_dim);
  void GivenDims();
  void GivenDim(size_t dim, int64_t value);
  void GivenArray(size_t ref);
  void GivenScalar(size_t ref, const Array& array);
  bool Accept(size_t ref, const Array& array);
  void BindArrays();
  void LearnDims(size_t ref);
  void LearnDim(int dim, int64_t value, Origin origin);
  std::string Where(const Origin& origin) const;
  std::string Declared(const Ref& ref) const;
  bool ByHeader(size_t ref) const;

  // prepare.cc
  void Call(const HostCall& call);
  void TakeResults(const HostCall& call);
  std::optional<HostValue> ArgumentValue(const HostArgument& argument, const HostCall& call);
  void Made(size_t ref, std::shared_ptr<const Array> array, const HostCall& call,
            const HostReturn* result = nullptr, std::optional<int64_t> used = std::nullopt);
  void TooShort(const Ref& ref, size_t dimension, int64_t extent, int64_t needed,
                const HostCall& call);
  void GivenTooShort(const Ref& ref, size_t dimension, int64_t extent, const Array& array);
  void Missing();

  // sizes.cc
  void CheckConstraints();
  void Extents();
  std::vector<int64_t> ExtentsOf(const Shape& shape, const Ref& ref, const char* what);
  void CompareGiven(size_t ref);
  void CheckBytes(const Ref& ref, const std::vector<int64_t>& extents);
  void Steps();
  void Requirements();
  void Obligations();

  /// Whether a part of it has no value yet, for a reason that is reported elsewhere or, in
  /// partial mode, none at all.
  bool Excused(const Node& node) const;
  bool Excused(const Size& size) const;
  /// "k is 300 and m is 7", of the names in the expression that have a value.
  std::string Values(const Node& node) const;
  /// "2*k = 600", or the number alone.
  std::string Valued(const Size& size, int64_t value) const;
  /// Reports why an expression has no value, unless that is excused.
  void Explain(const EvalResult& result, const Node& node, const std::string& what);

  void Error(RuleLabel rule, Span span, std::string message, std::string hint = "",
             std::vector<Note> notes = {});

  const Kernel& kernel_;
  const Inputs& inputs_;
  const bool partial_;
  Diagnostics& diagnostics_;
  Binding binding_;
  std::vector<Origin> origins_;      // by dim
  std::vector<bool> contradicted_;   // by dim: reported, and without a value from then on
  std::vector<const Array*> given_;  // by ref: the array that was given, if it is acceptable
  std::vector<int> makers_;          // by ref: the `prepare` entry that makes it, or -1
  bool useless_ = false;
};

}  // namespace kiln
