#include "generator/native/call_diagnostic.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "generator/native/hides.h"

namespace kiln {
namespace {

constexpr const char* kSeeInterpreter =
    "`kiln run` with the same arguments interprets each element and says where it comes from";

/// "(line 17)" of a message, and what stands around it.
struct LineMark {
  size_t begin = std::string::npos;
  size_t end = 0;
  int line = 0;
};

LineMark MarkIn(const std::string& message) {
  const std::string before = " (line ";
  LineMark mark;
  mark.begin = message.find(before);
  if (mark.begin == std::string::npos) return mark;
  mark.line = std::atoi(message.c_str() + mark.begin + before.size());
  mark.end = message.find(')', mark.begin) + 1;
  return mark;
}

/// The word that ends at `end`.
std::string WordBefore(const std::string& message, size_t end) {
  size_t begin = end;
  const auto is_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  while (begin > 0 && is_name(message[begin - 1])) --begin;
  return message.substr(begin, end - begin);
}

/// Without blanks around it and without a comment.
Span SpanOfLine(const Source& source, int line) {
  const std::string text(source.Line(line));
  const size_t comment = text.find(" #");
  const size_t first = text.find_first_not_of(' ');
  const size_t last = text.find_last_not_of(' ', comment);
  const auto start = static_cast<uint32_t>(source.LineStart(line));
  if (first == std::string::npos) return {start, start};
  return {start + static_cast<uint32_t>(first), start + static_cast<uint32_t>(last) + 1};
}

/// Those are about when an index map visits a block.
bool IsAboutOrder(std::string_view rule) {
  return rule == "revisit" || rule == "race" || rule == "alias";
}

/// The operand of that name which the line declares, or its index map, else the line's statement.
Span SpanAt(const Kernel& kernel, std::string_view rule, const std::string& name, int line) {
  for (const Ref& ref : kernel.refs) {
    if (ref.name == name && kernel.source->Locate(ref.span.begin).line == line)
      return IsAboutOrder(rule) ? MapSpan(ref) : ref.span;
  }
  return SpanOfLine(*kernel.source, line);
}

/// The index of the block's dimension that a diagnostic about a range names.
Span SpanOfIndex(const Kernel& kernel, const std::string& message, Span operand) {
  const std::string before = ": dimension ";
  const size_t at = message.find(before);
  if (at == std::string::npos) return operand;
  const auto d = static_cast<size_t>(std::atoi(message.c_str() + at + before.size()));
  for (const Ref& ref : kernel.refs) {
    if (ref.span.begin != operand.begin || d >= ref.block.size() || !ref.block[d].index) continue;
    const Span span = ref.block[d].index->span;
    return span.end > span.begin ? span : operand;
  }
  return operand;
}

bool Reads(const Node& node, int ref) {
  const auto reads = [&](const NodePtr& arg) { return Reads(*arg, ref); };
  return (node.op == Op::kRead && node.index == ref) ||
         std::any_of(node.args.begin(), node.args.end(), reads) ||
         std::any_of(node.subscripts.begin(), node.subscripts.end(),
                     [&](const Subscript& s) { return Reads(*s.start, ref); });
}

/// The index that reads a prefetch array, if only one does, else where the array is declared.
Span SpanOfReader(const Kernel& kernel, int array) {
  Span span = kernel[RefId(array)].span;
  int readers = 0;
  for (const Ref& ref : kernel.refs) {
    for (const BlockDim& dim : ref.block) {
      if (!dim.index || !Reads(*dim.index, array)) continue;
      if (readers++ > 0) return kernel[RefId(array)].span;
      span = dim.index->span;
    }
  }
  return span;
}

std::string ElementText(const Array& array, int64_t element) {
  std::string text;
  for (size_t d = array.shape.size(); d-- > 0; element /= array.shape[d])
    text = std::to_string(element % array.shape[d]) + (text.empty() ? "" : ", ") + text;
  return text.empty() ? "" : "[" + text + "]";
}

/// What the runtime leaves in undefined memory: of a float of 8 bits that has a sign the NaN
/// without it, which arithmetic does not make.
std::byte UndefinedByte(DType dtype) {
  if (dtype == DType::kBool) return std::byte{0x01};
  if (dtype == DType::kU4) return std::byte{0x0F};
  const bool is_signed = IsFloat(dtype) && !RowOf(dtype).powers;
  return is_signed && !TellsUndefined(dtype) ? std::byte{0x7F} : std::byte{0xFF};
}

/// Elements in which two arrays differ. `untouched`: in one of them all are as undefined ones are,
/// with all bits set that a type has.
struct Differing {
  int64_t count = 0;
  int64_t first = -1;
  bool untouched = true;
};

/// `nan_bits`: whether these tell NaNs from each other.
Differing DifferingOf(const Array& one, const Array& other, bool nan_bits) {
  Differing differing;
  const size_t size = SizeOf(one.dtype);
  const std::byte undefined = UndefinedByte(one.dtype);
  const bool one_nan = !nan_bits && TellsUndefined(one.dtype);
  for (int64_t e = 0; e < one.size(); ++e) {
    const std::byte* const at = one.bytes.data() + static_cast<size_t>(e) * size;
    if (std::memcmp(at, other.bytes.data() + static_cast<size_t>(e) * size, size) == 0) continue;
    if (one_nan && std::isnan(one.GetFloat(e)) && std::isnan(other.GetFloat(e))) continue;
    if (differing.count++ == 0) differing.first = e;
    differing.untouched = differing.untouched &&
                          std::all_of(at, at + size, [&](std::byte b) { return b == undefined; });
  }
  return differing;
}

/// The first element of two calls' outputs that differs though only undefined memory did. Integers
/// that the first call leaves undefined have all bits set. `nan_bits`: whether those of two NaNs
/// count.
std::optional<Diagnostic> FindUndefined(const Kernel& kernel,
                                        const std::map<std::string, Array>& first,
                                        const std::map<std::string, Array>& second, bool nan_bits) {
  std::optional<Diagnostic> diagnostic;
  for (const Ref& ref : kernel.refs) {
    const auto at = first.find(ref.name);
    if (ref.role != Role::kOutput || at == first.end() || ref.init_undefined) continue;
    const Differing differing = DifferingOf(at->second, second.at(ref.name), nan_bits);
    if (differing.count == 0) continue;
    // What was computed from it is better evidence than what is as it was.
    const bool unstored = differing.untouched && ref.memory != Memory::kAny;
    if (diagnostic && unstored) continue;
    diagnostic.emplace();
    diagnostic->rule = unstored ? RuleLabel("coverage") : RuleLabel("undefined");
    diagnostic->span = ref.span;
    diagnostic->message = (unstored ? "no step stores " : "undefined values reach ") +
                          std::to_string(differing.count) + " of the " +
                          std::to_string(at->second.size()) + " elements of `" + ref.name +
                          "`; the first is `" + ref.name +
                          ElementText(at->second, differing.first) +
                          "`: it depends on what undefined memory happens to hold";
    diagnostic->hint = kSeeInterpreter;
    if (!unstored) break;
  }
  return diagnostic;
}

/// The same where the two calls differ past edges alone.
Diagnostic AsTail(Diagnostic diagnostic) {
  diagnostic.rule = "tail";
  for (const std::string before : {"undefined values reach", "no step stores"}) {
    if (diagnostic.message.rfind(before, 0) == 0)
      diagnostic.message.replace(0, before.size(), "elements from past an edge reach");
  }
  return diagnostic;
}

}  // namespace

std::optional<Diagnostic> DiagnosticOf(const Kernel& kernel, const CallResult& call) {
  Diagnostic diagnostic;
  diagnostic.rule = RuleLabel::Find(call.rule);
  const size_t named = call.message.find("] ");
  diagnostic.message = named == std::string::npos ? call.message : call.message.substr(named + 2);
  const LineMark mark = MarkIn(diagnostic.message);
  if (mark.line <= 0) {
    // "ids[10] is read, but …"
    const int ref = kernel.FindRef(diagnostic.message.substr(0, diagnostic.message.find('[')));
    if (ref < 0) return std::nullopt;
    diagnostic.span = SpanOfReader(kernel, ref);
    return diagnostic;
  }
  diagnostic.span =
      SpanAt(kernel, call.rule, WordBefore(diagnostic.message, mark.begin), mark.line);
  diagnostic.message.erase(mark.begin, mark.end - mark.begin);
  if (call.rule == "index-range")
    diagnostic.span = SpanOfIndex(kernel, diagnostic.message, diagnostic.span);
  if (IsAboutUndefined(diagnostic.rule)) diagnostic.hint = kSeeInterpreter;
  return diagnostic;
}

namespace {

using Poison = CallOptions::Poison;

CallOptions With(CallOptions how, Poison poison) {
  how.poison = poison;
  return how;
}

bool HasNan(const Array& array) {
  if (!IsFloat(array.dtype)) return false;
  for (int64_t e = 0; e < array.size(); ++e) {
    if (std::isnan(array.GetFloat(e))) return true;
  }
  return false;
}

bool HasNan(const std::map<std::string, Array>& arrays) {
  return std::any_of(arrays.begin(), arrays.end(),
                     [](const auto& named) { return HasNan(named.second); });
}

/// Makes the call again with other bits in undefined memory.
class Examiner {
 public:
  Examiner(const Binding& binding, const std::map<std::string, Array>& arrays,
           const CallOptions& how, const CallAgain& again, bool keeps_nan_bits)
      : kernel_(*binding.kernel),
        arrays_(arrays),
        how_(how),
        again_(again),
        keeps_nan_bits_(keeps_nan_bits) {}

