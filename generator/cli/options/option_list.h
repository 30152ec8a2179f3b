// What a command takes, as its file declares it. CLI11 parses it and writes the help; its header
// alone takes three seconds to compile, so that those who declare options do without it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace kiln::cli {

/// An option that has been declared; each of these says more of it.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  /// What help calls its value.
  const Option& Takes(const char* what) const;
  const Option& OneOf(const std::vector<std::string>& words) const;
  const Option& Between(int least, int most) const;
  const Option& Positive() const;
  const Option& Required() const;
  /// No help mentions it.
  const Option& Hidden() const;
  /// Of a list: one word each time, so that arguments may follow.
  const Option& WordByWord() const;
  /// Of a list: a word is several.
  const Option& DividedBy(char separator) const;
  const Option& Excludes(const Option& other) const;
  const Option& Needs(const Option& other) const;

 private:
  CLI::Option* option_;
};

/// The options, arguments and parts of a command. Lives as long as what it was made of.
class OptionList {
 public:
  explicit OptionList(CLI::App& app) : app_(&app) {}

  /// An option, or an argument where `names` begins with no dash. Its value goes into what `into`
  /// is.
  Option Add(const char* names, std::string& into, const std::string& help) const;
  Option Add(const char* names, std::vector<std::string>& into, const std::string& help) const;
  Option Add(const char* names, int& into, const std::string& help) const;
  Option Add(const char* names, uint64_t& into, const std::string& help) const;
  Option Add(const char* names, double& into, const std::string& help) const;
  Option Add(const char* names, std::optional<uint64_t>& into, const std::string& help) const;
  /// One that is read by a function; where that returns false, it `takes` something else.
  Option Add(const char* names, std::function<bool(const std::string&)> read, const char* takes,
             const std::string& help) const;
  Option Flag(const char* names, bool& into, const std::string& help) const;
  /// What stands below the options in its help.
  void Footer(const std::string& text) const;

  /// A command of this one, which has to be given one.
  OptionList Part(const char* name, const char* summary) const;
  /// Whether that one was.
  bool given() const;
  OptionList parent() const;
  CLI::App& app() const { return *app_; }

 private:
  CLI::App* app_;
};

/// A command line's parser: of the tool, of one of its commands alone, or of a test program.
class Parser {
 public:
  explicit Parser(const std::string& description = "");
  ~Parser();
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  OptionList list() const { return OptionList(*app_); }
  /// A program of many commands: --version and --help-all.
  void BeTool(const char* name, const char* version) const;

  /// They are right, or this throws.
  void Parse(const std::string& words) const;
  /// Nothing if they are right. Otherwise help has been printed, or what is wrong, unless
  /// `complain` does that, and this is the exit status: 0 or 2.
  std::optional<int> Parse(int argc, const char* const* argv,
                           const std::function<void(const char*)>& complain = nullptr) const;

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace kiln::cli
