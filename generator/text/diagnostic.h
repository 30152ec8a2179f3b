#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "generator/text/rule_label.h"
#include "generator/text/source.h"

namespace kiln {

enum class Severity { kError, kWarning };

struct Note {
  Span span;
  std::string message;
};

/// One diagnostic.
struct Diagnostic {
  Severity severity = Severity::kError;
  RuleLabel rule;
  Span span;
  std::string message;
  std::string hint;  // empty: none
  std::vector<Note> notes = {};
  std::shared_ptr<const Source> source = nullptr;  // null: the file that the run is about
  int elsewhere = 0;                               // more places of which the same is to be said
};

/// The diagnostics of one run over one file, in the order found.
class Diagnostics {
 public:
  void Error(RuleLabel rule, Span span, std::string message, std::string hint = "",
             std::vector<Note> notes = {});
  void Warning(RuleLabel rule, Span span, std::string message, std::string hint = "");
  void Add(Diagnostic diagnostic);
  /// An error that may come up again, since all places of it have one cause: it is reported at the
  /// first, with the number of the others.
  void ErrorOnce(RuleLabel rule, Span span, std::string message, std::string hint = "");

  bool HasErrors() const { return errors_ > 0; }
  bool empty() const { return found_.empty(); }
  /// By position, each distinct (rule, span, message) once.
  std::vector<Diagnostic> Sorted() const;

 private:
  std::vector<Diagnostic> found_;
  int errors_ = 0;
};

/// `path:line:col: error[rule]: message`, the source line, a caret, `hint: …`, notes.
std::string Render(const Diagnostic& diagnostic, const Source& source);
std::string Render(const Diagnostics& diagnostics, const Source& source);
/// An array of {path, line, column, end_line, end_column, severity, rule, message, hint, notes};
/// always valid UTF-8.
std::string RenderJson(const Diagnostics& diagnostics, const Source& source);
/// The same, not spelt yet. Without a source, what has none of its own has no path and no place.
nlohmann::ordered_json DiagnosticsJson(const Diagnostics& diagnostics, const Source* source);

/// The nearest of `candidates` to a misspelt `word`, or empty when none is near.
std::string Nearest(std::string_view word, const std::vector<std::string>& candidates);
/// "did you mean `x`?" or empty.
std::string DidYouMean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace kiln
