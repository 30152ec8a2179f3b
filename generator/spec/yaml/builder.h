#pragma once

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/mark.h>

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "generator/spec/yaml/yaml.h"

namespace kiln {

/// Ends yaml-cpp's walk: at a limit, or at a broken flow collection.
struct StopWalk {};

struct BrokenFlow {
  uint32_t begin = 0;
  FlowCheck check;
};

/// Builds our tree from yaml-cpp's events in one pass over the text.
class YamlBuilder : public YAML::EventHandler {
 public:
  /// `shift` is added to yaml-cpp's positions, which leave a byte order mark out. `blanked` are
  /// the offsets, ascending, of collections that an earlier pass reported and blanked out.
  YamlBuilder(const std::string& text, uint32_t shift, const std::vector<uint32_t>& blanked,
              Diagnostics& diagnostics)
      : text_(text), shift_(shift), blanked_(blanked), diagnostics_(diagnostics) {}

  std::optional<YamlNode> TakeRoot() { return std::move(root_); }
  /// Why the walk was stopped, when it was for a flow collection.
  const std::optional<BrokenFlow>& broken() const { return broken_; }
  /// The offset that the walk has reached.
  uint32_t last() const { return last_; }
  bool missing_colon() const { return missing_colon_; }
  uint32_t Offset(const YAML::Mark& mark) const;

  void OnDocumentStart(const YAML::Mark& mark) override;
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnAnchor(const YAML::Mark& mark, const std::string& name) override;
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override;
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override;
  void OnSequenceEnd() override { CloseCollection(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override;
  void OnMapEnd() override { CloseCollection(); }

 private:
  struct Frame {
    YamlNode node;
    bool in_flow = false;
    bool has_key = false;
    bool key_is_bad = false;
    YamlEntry entry;  // whose value is awaited
    std::unordered_map<std::string, Span> seen;
  };

  void Error(RuleLabel rule, Span span, std::string message, std::string hint = "",
             std::vector<Note> notes = {});
  [[noreturn]] void Stop(RuleLabel rule, Span span, std::string message, std::string hint = "");

  uint32_t Start(const YAML::Mark& mark);
  uint32_t SkipProperties(uint32_t at) const;
  Span TokenAt(uint32_t at) const;
  bool IsBlanked(uint32_t at) const;
  bool AwaitsKey() const;
  uint32_t WrittenNull(uint32_t at, bool as_key) const;
  void CheckScalar(uint32_t at, const LocatedScalar& scalar);

  void Open(const YAML::Mark& mark, YamlNode::Kind kind);
  void CheckBrackets(uint32_t at, Frame& frame);
  void CloseCollection();
  void Place(YamlNode node);
  void TakeKey(Frame& top, YamlNode node);
  bool GoodKey(Frame& top, const YamlNode& node);
  bool HasColon(const YamlNode& node);
  bool IsFirst(Frame& top, const YamlNode& node);

  const std::string& text_;
  const uint32_t shift_;
  const std::vector<uint32_t>& blanked_;
  Diagnostics& diagnostics_;
  std::vector<Frame> stack_;
  std::optional<YamlNode> root_;
  std::optional<BrokenFlow> broken_;
  uint32_t last_ = 0;
  uint32_t tagged_ = UINT32_MAX;  // where a tag was last reported
  int nodes_ = 0;
  int documents_ = 0;
  bool missing_colon_ = false;
};

/// Says in our words what yaml-cpp threw: `at` is its place, `builder` how far it had come.
void ReportYamlException(const std::string& what, uint32_t at, const std::string& text,
                         const YamlBuilder& builder, Diagnostics& diagnostics);
void ReportFlow(const FlowCheck& check, const std::string& text, Diagnostics& diagnostics);

}  // namespace kiln