  CallResult Again(Poison poison) const { return again_(With(how_, poison)); }

  /// The call with other bits in undefined memory, if these change nothing that it gives.
  std::optional<CallResult> Acquit(const CallResult& failed) const {
    if (!IsAboutUndefined(RuleLabel::Find(failed.rule)) || !MayHaveOwnNan()) return std::nullopt;
    CallResult zeros = Again(Poison::kZero);
    if (zeros.code != 0) return std::nullopt;
    const CallResult random = Again(Poison::kRandom);
    if (random.code != 0 || Differ(zeros, random)) return std::nullopt;
    return zeros;
  }

  /// What shows when undefined memory has other bits than those of NaN that `nan` is the result of.
  std::optional<Diagnostic> FindHidden(const CallResult& nan) const {
    if (!MayHide(nan)) return std::nullopt;
    for (const Poison poison : {Poison::kZero, Poison::kRandom}) {
      const CallResult other = Again(poison);
      auto diagnostic = other.code == 0 ? FindDiffering(nan, other) : FindEndingOtherwise(other);
      if (diagnostic) return diagnostic;
    }
    return std::nullopt;
  }

 private:
  /// Whether NaN of any bits may come from elsewhere than undefined memory.
  bool MayHaveOwnNan() const { return BitcastsToFloat(kernel_) || HasNan(arrays_); }

