#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <sstream>

#include "generator/cli/command.h"
#include "generator/data/npy.h"
#include "generator/front/grid_check.h"
#include "generator/interpret/interpret.h"

namespace kiln::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct RunCommand {
  SpecOptions spec;
  std::vector<std::string> words;
  std::string mode = "interpret";
  std::string out;
  std::optional<uint64_t> shuffle;
  bool wide = false;
  bool unchecked = false;

  int Run() const;
  int RunLoaded(Loaded& loaded) const;
};

std::string Number(double value) {
  std::ostringstream out;
  out << std::setprecision(6) << value;
  return out.str();
}

/// "-1.5 .. 2.25", with a count of what has no order.
std::string Range(const Array& array) {
  if (array.size() == 0) return "empty";
  double low = INFINITY, high = -INFINITY;
  int64_t nans = 0;
  for (int64_t i = 0; i < array.size(); ++i) {
    const double v =
        IsFloat(array.dtype) ? array.GetFloat(i) : static_cast<double>(array.GetInt(i));
    if (std::isnan(v)) {
      ++nans;
      continue;
    }
    low = std::min(low, v);
    high = std::max(high, v);
  }
  std::string text = nans == array.size() ? "" : Number(low) + " .. " + Number(high);
  if (nans > 0) text += (text.empty() ? "" : ", ") + std::to_string(nans) + " NaN";
  return text;
}

std::string Duration(double seconds) {
  return seconds < 1 ? Number(std::round(seconds * 1e5) / 100) + " ms" : Number(std::round(seconds * 100) / 100) + " s";
}

/// What the interpreter holds: the arrays, and the shadow of every element of an output.
constexpr double kShadowBytes = 16;

double BytesNeeded(const Binding& binding) {
  double bytes = 0;
  for (size_t i = 0; i < binding.kernel->refs.size(); ++i) {
    const Ref& ref = binding.kernel->refs[i];
    if ((ref.role != Role::kInput && ref.role != Role::kOutput) || ref.view_of >= 0) continue;
    double elements = 1;
    for (int64_t extent : binding.arrays[i]) elements *= static_cast<double>(extent);
    bytes += elements * (static_cast<double>(SizeOf(ref.dtype)) + (ref.role == Role::kOutput ? kShadowBytes : 0));
  }
  return bytes;
}

/// Better a sentence now than the system's killer later.
bool FitsInMemory(const Binding& binding) {
  const double machine = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  const double needed = BytesNeeded(binding);
  if (needed <= machine / 2) return true;
  const double gib = static_cast<double>(1 << 30);
  UsageError("interpreting these sizes needs " + Number(std::round(needed / gib * 10) / 10) + " GiB of memory, and this machine has " +
                 Number(std::round(machine / gib * 10) / 10),
             "`kiln check` with the same sizes needs none of it");
  return false;
}

void Row(const std::string& a, const std::string& b, const std::string& c, const std::string& d) {
  std::cout << "  " << std::left << std::setw(10) << a << std::setw(14) << b << std::setw(24) << c
            << d << "\n";
}

void PrintSummary(const Kernel& kernel, const Inputs& inputs, const Binding& binding,
                  const InterpretResult& result, double seconds) {
  std::cout << kernel.name << (kernel.instance.empty() ? "" : ":" + kernel.instance)
            << ", interpreted: " << result.steps << " grid step" << (result.steps == 1 ? "" : "s");
  for (size_t a = 0; a < kernel.axes.size(); ++a) {
    std::cout << (a ? ", " : " (") << kernel.axes[a].name << "=" << binding.steps[a];
  }
  std::cout << (kernel.axes.empty() ? "" : ")") << " in " << Duration(seconds) << "\n";
  for (const Ref& ref : kernel.refs) {
    const auto input = inputs.arrays.find(ref.name);
    const auto output = result.outputs.find(ref.name);
    if (output != result.outputs.end()) {
      Row("output", ref.name, ToString(output->second.dtype, output->second.shape),
          Range(output->second));
    } else if (input != inputs.arrays.end()) {
      Row("input", ref.name, ToString(input->second.dtype, input->second.shape),
          Range(input->second));
    }
  }
}

