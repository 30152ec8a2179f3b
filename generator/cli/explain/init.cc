#include <filesystem>
#include <iostream>
#include <map>

#include "generator/cli/command/command.h"
#include "generator/cli/explain/project.h"
#include "generator/spec/fields.h"
#include "generator/syntax/names.h"
#include "generator/system/write_file.h"
#include "generator/text/shell.h"
#include "generator/text/utf8.h"

/// `kiln init`: the files of project/, with the project's name in them.
namespace kiln::cli {
namespace {

namespace fs = std::filesystem;

/// Where a file of project/ goes.
std::string PlaceOf(const std::string& file) {
  if (file == "gitignore") return ".gitignore";
  if (file == "golden.json") return "golden/scale.json";
  if (file == "test.yml") return ".github/workflows/test.yml";
  for (const char* of_editor : {"settings.json", "extensions.json", "tasks.json"})
    if (file == of_editor) return ".vscode/" + file;
  return file;
}

/// What an editor completes and checks specs and lock files by.
std::map<std::string, std::string> Schemas() {
  return {{".vscode/kiln.schema.json", JsonSchema() + "\n"},
          {".vscode/kiln-lock.schema.json", LockSchema() + "\n"}};
}

std::string WithProjectName(std::string text, const std::string& name) {
  constexpr std::string_view kPlaceholder = "@NAME@";
  for (size_t at = text.find(kPlaceholder); at != text.npos;
       at = text.find(kPlaceholder, at + name.size()))
    text.replace(at, kPlaceholder.size(), name);
  return text;
}

/// Empty, or what is wrong with it. It becomes a target of CMake and a word of commands.
std::string NameProblem(const std::string& name) {
  Diagnostics found;
  if (!CheckNewName({name, {}}, found)) return found.Sorted().front().message;
  if (name == "scale" || name == "test" || name == "all" || name == "install")
    return "`" + name + "` is the name of another target in the project";
  return "";
}

int Init(const std::string& word) {
  const fs::path folder = fs::path(word).lexically_normal();
  const std::string name =
      folder.has_filename() ? folder.filename() : folder.parent_path().filename();
  const std::string problem = NameProblem(name);
  if (!problem.empty()) return UsageError(problem, "a project is named as in C++: my_project");
  std::error_code ignored;
  if (fs::exists(folder, ignored) && !fs::is_empty(folder, ignored))
    return UsageError("`" + word + "` exists and is left as it is", "choose another name");
  std::map<std::string, std::string> texts = Schemas();
  for (const auto& [file, text] : ProjectTexts())
    texts[PlaceOf(file)] = WithProjectName(text, name);
  for (const auto& [file, text] : texts) {
    FileWriter writer((folder / file).string(), FileWriter::Existing::kKeep);
    writer.Write(text);
    const std::string why = writer.Finish();
    if (!why.empty()) return UsageError(why);
    std::cout << "wrote " << OneLine((folder / file).string()) << "\n";
  }
  std::cout << "next:\n  cd " << ShellWord(folder.string())
            << "\n  cmake -B build -DCMAKE_BUILD_TYPE=Release   # with CMAKE_PREFIX_PATH where "
               "Kiln is installed\n"
               "  cmake --build build\n"
               "  ctest --test-dir build --output-on-failure\n";
  return kFine;
}

}  // namespace

void AddInit(const OptionList& list, std::function<int()>& run) {
  auto folder = std::make_shared<std::string>();
  list.Add("NAME", *folder,
           "the project's folder, which is made; its last word is the project's name")
      .Required();
  list.Footer(
      "Examples:\n"
      "  kiln init my_project\n"
      "Writes a spec with a golden test, a program that calls its kernel, CMakeLists.txt, a "
      "workflow for\n"
      "continuous integration, a folder for VS Code that completes and checks specs, and a "
      "README.\n"
      "`kiln new` writes a spec alone.");
  run = [folder] { return Init(*folder); };
}

}  // namespace kiln::cli
