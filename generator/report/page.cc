#include "generator/report/page.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "generator/report/report.h"

namespace kiln {
namespace {

/// JSON that stays JSON inside of a script element: nothing in it closes the element, opens a
/// comment or ends a line of script. Text that is not UTF-8 is replaced.
std::string ScriptText(const nlohmann::ordered_json& data) {
  const std::string json =
      data.dump(-1, ' ', /*ensure_ascii=*/true, nlohmann::ordered_json::error_handler_t::replace);
  std::string text;
  text.reserve(json.size());
  for (const char c : json) {
    switch (c) {
      case '<':
        text += "\\u003c";
        break;
      case '>':
        text += "\\u003e";
        break;
      case '&':
        text += "\\u0026";
        break;
      default:
        text += c;
    }
  }
  return text;
}

/// The scripts in the order of their names: `1_unpack.js` comes first.
std::string Scripts() {
  std::string all;
  for (const auto& [name, text] : PageTexts()) {
    if (name.ends_with(".js")) all += text;
  }
  return all;
}

}  // namespace

std::string ReportPage(const nlohmann::ordered_json& data) {
  const std::map<std::string, std::string> parts = {
      {"{{style}}", PageTexts().at("style.css")},
      {"{{data}}", ScriptText(data)},
      {"{{script}}", Scripts()},
  };
  const std::string& frame = PageTexts().at("page.html");
  std::string page;
  size_t done = 0;
  // One pass, so that nothing in a part is taken for a place.
  for (size_t at = frame.find("{{"); at != std::string::npos; at = frame.find("{{", done)) {
    const size_t end = frame.find("}}", at) + 2;
    page += frame.substr(done, at - done);
    page += parts.at(frame.substr(at, end - at));
    done = end;
  }
  return page + frame.substr(done);
}

}  // namespace kiln
