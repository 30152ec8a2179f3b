#pragma once

#include <map>
#include <string>

#include "generator/check/rules.h"
#include "generator/cli/options/option_list.h"
#include "generator/generate/generate.h"

namespace kiln::cli {

/// What a command answers.
struct Answer {
  int status = 0;
  std::string out;  // standard output
  std::string err;  // diagnostics
};

/// Runs an example's command in this process, so that what is shown is what the tool says.
Answer RunExample(const RuleExample& example);

/// Compiles a kernel to an object file for all instruction sets, and prints what that holds. The
/// exit status.
int PrintObjectCode(const Kernel& kernel, const Generated& text, bool direct_only);

/// A manual page in roff.
std::string ManualPage(const OptionList& program);

/// Tables in Markdown: what bodies and `prepare` may call, rules, environment variables.
std::string FunctionReference();
std::string RuleReference();
std::string EnvironmentReference();

/// Rewrites the generated parts of the manual in `folder`: the text between
/// `<!-- generated: WHAT -->` and `<!-- end -->` in its pages, and `rules/<label>.md`.
/// Empty, or what went wrong.
std::string WriteDocs(const std::string& folder);

}  // namespace kiln::cli
