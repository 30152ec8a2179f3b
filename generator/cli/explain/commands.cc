#include "generator/cli/explain/commands.h"

#include "generator/cli/command/command.h"

namespace kiln::cli {

const std::vector<Command>& Commands() {
  static const std::vector<Command> commands = {
      {"check", "finds what is wrong with a spec, alone or at given sizes", &AddCheck},
      {"run", "runs a spec on arrays and writes its outputs", &AddRun},
      {"bench", "measures how fast the compiled kernel is, and how fast this machine could be",
       &AddBench},
      {"tune", "looks for the fastest blocks and writes them into a lock file", &AddTune},
      {"predict", "estimates how long a TPU would take, why, and what would help", &AddPredict},
      {"explain-cost", "another name of predict", &AddPredict},
      {"report", "writes a page that shows a call: what is skipped, where the time goes",
       &AddReport},
      {"generate", "writes the C++ of a spec's kernels", &AddGenerate},
      {"compile", "compiles a kernel for other programs to load, and prints its arguments",
       &AddCompile},
      {"golden", "records what a spec computes, and checks every engine against it", &AddGolden},
      {"show", "prints a stage of a spec as stable text", &AddShow},
      {"machine", "shows what kernels take of this CPU: vectors, caches, blocks, peaks",
       &AddMachine},
      {"cache", "lists or clears the compiled kernels that are kept", &AddCache},
      {"doctor", "looks at what Kiln needs of this machine, and at what would be faster",
       &AddDoctor},
      {"explain", "says what a rule means, with a failing and a mended example", &AddExplain},
      {"new", "writes a spec that works, to start from", &AddNew},
      {"init", "writes a project that builds a kernel into a program", &AddInit},
      {"schema", "prints the JSON Schema of specs, for editors", &AddSchema},
      {"completion", "prints what makes a shell complete commands and options", &AddCompletion},
      {"help", "prints the help of a command, or lists environment variables", &AddHelp},
  };
  return commands;
}

}  // namespace kiln::cli
