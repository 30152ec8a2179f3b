#include "generator/text/diagnostic.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

#include "generator/text/utf8.h"

namespace kiln {
namespace {

// What fits a terminal beside the gutter; a longer line is cut to a window around the caret.
constexpr int kWindowColumns = 100;
constexpr int kColumnsBeforeCaret = 40;
// Only these many bytes on either side of the caret are looked at, whatever the line's length.
constexpr size_t kWindowBytes = 600;
constexpr int kTabStop = 4;
// More than this is not read by anybody, and each costs a walk along its line.
constexpr size_t kMaxRendered = 100;
constexpr size_t kMaxNearestLength = 64;

std::string_view SeverityName(Severity severity) {
  return severity == Severity::kError ? "error" : "warning";
}

std::string PathOf(const Source& source) {
  return source.path().empty() ? "<spec>" : OneLine(source.path());
}

std::string PlaceOf(Span span, const Source& source) {
  const LineColumn at = source.Locate(span.begin);
  return PathOf(source) + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ": ";
}

/// A source line as a terminal shows it, with the columns that the caret line marks.
struct ShownLine {
  std::vector<Glyph> glyphs;
  int columns = 0;
  int caret_begin = 0, caret_end = 0;
  bool cut_before = false, cut_after = false;
};

size_t AlignToCodePoint(std::string_view text, size_t at) {
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

/// `begin` and `end` are byte offsets in `line`.
ShownLine ShowLine(std::string_view line, size_t begin, size_t end) {
  ShownLine shown;
  const size_t first = begin > kWindowBytes ? AlignToCodePoint(line, begin - kWindowBytes) : 0;
  const size_t last = AlignToCodePoint(line, std::min(line.size(), begin + kWindowBytes));
  shown.cut_before = first > 0;
  shown.cut_after = last < line.size();
  shown.caret_begin = -1;
  for (size_t at = first; at < last;) {
    const CodePoint point = DecodeUtf8(line, at);
    const auto length = static_cast<size_t>(point.length);
    if (at <= begin && begin < at + length) shown.caret_begin = shown.columns;
    Glyph glyph = GlyphOf(point, line.substr(at, length));
    if (line[at] == '\t') {
      const int width = kTabStop - shown.columns % kTabStop;
      glyph = {std::string(static_cast<size_t>(width), ' '), width};
    }
    shown.columns += glyph.columns;
    if (at < end) shown.caret_end = shown.columns;
    shown.glyphs.push_back(std::move(glyph));
    at += length;
  }
  if (shown.caret_begin < 0) shown.caret_begin = shown.columns;  // at the line's end
  shown.caret_end = std::max(shown.caret_end, shown.caret_begin + 1);
  return shown;
}

/// Keeps the columns around the caret of a line that is too wide.
ShownLine Window(const ShownLine& line) {
  const int from = std::clamp(line.caret_begin - kColumnsBeforeCaret, 0,
                              std::max(0, line.columns - kWindowColumns));
  const int to = from + kWindowColumns;
  ShownLine out;
  out.cut_before = line.cut_before;
  out.cut_after = line.cut_after;
  int column = 0, skipped = 0;
  for (const Glyph& glyph : line.glyphs) {
    const int next = column + glyph.columns;
    if (column < from) {
      out.cut_before = true;
      skipped = next;
    } else if (next > to) {
      out.cut_after = true;
    } else {
      out.glyphs.push_back(glyph);
      out.columns = next - skipped;
    }
    column = next;
  }
  out.caret_begin = line.caret_begin - skipped;
  out.caret_end = std::min(line.caret_end - skipped, std::max(out.columns, out.caret_begin + 1));
  return out;
}

std::string Gutter(const std::string& number) {
  const size_t width = std::max<size_t>(4, number.size());
  return std::string(width - number.size(), ' ') + number + " |";
}

std::string Snippet(Span span, const Source& source) {
  if (source.text().empty()) return "";
  const int number = source.Locate(span.begin).line;
  const std::string_view line = source.Line(number);
  const size_t start = source.LineStart(number);
  const size_t begin = std::min(line.size(), span.begin - std::min<size_t>(start, span.begin));
  const size_t end = std::clamp(span.end - std::min<size_t>(start, span.end), begin, line.size());
  ShownLine shown = Window(ShowLine(line, begin, end));

  std::string text, carets;
  if (shown.cut_before) text = "…", carets = " ";
  for (const Glyph& glyph : shown.glyphs) text += glyph.text;
  if (shown.cut_after) text += "…";
  carets += std::string(static_cast<size_t>(shown.caret_begin), ' ') + '^' +
            std::string(static_cast<size_t>(shown.caret_end - shown.caret_begin - 1), '~');
  const std::string label = std::to_string(number);
  return Gutter(label) + (text.empty() ? "" : " " + text) + "\n" +
         Gutter(std::string(label.size(), ' ')) + " " + carets + "\n";
}

/// Continues the lines of a long hint under its first word.
std::string Indent(const std::string& text, int columns) {
  std::string out;
  for (const char c : text) {
    out += c;
    if (c == '\n') out += std::string(static_cast<size_t>(columns), ' ');
  }
  return out;
}

std::string MessageOf(const Diagnostic& diagnostic) {
  const int more = diagnostic.elsewhere;
  return Printable(diagnostic.message) +
         (more == 0   ? ""
          : more == 1 ? " (and at 1 more place)"
                      : " (and at " + std::to_string(more) + " more places)");
}

nlohmann::ordered_json PlaceJson(Span span, const Source* in) {
  if (!in) return {{"path", ""}, {"line", 0}, {"column", 0}, {"end_line", 0}, {"end_column", 0}};
  const Source& source = *in;
  const LineColumn begin = source.Locate(span.begin);
  const LineColumn end = source.Locate(std::max(span.begin, span.end));
  return {{"path", PathOf(source)},
          {"line", begin.line},
          {"column", begin.column},
          {"end_line", end.line},
          {"end_column", end.column}};
}

/// Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours.
int EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<int>> cost(a.size() + 1, std::vector<int>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) cost[i][0] = static_cast<int>(i);
  for (size_t j = 0; j <= b.size(); ++j) cost[0][j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const int replaced = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

bool SameButForCase(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

void Diagnostics::Error(RuleLabel rule, Span span, std::string message, std::string hint,
                        std::vector<Note> notes) {
  Add({Severity::kError, rule, span, std::move(message), std::move(hint), std::move(notes),
       nullptr});
}

void Diagnostics::Warning(RuleLabel rule, Span span, std::string message, std::string hint) {
  Add({Severity::kWarning, rule, span, std::move(message), std::move(hint), {}, nullptr});
}

void Diagnostics::ErrorOnce(RuleLabel rule, Span span, std::string message, std::string hint) {
  const auto known = std::find_if(found_.begin(), found_.end(), [&](const Diagnostic& d) {
    return d.rule == rule && d.message == message && d.severity == Severity::kError;
  });
  if (known == found_.end())
    Error(rule, span, std::move(message), std::move(hint));
  else
    ++known->elsewhere;
}

void Diagnostics::Add(Diagnostic diagnostic) {
  if (diagnostic.severity == Severity::kError) ++errors_;
  found_.push_back(std::move(diagnostic));
}

std::vector<Diagnostic> Diagnostics::Sorted() const {
  std::vector<Diagnostic> sorted;
  std::set<std::tuple<const Source*, std::string_view, uint32_t, uint32_t, std::string_view>> seen;
  for (const Diagnostic& d : found_) {
    if (seen.emplace(d.source.get(), d.rule, d.span.begin, d.span.end, d.message).second)
      sorted.push_back(d);
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const Diagnostic& a, const Diagnostic& b) {
    const bool other_a = a.source != nullptr, other_b = b.source != nullptr;
    return std::tie(other_a, a.span.begin) < std::tie(other_b, b.span.begin);
  });
  return sorted;
}

std::string Render(const Diagnostic& diagnostic, const Source& run) {
  const Source& source = diagnostic.source ? *diagnostic.source : run;
  std::string out = PlaceOf(diagnostic.span, source);
  out += std::string(SeverityName(diagnostic.severity)) + "[" + Printable(diagnostic.rule) + "]: ";
  out += MessageOf(diagnostic) + "\n" + Snippet(diagnostic.span, source);
  if (!diagnostic.hint.empty()) out += "  hint: " + Indent(Printable(diagnostic.hint), 8) + "\n";
  for (const Note& note : diagnostic.notes) {
    out += PlaceOf(note.span, source) + "note: " + Printable(note.message) + "\n";
    out += Snippet(note.span, source);
  }
  return out;
}

std::string Render(const Diagnostics& diagnostics, const Source& source) {
  std::string out;
  const std::vector<Diagnostic> sorted = diagnostics.Sorted();
  const size_t shown = std::min(sorted.size(), kMaxRendered);
  for (size_t i = 0; i < shown; ++i) out += Render(sorted[i], source);
  if (shown < sorted.size()) {
    out += PathOf(source) + ": " + std::to_string(sorted.size() - shown) + " more not shown\n";
  }
  return out;
}

nlohmann::ordered_json DiagnosticsJson(const Diagnostics& diagnostics, const Source* run) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const Diagnostic& d : diagnostics.Sorted()) {
    const Source* source = d.source ? d.source.get() : run;
    nlohmann::ordered_json entry = PlaceJson(d.span, source);
    entry["severity"] = std::string(SeverityName(d.severity));
    entry["rule"] = Printable(d.rule);
    entry["message"] = MessageOf(d);
    entry["hint"] = Printable(d.hint);
    entry["notes"] = nlohmann::ordered_json::array();
    for (const Note& note : d.notes) {
      nlohmann::ordered_json place = PlaceJson(note.span, source);
      place["message"] = Printable(note.message);
      entry["notes"].push_back(std::move(place));
    }
    out.push_back(std::move(entry));
  }
  return out;
}

std::string RenderJson(const Diagnostics& diagnostics, const Source& run) {
  return DiagnosticsJson(diagnostics, &run).dump(2);
}

std::string Nearest(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.size() > kMaxNearestLength) return "";
  // A third of the letters may be wrong, so a name of one letter only matches its other case.
  int best = static_cast<int>(word.size() + 1) / 3 + 1;
  std::string nearest;
  for (const std::string& candidate : candidates) {
    if (candidate.empty() || candidate.size() > kMaxNearestLength) continue;
    const int distance = SameButForCase(word, candidate) ? 0 : EditDistance(word, candidate);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string DidYouMean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string nearest = Nearest(word, candidates);
  return nearest.empty() ? "" : "did you mean `" + nearest + "`?";
}

}  // namespace kiln
