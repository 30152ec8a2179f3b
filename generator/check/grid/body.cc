// [index-range] and [assert] in the body, as far as the grid decides them.
#include <algorithm>

#include "generator/check/grid/rules.h"
#include "generator/check/grid/sites.h"

namespace kiln {
namespace {

struct Failure {
  int64_t point = 0;
  int64_t value = 0;
  LaneFault fault;
  std::map<int, int64_t> loops;
};

struct Failures {
  std::vector<Failure> first;
  int64_t count = 0;
};

bool Fails(const Site& site, int64_t value) {
  switch (site.kind) {
    case Site::Kind::kSubscript:
      return value < 0 || value >= site.extent;
    case Site::Kind::kSlice:
    case Site::Kind::kSize:
    case Site::Kind::kEnd:
      return value < 0 || site.size > site.extent || value > site.extent - site.size;
    case Site::Kind::kAssert:
      return value == 0;
  }
  return false;
}

Failures Check(GridContext& context, const Site& site, SiteProgram& compiled, int limit) {
  Failures out;
  Sweep sweep(context.binding, compiled.program, *compiled.space, &context.progress);
  while (sweep.Next()) {
    const int64_t* value = compiled.program.Lanes(compiled.value);
    for (int lane = 0; lane < sweep.count(); ++lane) {
      const bool fault = compiled.program.Faulted(lane);
      if (!fault && !Fails(site, value[lane])) continue;
      if (!compiled.Reaches(sweep, lane)) continue;
      Failure failure{sweep.begin() + lane, value[lane], compiled.program.FaultAt(lane), {}};
      // A prefetch element out of range is found where it is read; x // 0 is left to the run.
      const EvalFault why = failure.fault.fault;
      if (why == EvalFault::kHostRange || why == EvalFault::kUnknown) continue;
      if (int(out.first.size()) < limit) {
        for (const auto& [local, reg] : compiled.loop_values) {
          failure.loops[local] = compiled.program.Lanes(reg)[lane];
        }
        out.first.push_back(std::move(failure));
      }
      if (__builtin_add_overflow(out.count, sweep.space().Weight(sweep.begin() + lane),
                                 &out.count)) {
        out.count = INT64_MAX;
      }
    }
  }
  return out;
}

/// " at grid point (i=4), r=2".
std::string Where(const GridContext& context, const SiteProgram& compiled, const Failure& failure) {
  std::string out = AtPoint(context.kernel, compiled.space->AxesAt(failure.point));
  for (const auto& [local, value] : failure.loops) {
    out += (out.empty() ? " at " : ", ") + context.kernel.locals[size_t(local)].name + "=" +
           std::to_string(value);
  }
  return out;
}

bool IsInLoop(const Site& site) {
  return std::any_of(site.enclosing.begin(), site.enclosing.end(),
                     [](const Enclosing& around) { return !around.condition; });
}

std::string More(const Site& site, const SiteProgram& compiled, int64_t more) {
  if (more > 0 && !compiled.exact) return " (and others)";
  return AndMore(more, IsInLoop(site) ? "iteration" : "grid point");
}

std::string RangeMessage(const GridContext& context, const Site& site, const Failure& failure,
                         const std::string& where) {
  const bool prefetch = site.subject >= 0 && context.ref(site.subject).role == Role::kPrefetch;
  const bool semaphore = site.subject >= 0 && context.ref(site.subject).role == Role::kSemaphore;
  const std::string value = std::to_string(failure.value);
  const std::string noun = semaphore ? "slot" : "element";
  if (site.kind == Site::Kind::kSize) {
    return "size " + value + " of a slice of " + site.description + where +
           " is out of range: most=" + std::to_string(site.extent);
  }
  if (site.kind == Site::Kind::kEnd) {
    return "the end " + value + " of a slice of " + site.description + where +
           " is out of range: it has " + Counted(site.extent, noun);
  }
  if (site.kind == Site::Kind::kSlice) {
    return "slice [" + value + ":" + std::to_string(failure.value + site.size) + "] of " +
           site.description + where + " is out of range: it has " + Counted(site.extent, noun);
  }
  return (semaphore ? "slot " : "subscript ") + value + " of " +
         (prefetch && site.description[0] == '`' ? "prefetch array " : "") + site.description +
         where + " is out of range: it has " + Counted(site.extent, noun);
}

void Report(GridContext& context, const Site& site, const SiteProgram& compiled,
            const Failures& failures, Locals& locals) {
  const RuleLabel rule =
      site.kind == Site::Kind::kAssert ? RuleLabel("assert") : RuleLabel("index-range");
  for (size_t i = 0; i < failures.first.size(); ++i) {
    const Failure& failure = failures.first[i];
    const bool last = i + 1 == failures.first.size();
    const std::string where = Where(context, compiled, failure);
    const std::string more = More(site, compiled, last ? failures.count - int64_t(i) - 1 : 0);
    if (failure.fault.fault != EvalFault::kNone) {
      context.Error(rule, site.subject, failure.fault.span.end > 0 ? failure.fault.span : site.span,
                    FaultMessage(context.kernel, failure.fault,
                                 rule == "assert" ? "the condition of the assertion"
                                                  : "the subscript of " + site.description,
                                 where) +
                        more);
      continue;
    }
    const std::string values =
        HostValues(context.binding, *site.value, compiled.space->AxesAt(failure.point),
                   failure.loops, &locals);
    std::string message = site.kind == Site::Kind::kAssert
                              ? "the assertion fails" + where +
                                    (site.description.empty() ? "" : ": " + site.description)
                              : RangeMessage(context, site, failure, where);
    if (!values.empty()) message += "; " + values;
    context.Error(rule, site.subject, site.span, message + more);
  }
}

void SkipSite(GridContext& context, RuleLabel rule, const Site& site) {
  context.NotChecked(
      rule, site.subject, site.span,
      site.kind == Site::Kind::kAssert
          ? "whether the assertion holds"
          : "whether the subscript of " + site.description + " is in range",
      IsInLoop(site) ? "the grid and the loops around it have too many steps to try" : "");
}

}  // namespace

void CheckBody(GridContext& context) {
  Locals locals;
  const std::vector<Site> sites = CollectSites(context, locals);
  context.progress.Split(int64_t(sites.size()));
  for (const Site& site : sites) {
    context.progress.NextPart();
    const RuleLabel rule =
        site.kind == Site::Kind::kAssert ? RuleLabel("assert") : RuleLabel("index-range");
    const int limit = context.Left(rule, site.subject);
    if (limit <= 0) continue;
    auto compiled = CompileSite(context, site, locals);
    if (!compiled) continue;
    if (!compiled->space) {
      SkipSite(context, rule, site);
      continue;
    }
    const Failures failures = Check(context, site, *compiled, limit);
    if (failures.count > 0) Report(context, site, *compiled, failures, locals);
  }
}

}  // namespace kiln