  /// Whether what is undefined may not have shown: where arithmetic makes one NaN of all, any NaN
  /// in an output may have been computed from it.
  bool MayHide(const CallResult& nan) const {
    return HidesUndefined(kernel_) || (!keeps_nan_bits_ && HasNan(nan.outputs));
  }

  std::optional<Diagnostic> Differ(const CallResult& one, const CallResult& other) const {
    return FindUndefined(kernel_, one.outputs, other.outputs, keeps_nan_bits_);
  }

  std::optional<Diagnostic> FindDiffering(const CallResult& nan, const CallResult& other) const {
    auto diagnostic = Differ(nan, other);
    if (!diagnostic) return std::nullopt;
    // An integer from past an edge may look like one that nobody has stored.
    const CallResult edges = Again(Poison::kZeroEdges);
    if (edges.code == 0) {
      if (auto tail = Differ(nan, edges)) return AsTail(*tail);
    }
    return diagnostic;
  }

  std::optional<Diagnostic> FindEndingOtherwise(const CallResult& other) const {
    std::optional<Diagnostic> diagnostic = DiagnosticOf(kernel_, other);
    if (!diagnostic) return std::nullopt;
    diagnostic->message = "it depends on what undefined memory happens to hold whether " +
                          other.rule + " is found here: " + diagnostic->message;
    diagnostic->rule = "undefined";
    diagnostic->hint = kSeeInterpreter;
    return diagnostic;
  }

  const Kernel& kernel_;
  const std::map<std::string, Array>& arrays_;
  const CallOptions how_;
  const CallAgain& again_;
  const bool keeps_nan_bits_;
};

}  // namespace

bool IsAboutUndefined(RuleLabel rule) {
  return rule == "undefined" || rule == "tail" || rule == "coverage";
}

std::optional<Diagnostic> ExamineCall(const Binding& binding,
                                      const std::map<std::string, Array>& arrays,
                                      const CallOptions& how, const CallAgain& again,
                                      CallResult* result, internal::KeptNanBits kept) {
  const Kernel& kernel = *binding.kernel;
  const bool keeps_nan_bits = kept.by_arithmetic && (kept.by_bf16_dots || !MultipliesBf16(kernel));
  if (!how.emulate) return result->code != 0 ? DiagnosticOf(kernel, *result) : std::nullopt;
  if (result->code != 0) {
    auto other = Examiner(binding, arrays, how, again, keeps_nan_bits).Acquit(*result);
    if (!other) return DiagnosticOf(kernel, *result);
    *result = std::move(*other);
    return std::nullopt;
  }
  CallOptions quick = how;
  quick.events = false;
  quick.repeat = 1;
  const Examiner examiner(binding, arrays, quick, again, keeps_nan_bits);
  if (how.poison == Poison::kNan) return examiner.FindHidden(*result);
  const CallResult nan = examiner.Again(Poison::kNan);
  if (nan.code == 0) return examiner.FindHidden(nan);
  return examiner.Acquit(nan) ? std::nullopt : DiagnosticOf(kernel, nan);
}

}  // namespace kiln
