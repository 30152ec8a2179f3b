// Whatever a spec calls its things, its names never collide with the words of the text around them.
#include "generator/syntax/names.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "generator/render/print/cpp.h"
#include "tests/catch.h"
#include "tests/cli/tool.h"

namespace kiln::render {
namespace {

using test::fs::path;

bool IsLetterOrDigit(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Without comments, literals and preprocessor lines.
std::string Bare(std::string text) {
  std::string bare;
  for (size_t at = 0; at < text.size(); ++at) {
    const bool line_begins = at == 0 || text[at - 1] == '\n';
    if (text.compare(at, 2, "//") == 0 || (line_begins && text[at] == '#')) {
      at = std::min(text.find('\n', at), text.size() - 1);
    } else if (text.compare(at, 2, "/*") == 0) {
      at = text.find("*/", at) + 1;
      continue;
    } else if (text[at] == '"') {
      for (++at; text[at] != '"'; ++at) at += text[at] == '\\';
      continue;
    }
    bare += text[at];
  }
  return bare;
}

/// Words that are called, or are types: no name is given by the text to what it calls.
std::set<std::string> CallsAndTypes(const std::string& bare) {
  std::set<std::string> words;
  for (size_t at = 0; at < bare.size();) {
    if (!IsLetterOrDigit(bare[at])) {
      ++at;
      continue;
    }
    size_t end = at;
    while (end < bare.size() && IsLetterOrDigit(bare[end])) ++end;
    const std::string word = bare.substr(at, end - at);
    const bool qualified = at > 0 && (bare[at - 1] == '.' || bare[at - 1] == ':');
    const size_t space = end + (bare[end] == '&' || bare[end] == '*');
    const bool before_name = bare[space] == ' ' && IsLetterOrDigit(bare[space + 1]);
    const bool used = bare[end] == '(' || bare[end] == '<' || bare[end] == '{' || before_name;
    if (!qualified && used && !std::isdigit(static_cast<unsigned char>(word[0])))
      words.insert(word);
    at = end;
  }
  return words;
}

/// Names of the spec: what Call and Step hold.
std::set<std::string> Members(const std::string& bare) {
  std::set<std::string> members;
  for (const char* name : {"struct Call {", "struct Step {"}) {
    for (size_t at = bare.find(name); at != std::string::npos; at = bare.find(name, at + 1)) {
      const size_t behind = std::min(bare.find("\n};", at), bare.find("\n  HWY_INLINE", at));
      const std::string body = bare.substr(at, behind - at);
      for (size_t end = body.find_first_of(",;"); end != std::string::npos;
           end = body.find_first_of(",;", end + 1)) {
        size_t begin = end;
        while (IsLetterOrDigit(body[begin - 1])) --begin;
        members.insert(body.substr(begin, end - begin));
      }
    }
  }
  return members;
}

bool MayBeASpecsName(const std::string& word) {
  Diagnostics found;
  return CheckNewName({word, {}}, found);
}

TEST_CASE("what generated code calls cannot be hidden by a name of a spec") {
  for (const auto& file : test::fs::directory_iterator(path(KILN_SOURCE_DIR) / "generated")) {
    if (file.path().extension() != ".cc") continue;
    const std::string bare = Bare(test::ReadText(file.path()));
    const std::string kernel = file.path().stem().string();
    const std::set<std::string> members = Members(bare);
    REQUIRE(members.size() > 2);
    for (const std::string& word : CallsAndTypes(bare)) {
      const bool of_spec = members.count(word) || word.find(kernel) != std::string::npos;
      INFO(kernel << ": " << word);
      CHECK((of_spec || Scope().New(word) != word || !MayBeASpecsName(word)));
    }
  }
}

TEST_CASE("names that templates make of others are not given to anything else") {
  Scope scope;
  CHECK(scope.New("x") == "x");
  CHECK(scope.New("x") == "x_0");
  CHECK(scope.New("at") == "at_2");  // at_0 and at_1 are taken, too
  CHECK(scope.New("") == "value_0");
  CHECK(scope.New("first_x") == "first_x_0");
  CHECK(scope.New("last_x") == "last_x_0");
  CHECK(scope.New("x_memory") == "x_memory_0");
  CHECK(scope.New("x_count") == "x_count_0");
  CHECK(scope.New("x_tensor") == "x_tensor_0");
  CHECK(scope.New("x_index") == "x_index_0");
}

}  // namespace
}  // namespace kiln::render