bool WriteOutputs(const InterpretResult& result, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    UsageError("cannot make the folder `" + folder + "`: " + error.message());
    return false;
  }
  for (const auto& [name, array] : result.outputs) {
    const std::string path = folder + "/" + name + ".npy";
    const std::string why = WriteNpy(path, array);
    if (!why.empty()) {
      UsageError(why);
      return false;
    }
    std::cout << "  wrote " << path << "\n";
  }
  return true;
}

int RunCommand::Run() const {
  auto loaded = Load(spec, Depth::kCheckForSizes);
  if (!loaded) return kUsage;
  if (!loaded->kernel) return Report(*loaded, spec.format);
  return RunLoaded(*loaded);
}

int RunCommand::RunLoaded(Loaded& loaded) const {
  Inputs inputs;
  if (const int status = ParseArguments(*loaded.kernel, words, inputs)) return status;
  if (!ChooseSpecialisation(loaded, inputs)) return Report(loaded, spec.format);
  const auto binding = Bind(*loaded.kernel, inputs, /*partial=*/false, loaded.diagnostics);
  if (!binding || loaded.diagnostics.HasErrors()) return Report(loaded, spec.format);
  if (!unchecked) {
    Progress progress("checking the grid");
    GridCheckOptions options;
    options.progress = progress.Callback();
    CheckGrid(*binding, options, loaded.diagnostics);
    if (loaded.diagnostics.HasErrors()) return Report(loaded, spec.format);
  }
  if (!FitsInMemory(*binding)) return kUsage;
  InterpretOptions options;
  options.wide = wide;
  options.shuffle = shuffle;
  Progress progress("interpreting");
  options.progress = progress.Callback();
  const auto start = Clock::now();
  const InterpretResult result = Interpret(*binding, inputs.arrays, options, loaded.diagnostics);
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (!loaded.diagnostics.HasErrors()) WarnOfOtherSizes(loaded);
  const int status = Report(loaded, spec.format);
  if (status != kFine) return status;
  if (spec.format == "text") PrintSummary(*loaded.kernel, inputs, *binding, result, seconds);
  if (!out.empty() && !WriteOutputs(result, out)) return kUsage;
  return kFine;
}

}  // namespace

void AddRun(CLI::App& app, std::function<int()>& run) {
  auto command = std::make_shared<RunCommand>();
  command->spec.Add(app);
  app.add_option("ARGUMENTS", command->words,
                 "x=@x.npy      an array from a file (bf16 and f16 travel as uint16 bits)\n"
                 "y=random:1    seeded values; the shape follows from the other arguments\n"
                 "z=zeros, ones the same, constant\n"
                 "ids=3,0,5     a short array; n=300 a dimension or a scalar");
  app.add_option("-o,--out", command->out, "writes DIR/<output>.npy")->type_name("DIR");
  app.add_option("--mode", command->mode, "the engine: interpret (the oracle)")
      ->check(CLI::IsMember({"interpret"}));
  app.add_option("--shuffle", command->shuffle,
                 "visit the parallel axes in a random order with this seed")
      ->type_name("SEED");
  app.add_flag("--wide", command->wide, "compute floats in f64; nothing rounds until the outputs");
  app.add_flag("--no-grid-check", command->unchecked,
               "let the interpreter alone find what is wrong");
  app.footer(
      "Examples:\n"
      "  kiln run specs/add_vectors.yaml x=random:1 y=random:2 n=1000\n"
      "  kiln run specs/matmul.yaml:matmul_f32 x=@x.npy y=@y.npy bias=zeros -o out\n"
      "  kiln run specs/gmm.yaml:gmm_f32 lhs=random:1 rhs=random:2 sizes=3,0,5 group_offset=0 shard=3\n"
      "           m=8 k=16 n=16 --set tm=8");
  run = [command] {
    command->spec.Untangle(command->words);
    return command->Run();
  };
}

}  // namespace kiln::cli
