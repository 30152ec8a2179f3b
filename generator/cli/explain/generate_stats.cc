#include <algorithm>
#include <iostream>

#include "generator/cli/command/command.h"
#include "generator/cli/explain/explain.h"
#include "generator/cli/run/run.h"
#include "generator/native/call.h"
#include "generator/native/compiler/object_code.h"
#include "generator/system/read_file.h"

/// `kiln generate --stats`: what a kernel adds to a program.
namespace kiln::cli {
namespace {

constexpr size_t kMostObject = size_t{1} << 30;

std::string WithSeparators(int64_t bytes) {
  std::string digits = std::to_string(bytes);
  for (size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

void Line(const std::string& name, int64_t bytes, const std::string& note = "") {
  const std::string digits = WithSeparators(bytes);
  std::cout << "  " << name << std::string(16 - std::min<size_t>(name.size(), 15), ' ')
            << std::string(12 - std::min<size_t>(digits.size(), 12), ' ') << digits << note << "\n";
}

void Print(const std::string& kernel, const ObjectCode& code, bool direct_only) {
  std::cout << kernel << ", bytes of object code" << (direct_only ? ", Direct alone" : "") << ":\n";
  for (const ObjectCode::Target& target : code.targets) Line(target.name, target.bytes);
  Line("any", code.common,
       code.emulator > 0 ? ", " + WithSeparators(code.emulator) + " of them the emulator's" : "");
  Line("constants", code.constants);
  Line("data", code.data);
  Line("unwinding", code.unwind);
  Line("in all", code.total());
}

}  // namespace

int PrintObjectCode(const Kernel& kernel, const Generated& text, bool direct_only) {
  Unit unit = KernelUnit(kernel, text);
  unit.files.erase(unit.main);
  unit.main = unit.name + "_object.cc";
  unit.files[unit.main] = std::string(direct_only ? "#define KILN_DIRECT_ONLY\n" : "") +
                          "#include \"" + unit.name + ".cc\"\n";
  unit.is_object = true;
  int status = kFine;
  const auto compiled = CompileUnit(unit, &status);
  if (!compiled) return status;
  std::string why;
  const auto file = ReadFile(compiled->library, kMostObject, &why);
  const auto code = file ? ReadObjectCode(*file, &why) : std::nullopt;
  if (!code) return UsageError("cannot tell the sizes of " + unit.name + ": " + why);
  Print(unit.name, *code, direct_only);
  return kFine;
}

}  // namespace kiln::cli
