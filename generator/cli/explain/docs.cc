#include <filesystem>
#include <sstream>

#include "generator/bind/host.h"
#include "generator/cli/explain/explain.h"
#include "generator/elaborate/elaborate.h"
#include "generator/spec/fields.h"
#include "generator/system/read_file.h"
#include "generator/system/write_file.h"

namespace kiln::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBegin = "<!-- generated: ";
constexpr std::string_view kBeginEnd = " -->\n";
constexpr std::string_view kEnd = "<!-- end -->";

constexpr size_t kMostPage = size_t{64} << 20;

/// A table cell: `|` would end it.
std::string Cell(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

/// The page's headings are one level above those of the parts put into it.
std::string Demoted(const std::string& markdown) {
  std::istringstream lines(markdown);
  std::string out, line;
  while (std::getline(lines, line)) out += (line.rfind("##", 0) == 0 ? "#" : "") + line + "\n";
  return out;
}

std::string GeneratedPart(const std::string& what, bool& known) {
  if (what == "fields") return Demoted(FieldReference());
  if (what == "functions") return FunctionReference();
  if (what == "host") return Demoted(HostReference());
  if (what == "rules") return RuleReference();
  if (what == "environment") return EnvironmentReference();
  known = false;
  return "";
}

/// Where the next mark at the start of a line is; npos: nowhere.
size_t FindMark(const std::string& page, size_t at) {
  size_t mark = page.find(kBegin, at);
  while (mark != std::string::npos && mark > 0 && page[mark - 1] != '\n')
    mark = page.find(kBegin, mark + 1);
  return mark;
}

/// The page with its generated parts written anew, or why not.
std::string Rewritten(const std::string& page, std::string& why) {
  std::string out;
  size_t at = 0;
  while (true) {
    const size_t begin = FindMark(page, at);
    if (begin == std::string::npos) return out + page.substr(at);
    const size_t name = begin + kBegin.size();
    const size_t name_end = page.find(kBeginEnd, name);
    const size_t end = page.find(kEnd, name);
    if (name_end == std::string::npos || end == std::string::npos || end < name_end) {
      why = "a generated part without its end";
      return page;
    }
    const std::string what = page.substr(name, name_end - name);
    bool known = true;
    out += page.substr(at, name_end + kBeginEnd.size() - at) + GeneratedPart(what, known);
    if (!known) why = "there is nothing to generate for `" + what + "`";
    at = end;
  }
}

std::string RewritePages(const fs::path& folder) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".md") continue;
    std::string why;
    const auto text = ReadFile(entry.path().string(), kMostPage, &why);
    if (!text) return entry.path().string() + ": " + why;
    const std::string page = Rewritten(*text, why);
    if (why.empty()) WriteIfChanged(entry.path().string(), page, &why);
    if (!why.empty()) return entry.path().string() + ": " + why;
  }
  return "";
}

std::string RewriteRules(const fs::path& folder) {
  fs::create_directories(folder);
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".md" && !FindRule(entry.path().stem().string()))
      fs::remove(entry.path());
  }
  for (const Rule& rule : Rules()) {
    const std::string page = RulePage(rule, RunExample(rule.failing).err);
    std::string why;
    WriteIfChanged((folder / (std::string(rule.label) + ".md")).string(), page, &why);
    if (!why.empty()) return why;
  }
  return "";
}

}  // namespace

std::string FunctionReference() {
  std::string text = "| function | in index maps, steps, shapes | gives |\n|---|---|---|\n";
  for (const Operation& f : Functions()) {
    text += "| `" + Cell(f.signature) + "` | " + (f.in_index ? "yes" : "") + " | " + Cell(f.doc) +
            " |\n";
  }
  return text;
}

std::string RuleReference() {
  std::string text = "| rule | what is wrong |\n|---|---|\n";
  for (const Rule& rule : Rules()) {
    const std::string label(rule.label);
    text += "| [" + label + "](rules/" + label + ".md) | " + Cell(rule.title) + " |\n";
  }
  return text;
}

std::string WriteDocs(const std::string& folder) {
  if (!fs::is_directory(folder)) return "`" + folder + "` is no folder";
  const std::string why = RewritePages(folder);
  return why.empty() ? RewriteRules(fs::path(folder) / "rules") : why;
}

}  // namespace kiln::cli
