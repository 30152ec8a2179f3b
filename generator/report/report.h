#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "generator/bind/bind.h"
#include "generator/predict/steps/timeline.h"

/// One page that shows a run of a kernel: which blocks its steps touch, what is skipped, and where
/// the time goes. `ReportData` decides what there is to show, `templates/report/` how.
namespace kiln {

/// What is wrong with a run.
struct ReportDiagnostic {
  bool error = true;
  std::string rule;
  std::string message;
  std::string hint;
  int line = 0;  // of the spec; 0: none
};

/// How fast the machine could be at this kernel, and how fast it is.
struct ReportRoofline {
  std::string name;       // of the rate: "bf16"
  double peak_flops = 0;  // of all cores that the call uses
  double hbm_bps = 0;
  double flops = 0;  // of the run
  double bytes = 0;
};

/// What an emulated run counted of an operand.
struct ReportCount {
  std::string operand;
  int64_t copies = 0;
  int64_t bytes = 0;
};

struct ReportInput {
  const Kernel* kernel = nullptr;
  const Binding* binding = nullptr;    // null: the sizes are at fault
  const Timeline* timeline = nullptr;  // null: nothing ran
  ReportRoofline roofline;
  std::string bound;                // as CostSummary names it
  std::vector<std::string> advice;  // what bounds the kernel and what would help, in sentences
  int64_t vmem_limit = 0;           // what kernels may use unless compilers are told otherwise
  std::vector<ReportCount> counts;  // of an emulated run; empty: there was none
  std::vector<ReportDiagnostic> diagnostics;
};

/// Everything the page shows, as compact as its scripts can still unpack it.
nlohmann::ordered_json ReportData(const ReportInput& input);

/// The page: one file that needs nothing else. No text of the data can be taken for markup.
std::string ReportPage(const nlohmann::ordered_json& data);

/// How many steps of all cores a page shows one by one. More are shown in ranges of equally many.
inline constexpr int64_t kMaxReportSteps = 100'000;

}  // namespace kiln
