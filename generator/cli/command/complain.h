#pragma once

#include <string>

#include "generator/text/diagnostic.h"

/// What commands say is wrong, all of it: as text on stderr when it comes, or for `--format=json`
/// as one list on stdout when the command has ended.
namespace kiln::cli {

/// The form from now on.
void ComplainInJson(bool json);

/// `source`: of the diagnostics that have none of their own.
void Complain(const Diagnostics& diagnostics, const Source& source);
/// A list is printed even if nothing is wrong.
void ComplainOfNothing();

/// What stands in no spec. They return the exit status: kUsage, kInternal, kDiagnosed.
int UsageError(const std::string& message, const std::string& hint = "");
int InternalError(const std::string& message, const std::string& log = "");
int RuleError(const std::string& rule, const std::string& message);

/// Prints the list, if there is one.
void EndComplaints();

}  // namespace kiln::cli
