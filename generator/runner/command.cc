#include <algorithm>
#include <sstream>

#include "generator/data/literal.h"
#include "generator/data/summary.h"
#include "generator/runner/program.h"

namespace kiln::inline KILN_ABI::runner {
namespace {

/// The rest of a word that begins so.
std::optional<std::string> After(const std::string& word, const std::string& begin) {
  if (word.compare(0, begin.size(), begin) != 0) return std::nullopt;
  return word.substr(begin.size());
}

double PositiveOf(const std::string& text, const std::string& option) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value > 0))
    throw Mistake("`" + text + "` is no number for " + option);
  return value;
}

/// False if the word is no option.
bool TakeOption(const std::string& word, const std::optional<std::string>& next, Command& command,
                bool* took_next) {
  if (word == "-h" || word == "--help") return command.help = true;
  if (word == "--benchmark") return command.benchmark = 1.0, true;
  if (const auto seconds = After(word, "--benchmark="))
    return command.benchmark = PositiveOf(*seconds, "--benchmark"), true;
  if (const auto cores = After(word, "--cores=")) {
    const double count = PositiveOf(*cores, "--cores");
    if (count != static_cast<int32_t>(count)) throw Mistake("`" + word + "` is no number of cores");
    command.cores = static_cast<int32_t>(count);
    return true;
  }
  if (const auto mode = After(word, "--mode=")) {
    if (*mode != "direct" && *mode != "emulate")
      throw Mistake("there is no mode `" + *mode + "`", "--mode=direct or --mode=emulate");
    command.emulate = *mode == "emulate";
    return true;
  }
  if (const auto folder = After(word, "--out=")) return command.out = *folder, true;
  if (word != "-o" && word != "--out") return false;
  if (!next) throw Mistake(word + " needs a folder");
  *took_next = true;
  command.out = *next;
  return true;
}

/// "x, bias, m, n"
std::string Names(const Kernel& kernel) {
  std::string names;
  const auto add = [&](const char* name) {
    names += (names.empty() ? "" : ", ") + std::string(name);
  };
  for (int32_t a = 0; a < kernel.argument_count; ++a)
    if (kernel.arguments[a].role != Role::kOutput) add(kernel.arguments[a].name);
  for (int32_t d = 0; d < kernel.dim_count; ++d) add(kernel.dims[d].name);
  return names;
}

bool IsKnown(const Kernel& kernel, const std::string& name) {
  for (int32_t a = 0; a < kernel.argument_count; ++a)
    if (name == kernel.arguments[a].name) return kernel.arguments[a].role != Role::kOutput;
  for (int32_t d = 0; d < kernel.dim_count; ++d)
    if (name == kernel.dims[d].name) return true;
  return false;
}

std::string Limits(const Dim& dim) {
  std::string text;
  const auto add = [&](const std::string& more) { text += (text.empty() ? "" : ", ") + more; };
  if (dim.fixed >= 0) add("always " + std::to_string(dim.fixed));
  if (dim.min > 0) add("at least " + std::to_string(dim.min));
  if (dim.max >= 0) add("at most " + std::to_string(dim.max));
  if (dim.multiple_of > 1) add("a multiple of " + std::to_string(dim.multiple_of));
  return text;
}

}  // namespace

Command ParseCommand(const Kernel& kernel, int argc, char** argv) {
  Command command;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    bool took_next = false;
    const auto next = i + 1 < argc ? std::optional<std::string>(argv[i + 1]) : std::nullopt;
    if (TakeOption(word, next, command, &took_next)) {
      i += took_next;
      continue;
    }
    const size_t equals = word.find('=');
    if (word[0] == '-') throw Mistake("there is no option " + word, "--help lists them");
    if (equals == std::string::npos || equals == 0)
      throw Mistake("`" + word + "` is not name=value", "for example: x=@x.npy y=random:1 m=200");
    const std::string name = word.substr(0, equals);
    if (!IsKnown(kernel, name)) {
      throw Mistake("`" + name + "` is neither an input nor a size of `" + kernel.name + "`",
                    "these are: " + Names(kernel));
    }
    if (!command.values.emplace(name, word.substr(equals + 1)).second)
      throw Mistake("`" + name + "` is given twice");
  }
  return command;
}

std::string HelpText(const Kernel& kernel, const std::string& program) {
  std::ostringstream text;
  text << "usage: " << program << " NAME=VALUE... [OPTION...]\n";
  if (*kernel.doc != '\0') text << "\n" << kernel.doc << "\n";
  text << "\nThe arguments of " << kernel.name << ":\n";
  for (int32_t a = 0; a < kernel.argument_count; ++a) {
    const Argument& of = kernel.arguments[a];
    const char* const roles[] = {"input", "output", "scalar"};
    text << Row(roles[static_cast<int>(of.role)], of.name, of.dtype + std::string(of.shape), "")
         << "\n";
  }
  if (kernel.dim_count > 0) text << "\nSizes, where no array says them:\n";
  for (int32_t d = 0; d < kernel.dim_count; ++d)
    text << Row("size", kernel.dims[d].name, Limits(kernel.dims[d]), "") << "\n";
  text
      << "\nValues:\n"
         "  x=@x.npy             an array from a file (i4 travels as int8, u4 and floats of "
         "8 bits as uint8, of 16 as uint16)\n"
         "  x=random, random:7   seeded values, as those of `kiln run`\n"
         "  x=zeros, ones        constant ones\n"
         "  x=3,0,5              few; [[1, 0], [0, 1]] of more dimensions; n=300 a size or scalar\n"
         "\nOptions:\n"
         "  -o, --out DIR        writes DIR/OUTPUT.npy\n"
         "  --benchmark[=S]      calls it for S seconds (1), and says how long a call takes\n"
         "  --cores=N            instead of all, or of one where the arrays are small\n"
         "  --mode=emulate       on an emulated TPU, which finds mistakes; --mode=direct unless "
         "given\n"
         "  -h, --help           this text\n"
         "\nExit status: 0; 1: the kernel refuses the call; 2: the command is wrong, or a file.\n";
  std::string lines = text.str(), trimmed;
  for (const char c : lines) {  // rows end in columns that are empty
    if (c == '\n') trimmed.erase(trimmed.find_last_not_of(' ') + 1);
    trimmed += c;
  }
  return trimmed;
}

}  // namespace kiln::inline KILN_ABI::runner
