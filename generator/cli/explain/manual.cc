#include <sstream>

#include "generator/cli/explain/explain.h"
#include "generator/cli/options/command_table.h"
#include "generator/system/environment.h"

/// `kiln help --man`.
namespace kiln::cli {
namespace {

/// A line that roff takes for text, as it stands.
std::string Roff(const std::string& line) {
  std::string text;
  for (const char c : line) {
    if (c == '\\')
      text += "\\e";
    else if (c == '-')
      text += "\\-";
    else if (c == '`' || c == '\'')
      text += c == '`' ? "\\(ga" : "\\(aq";
    else
      text += c;
  }
  return (text.rfind('.', 0) == 0 ? "\\&" : "") + text;
}

void Paragraph(std::ostringstream& out, const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out << Roff(line) << "\n";
}

/// As it stands, examples and their columns.
void Verbatim(std::ostringstream& out, const std::string& text) {
  if (text.empty()) return;
  out << ".PP\n.nf\n";
  Paragraph(out, text);
  out << ".fi\n";
}

void Options(std::ostringstream& out, const CommandRow& row) {
  for (const auto* rows : {&row.positionals, &row.options}) {
    for (const OptionRow& option : *rows) {
      std::string names;
      for (const std::string& name : option.names)
        names += (names.empty() ? "" : ", ") + ("\\fB" + Roff(name) + "\\fR");
      std::string argument = option.argument;
      if (!option.choices.empty() && !option.names.empty()) {
        argument.clear();
        for (const std::string& choice : option.choices)
          argument += (argument.empty() ? "" : "|") + choice;
      }
      if (!argument.empty()) names += (names.empty() ? "\\fI" : " \\fI") + Roff(argument) + "\\fR";
      out << ".TP\n" << names << "\n";
      Paragraph(out, option.description);
    }
  }
}

void Environment(std::ostringstream& out) {
  out << ".SH ENVIRONMENT\n";
  for (const VariableRow& row : EnvironmentVariables()) {
    out << ".TP\n\\fB" << row.name << "\\fR\n";
    Paragraph(out, Plain(row.does));
    if (*row.unset != '\0') Paragraph(out, "Unless set: " + Plain(row.unset) + ".");
  }
}

}  // namespace

std::string ManualPage(const OptionList& program) {
  const auto table = CommandTable(program);
  std::ostringstream out;
  out << ".\\\" Made by `kiln help --man`.\n"
         ".TH KILN 1 \"\" \"kiln " KILN_VERSION
         "\" \"User Commands\"\n"
         ".ad l\n"
         ".SH NAME\nkiln \\- TPU\\-style block kernels as data, checked, interpreted and turned "
         "into C++\n"
         ".SH SYNOPSIS\n.B kiln\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]\n"
         ".SH DESCRIPTION\n";
  Paragraph(out, table[0].summary);
  Verbatim(out, table[0].footer);
  out << ".SH OPTIONS\n";
  Options(out, table[0]);
  out << ".SH COMMANDS\n";
  for (const CommandRow& row : table) {
    if (row.path.empty()) continue;
    out << ".SS kiln " << Roff(row.path) << "\n";
    Paragraph(out, row.summary);
    Options(out, row);
    Verbatim(out, row.footer);
  }
  Environment(out);
  out << ".SH EXIT STATUS\n"
         ".TP\n0\nfine: what was asked for is done, or is right\n"
         ".TP\n1\nerrors in a spec or of a call, which are printed; two results that differ\n"
         ".TP\n2\nusage: the command line, a file that cannot be read or written, a limit that "
         "would be passed\n"
         ".TP\n3\nan internal error, or a kernel that does not compile\n";
  return out.str();
}

}  // namespace kiln::cli
