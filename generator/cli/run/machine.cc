#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "generator/cli/command/command.h"
#include "generator/cli/run/run.h"
#include "generator/native/cpu.h"
#include "generator/native/others.h"
#include "generator/native/peaks.h"

namespace kiln::cli {
namespace {

using Json = nlohmann::ordered_json;

struct MachineCommand {
  bool json = false;
  bool no_peaks = false;
  int cores = 1;

  int Run() const;
};

std::string Rate(double per_second, const char* unit) {
  if (per_second <= 0) return "no such instruction";
  std::ostringstream text;
  text.precision(per_second < 100e9 ? 1 : 0);
  text << std::fixed << per_second / 1e9 << " " << unit;
  return text.str();
}

void Line(std::ostream& out, const std::string& name, const std::string& value) {
  out << "  " << name << std::string(18 - name.size(), ' ') << value << "\n";
}

std::string TextOf(const CpuFacts& cpu, const std::optional<Peaks>& peaks) {
  const auto count = [](int64_t value) { return std::to_string(value); };
  std::ostringstream out;
  out << CpuModel() << "\n";
  Line(out, "instructions",
       cpu.target + ": " + count(cpu.vector_registers) + " vectors of " +
           count(cpu.vector_bytes * 8) + " bits" +
           (cpu.amx ? ", and AMX for dots of bf16 and of bytes" : ""));
  Line(out, "L1, L2", Bytes(cpu.l1_bytes) + ", " + Bytes(cpu.l2_bytes) + " of a core");
  Line(out, "last cache", Bytes(cpu.last_cache_bytes) + " that a core counts on");
  Line(out, "page", Bytes(cpu.page_bytes));
  out << "What Direct makes of it:\n";
  Line(out, "register tile",
       count(cpu.tile_rows) + " x " + count(cpu.tile_columns) + " sums of an f32 product");
  Line(out, "MC, NC, KC",
       count(cpu.mc) + ", " + count(cpu.nc) + ", " + count(cpu.kc) + " of an f32 product of " +
           count(cpu.product) + " in each direction");
  Line(out, "streaming stores", "for outputs of " + Bytes(cpu.last_cache_bytes) + " and more");
  if (!peaks) return out.str();
  out << "The most that " << peaks->cores << (peaks->cores == 1 ? " core does" : " cores do")
      << ", as measured " << AgeText(peaks->measured) << "; " << OthersText(peaks->others) << ":\n";
  Line(out, "f32", Rate(peaks->f32, "GFLOP/s"));
  Line(out, "bf16", Rate(peaks->bf16, "GFLOP/s"));
  Line(out, "int8", Rate(peaks->i8, "GOP/s"));
  if (peaks->l2_bytes_per_second > 0)
    Line(out, "L2, read", Rate(peaks->l2_bytes_per_second, "GB/s"));
  if (peaks->last_cache_bytes_per_second > 0)
    Line(out, "last cache, read", Rate(peaks->last_cache_bytes_per_second, "GB/s"));
  Line(out, "memory", Rate(peaks->bytes_per_second, "GB/s"));
  return out.str();
}

std::string JsonOf(const CpuFacts& cpu, const std::optional<Peaks>& peaks) {
  Json json = {{"cpu", CpuModel()},
               {"target", cpu.target},
               {"vector_bytes", cpu.vector_bytes},
               {"vector_registers", cpu.vector_registers},
               {"amx", cpu.amx},
               {"l1_bytes", cpu.l1_bytes},
               {"l2_bytes", cpu.l2_bytes},
               {"last_cache_bytes", cpu.last_cache_bytes},
               {"page_bytes", cpu.page_bytes},
               {"tile", {cpu.tile_rows, cpu.tile_columns}},
               {"product", cpu.product},
               {"mc", cpu.mc},
               {"nc", cpu.nc},
               {"kc", cpu.kc}};
  if (peaks) {
    json["peaks"] = {{"cores", peaks->cores},
                     {"f32", peaks->f32},
                     {"bf16", peaks->bf16},
                     {"int8", peaks->i8},
                     {"bytes_per_second", peaks->bytes_per_second},
                     {"l2_bytes_per_second", peaks->l2_bytes_per_second},
                     {"last_cache_bytes_per_second", peaks->last_cache_bytes_per_second},
                     {"measured", peaks->measured},
                     {"others", peaks->others}};
  }
  return json.dump(2) + "\n";
}

int MachineCommand::Run() const {
  if (cores < 1) return UsageError("--cores must be at least 1");
  std::string why;
  const auto tools = FindToolchain(&why);
  std::optional<CpuFacts> cpu;
  std::optional<Peaks> peaks;
  {
    Progress progress("asking the machine");
    if (tools) cpu = FindCpuFacts(*tools, {}, &why);
    if (cpu && !no_peaks) peaks = FindPeaks(cores, PeakAge::kKept, *tools, {}, &why);
  }
  if (!cpu || (!peaks && !no_peaks)) return InternalError("cannot measure the machine: " + why);
  std::cout << (json ? JsonOf(*cpu, peaks) : TextOf(*cpu, peaks));
  return kFine;
}

}  // namespace

void AddMachine(const OptionList& list, std::function<int()>& run) {
  auto command = std::make_shared<MachineCommand>();
  list.Flag("--json", command->json, "as JSON");
  list.Add("--cores", command->cores, "peaks of so many cores together (1)");
  list.Flag("--no-peaks", command->no_peaks, "without the peaks, which take seconds to measure");
  list.Footer(
      "Examples:\n"
      "  kiln machine\n"
      "  kiln machine --cores=2 --json\n"
      "Direct chooses sizes of blocks, and what to read in place or to write past the caches, by\n"
      "the sizes of caches that the operating system reports. No result depends on them. An\n"
      "application can set others in the options of its context: `cpu` in C++, `l1_bytes`,\n"
      "`l2_bytes` and `last_cache_bytes` in C. Peaks are measured once and kept, as those of\n"
      "`kiln bench`, unless others were using the machine.\n"
      "TPUs are described by machine files: kiln predict --help.");
  run = [command] { return command->Run(); };
}

}  // namespace kiln::cli
