#include <filesystem>
#include <iostream>
#include <new>

#include "generator/data/npy.h"
#include "generator/data/packed.h"
#include "generator/data/summary.h"
#include "generator/runner/program.h"

namespace kiln::inline KILN_ABI::runner {
namespace {

enum ExitStatus { kFine = 0, kRefused = 1, kUsage = 2 };

/// What a step finds says its rule; what the check of a call finds does not.
std::string MessageOf(const kiln_status& status) {
  const std::string message = status.message;
  const std::string rule = "[" + std::string(kiln_code_name(status.code)) + "] ";
  return message.find(rule) == std::string::npos ? rule + message : message;
}

int Report(const Kernel& kernel, const Command& command, Call& call) {
  for (int32_t a = 0; a < kernel.argument_count; ++a) {
    const Argument& argument = kernel.arguments[a];
    const Array& array = call.Read(static_cast<size_t>(a));
    const bool is_output = argument.role == Role::kOutput;
    std::cout << Row(is_output ? "output" : "input", argument.name,
                     ToString(array.dtype, array.shape), RangeText(array))
              << "\n";
    if (!is_output || command.out.empty()) continue;
    const std::string path = command.out + "/" + argument.name + ".npy";
    const std::string why = WriteNpy(path, array);
    if (!why.empty()) throw Mistake(why);
    std::cout << "  wrote " << path << "\n";
  }
  return kFine;
}

int Run(const Kernel& kernel, const std::string& program, int argc, char** argv) {
  const Command command = ParseCommand(kernel, argc, argv);
  if (command.help) {
    std::cout << HelpText(kernel, program);
    return kFine;
  }
  std::vector<Array> arrays = MakeArrays(kernel, command);
  int64_t bytes = 0;
  for (const Array& array : arrays) bytes += KernelBytes(array.dtype, array.shape).value();
  Call call(kernel, command, std::move(arrays));
  const double first = call.Run();
  if (call.status().code != 0) {
    std::cerr << program << ": " << MessageOf(call.status()) << "\n";
    return kRefused;
  }
  std::cout << kernel.name << ", " << (command.emulate ? "emulated" : "direct") << " on "
            << call.cores() << (call.cores() == 1 ? " core" : " cores");
  if (!command.benchmark) std::cout << " in " << Duration(first);
  std::cout << "\n";
  if (command.benchmark) std::cout << Benchmark(call, *command.benchmark, bytes);
  return Report(kernel, command, call);
}

}  // namespace

int Main(const Kernel& kernel, int argc, char** argv) {
  const std::string program = std::filesystem::path(argc > 0 ? argv[0] : "run").filename().string();
  try {
    return Run(kernel, program, argc, argv);
  } catch (const Mistake& mistake) {
    std::cerr << program << ": " << mistake.what() << "\n";
    if (!mistake.hint.empty()) std::cerr << "  hint: " << mistake.hint << "\n";
  } catch (const std::bad_alloc&) {
    std::cerr << program << ": there is no memory left\n";
  }
  return kUsage;
}

}  // namespace kiln::inline KILN_ABI::runner
