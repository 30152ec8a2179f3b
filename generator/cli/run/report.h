#pragma once

#include <string>
#include <vector>

#include "generator/cli/run/predict.h"
#include "generator/predict/machine/machine.h"
#include "generator/report/report.h"

namespace kiln::cli {

/// Where pictures of a call go.
struct PictureFiles {
  std::string page;   // HTML; empty: none
  std::string trace;  // trace events; empty: none

  void Add(const OptionList& list, const char* page_option, const std::string& when);
  bool any() const { return !page.empty() || !trace.empty(); }
  /// False, after an error, when one would overwrite the other or what the command reads.
  bool AreDistinct(const char* page_option, const SpecOptions& spec,
                   const std::string& machine) const;
};

/// A call that is to be shown.
struct PictureRequest {
  const Loaded* loaded = nullptr;
  const Binding* binding = nullptr;  // null: the sizes are at fault
  const Timeline* timeline = nullptr;
  const Machine* machine = nullptr;
  std::vector<std::string> advice;
  std::vector<ReportDiagnostic> diagnostics;  // besides those of `loaded`
  std::vector<ReportCount> counts;
};

/// "Bound by HBM: copies are under way 80 % of the time …"
std::string BoundLine(const PredictResult& result);
/// That, and what would help.
std::vector<std::string> CostLines(const PredictResult& result);

/// Writes the files and says so on stderr. False after an error, which is printed.
bool WritePictures(const PictureRequest& request, const PictureFiles& files);

}  // namespace kiln::cli
