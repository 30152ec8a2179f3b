#include <algorithm>
#include <csignal>
#include <exception>
#include <iostream>

#include "generator/cli/command.h"
#include "generator/data/interrupt.h"
#include "generator/front/utf8.h"

namespace {

/// What was printed may not have arrived: standard output may be a file on a full disk.
int Delivered(int status) {
  std::cout.flush();
  if (std::cout.good()) return status;
  return std::max(status, kiln::cli::UsageError("cannot write all of standard output",
                                                "is it closed, or is its disk full?"));
}

int RunTool(int argc, char** argv) {
  CLI::App app{"Kiln: TPU-style kernels as data, checked, interpreted and turned into C++."};
  app.name("kiln");
  app.require_subcommand(1);
  app.failure_message([](const CLI::App* at, const CLI::Error& error) {
    return kiln::Printable(CLI::FailureMessage::simple(at, error));
  });
  app.set_help_all_flag("--help-all", "help of every command");
  app.footer(
      "Start here:\n"
      "  kiln new scale --like=elementwise          a first spec\n"
      "  kiln check scale.yaml                      is it right?\n"
      "  kiln run scale.yaml x=random:1 m=100 n=50  run it\n"
      "Exit status: 0 fine, 1 findings, 2 usage, 3 internal error.");
  std::function<int()> chosen;
  std::vector<std::function<int()>> runs(kiln::cli::Commands().size());
  size_t i = 0;
  for (const auto& command : kiln::cli::Commands()) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    std::function<int()>& run = runs[i++];
    command.add(*sub, run);
    sub->callback([&chosen, &run] { chosen = run; });
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kiln::cli::kFine : kiln::cli::kUsage;
  }
  return Delivered(chosen());
}

}  // namespace

int main(int argc, char** argv) {
  kiln::EndOnInterrupt();
  // A file that may grow no more is an error of whoever writes it, as a full disk is.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return RunTool(argc, argv);
  } catch (const std::bad_alloc&) {
    std::cerr << "kiln: out of memory\n";
  } catch (const std::exception& error) {
    std::cerr << "kiln: internal error: " << error.what() << "\n";
  }
  return kiln::cli::kInternal;
}
