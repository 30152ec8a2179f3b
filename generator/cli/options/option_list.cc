#include "generator/cli/options/option_list.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "generator/text/utf8.h"

namespace kiln::cli {

const Option& Option::Takes(const char* what) const {
  option_->type_name(what);
  return *this;
}

const Option& Option::OneOf(const std::vector<std::string>& words) const {
  option_->check(CLI::IsMember(words));
  return *this;
}

const Option& Option::Between(int least, int most) const {
  option_->check(CLI::Range(least, most));
  return *this;
}

const Option& Option::Positive() const {
  option_->check(CLI::PositiveNumber);
  return *this;
}

const Option& Option::Required() const {
  option_->required();
  return *this;
}

const Option& Option::Hidden() const {
  option_->group("");
  return *this;
}

const Option& Option::WordByWord() const {
  option_->allow_extra_args(false);
  return *this;
}

const Option& Option::DividedBy(char separator) const {
  option_->delimiter(separator);
  return *this;
}

const Option& Option::Excludes(const Option& other) const {
  option_->excludes(other.option_);
  return *this;
}

const Option& Option::Needs(const Option& other) const {
  option_->needs(other.option_);
  return *this;
}

Option OptionList::Add(const char* names, std::string& into, const std::string& help) const {
  return Option(app_->add_option(names, into, help));
}

Option OptionList::Add(const char* names, std::vector<std::string>& into,
                       const std::string& help) const {
  return Option(app_->add_option(names, into, help));
}

Option OptionList::Add(const char* names, int& into, const std::string& help) const {
  return Option(app_->add_option(names, into, help));
}

Option OptionList::Add(const char* names, uint64_t& into, const std::string& help) const {
  return Option(app_->add_option(names, into, help));
}

Option OptionList::Add(const char* names, double& into, const std::string& help) const {
  return Option(app_->add_option(names, into, help));
}

Option OptionList::Add(const char* names, std::optional<uint64_t>& into,
                       const std::string& help) const {
  return Option(app_->add_option(names, into, help));
}

Option OptionList::Add(const char* names, std::function<bool(const std::string&)> read,
                       const char* takes, const std::string& help) const {
  const auto read_or_throw = [name = std::string(names), read = std::move(read),
                              takes = std::string(takes)](const std::string& text) {
    if (!read(text)) throw CLI::ValidationError(name, "takes " + takes);
  };
  return Option(app_->add_option_function<std::string>(names, read_or_throw, help));
}

Option OptionList::Flag(const char* names, bool& into, const std::string& help) const {
  return Option(app_->add_flag(names, into, help));
}

void OptionList::Footer(const std::string& text) const { app_->footer(text); }

OptionList OptionList::Part(const char* name, const char* summary) const {
  app_->require_subcommand(1);
  return OptionList(*app_->add_subcommand(name, summary));
}

bool OptionList::given() const { return app_->parsed(); }

OptionList OptionList::parent() const { return OptionList(*app_->get_parent()); }

Parser::Parser(const std::string& description) : app_(std::make_unique<CLI::App>(description)) {}

Parser::~Parser() = default;

void Parser::BeTool(const char* name, const char* version) const {
  app_->name(name);
  app_->failure_message([](const CLI::App* at, const CLI::Error& error) {
    return Printable(CLI::FailureMessage::simple(at, error));
  });
  app_->set_version_flag("--version", version, "print the version of Kiln and exit");
  app_->set_help_all_flag("--help-all", "help of every command");
}

void Parser::Parse(const std::string& words) const { app_->parse(words); }

std::optional<int> Parser::Parse(int argc, const char* const* argv,
                                 const std::function<void(const char*)>& complain) const {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool wrong = error.get_exit_code() != 0;  // or it is --help
    wrong&& complain ? complain(error.what()) : void(app_->exit(error));
    return wrong ? 2 : 0;
  }
  return std::nullopt;
}

}  // namespace kiln::cli
