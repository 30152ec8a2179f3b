#include "generator/cli/command/complain.h"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "generator/cli/command/command.h"
#include "generator/text/utf8.h"

namespace kiln::cli {
namespace {

bool in_json = false;
std::optional<nlohmann::ordered_json> list;  // nothing: none is to be printed

/// A command may report its warnings, and report them again with an error that it finds later.
void Collect(const nlohmann::ordered_json& entries) {
  if (!list) list = nlohmann::ordered_json::array();
  for (const auto& entry : entries) {
    if (std::find(list->begin(), list->end(), entry) == list->end()) list->push_back(entry);
  }
}

/// `rule` may be a rule of the language, or what a command judges by itself ("usage", "golden").
void CollectError(const std::string& rule, const std::string& message, const std::string& hint) {
  Diagnostics one;
  one.Error({}, {}, message, hint);
  nlohmann::ordered_json entries = DiagnosticsJson(one, nullptr);
  entries[0]["rule"] = Printable(rule);
  Collect(entries);
}

}  // namespace

void ComplainInJson(bool json) { in_json = json; }

void Complain(const Diagnostics& diagnostics, const Source& source) {
  if (in_json)
    Collect(DiagnosticsJson(diagnostics, &source));
  else
    std::cerr << Render(diagnostics, source);
}

void ComplainOfNothing() {
  if (in_json) Collect({});
}

int UsageError(const std::string& message, const std::string& hint) {
  // A message may quote what was typed, control characters and all.
  if (in_json) {
    CollectError("usage", OneLine(message), hint);
    return kUsage;
  }
  std::cerr << "kiln: " << OneLine(message) << "\n";
  if (!hint.empty()) std::cerr << "  hint: " << Printable(hint) << "\n";
  return kUsage;
}

int InternalError(const std::string& message, const std::string& log) {
  if (in_json)
    CollectError("internal", message + (log.empty() ? "" : "\n" + log), "");
  else
    std::cerr << "kiln: " << message << "\n" << log;
  return kInternal;
}

int RuleError(const std::string& rule, const std::string& message) {
  if (in_json)
    CollectError(rule, message, "");
  else
    std::cerr << "error[" << rule << "]: " << message << "\n";
  return kDiagnosed;
}

void EndComplaints() {
  if (list) std::cout << list->dump(2) << "\n";
  list.reset();
}

}  // namespace kiln::cli
