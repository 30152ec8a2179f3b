#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "generator/plan/plan.h"
#include "generator/plan/stays.h"
#include "generator/render/print/cpp.h"
#include "generator/render/print/scalars.h"
#include "generator/render/template/template.h"
#include "generator/render/view/kernel_names.h"

namespace kiln::render {

/// The stages of one body as fields for templates. What the text mentions of a step has its name
/// there.
class BodyView {
 public:
  BodyView(const Plan& plan, const KernelNames& names, std::string spec_file);

  /// `stages`, and `counts`, extents that they mention.
  Fields Make(const Stages& stages);

 private:
  std::vector<Fields> List(const Stages& stages);
  Fields One(const Stage& of);
  void Loop(const stage::Loop& loop, Fields* fields);
  static std::string TagOf(Vectors by);
  void LaneLoop(const stage::Lanes& lanes, Fields* fields);
  void LanesBody(const stage::Lanes& lanes, Fields* fields);
  void SomeRows(const stage::Rows& rows, Fields* fields);
  void Squares(const stage::Rows& rows, Fields* fields);
  void ByParts(const stage::AtEdges& parts, Fields* fields);
  void EachOfRows(const stage::EachRow& each, Fields* fields);
  bool IsStreamed(BufferId buffer) const;
  std::vector<std::string> StreamedFrom(const stage::Lanes& lanes);
  std::string StreamLanes(const stage::Lanes& lanes, const std::string& tag);
  static const stage::Store* StreamedStore(const Stages& stages, BufferId streamed);
  void RequestLines(const stage::Request& request, std::vector<std::string>* lines);
  std::vector<std::string> PrefetchLines(const std::vector<Prefetch>& prefetches, LoopId lanes,
                                         const stage::Store* streamed = nullptr);
  std::string RowsToAdd(const stage::Lanes& lanes);
  void Reduction(const stage::Reduce& reduce, Fields* fields);
  void OneFold(const Fold& fold, const std::string& value, Fields* fields);
  void SeveralFolds(const std::vector<Fold>& folds, const std::vector<std::string>& values,
                    Fields* fields);
  void Condition(const stage::If& when, Fields* fields);
  void CountedLoop(const stage::For& loop, Fields* fields);
  void LoopOfTurns(const stage::While& loop, int line, Fields* fields);
  int SpecLine(const Stage& stage) const;
  void AlongLines(const stage::Along& along, std::vector<std::string>* lines);
  void AssertLines(const stage::Assert& check, int line, std::vector<std::string>* lines);
  void StoreLines(const stage::Store& store, std::vector<std::string>* lines);
  void Assignment(const stage::Assign& assign, std::vector<std::string>* lines);
  void Definition(const stage::Define& define, std::vector<std::string>* lines);
  std::string ValueOf(VariableId variable, const ElementPtr& value,
                      std::vector<std::string>* lines);
  // dot_view.cc
  void Product(const stage::Dot& dot, Fields* fields);
  std::string SourceName(const PanelSource& source);
  void MatricesOf(const stage::Dot& dot, Fields* fields);
  void TapsOf(const stage::Dot& dot, Fields* fields);
  std::optional<Place> TakeKeptSums(const stage::Dot& dot, Stages* finish);
  void StartAndFinish(const stage::Dot& dot, const ElementPtr& from, const Stages& finish,
                      Fields* fields);
  void TapLines(const stage::Tap& tap, std::vector<std::string>* lines);
  std::string SumsOf(const Place& place, bool from_zero);
  void SumsInRows(const stage::Dot& dot, Fields* fields);
  static Place CornerOf(Place place, LoopId row, LoopId col);
  void PackLines(const stage::Pack& pack, std::vector<std::string>* lines);
  void ComputedPanels(const stage::Pack& pack, Fields* fields);
  void ScaledPanels(const stage::Pack& pack, Fields* fields);
  std::string Matrix(const Place& place, LoopId row, LoopId col);
  std::string MatrixAt(const std::string& corner, const Place& place, LoopId row, LoopId col);
  // copies_text.cc
  void CopyLines(const stage::Copy& copy, int line, std::vector<std::string>* lines);
  void WaitLines(const stage::Wait& wait, int line, std::vector<std::string>* lines);
  void RangeLines(const stage::Range& range, int line, std::vector<std::string>* lines);
  void TouchLines(const stage::Touch& touch, int line, std::vector<std::string>* lines);
  std::string CutsOf(const CopyWindow& window);
  std::string PartOf(const CopyWindow& window);
  std::string Semaphore(const SemaphoreSlot& on, int line) const;

  // Vectors (vectors.cc).
  /// `whole`: the value is a statement of its own and needs no name, however long.
  std::string Vector(const ElementPtr& e, std::vector<std::string>* lines, bool whole = false);
  std::string Shortened(std::string text, std::vector<std::string>* lines);
  bool IsLoaded(const Place& from) const;
  std::string VectorLoad(const Place& from, std::vector<std::string>* lines);
  const Place* CopiedBy(const stage::Store& store) const;
  std::string TextOfLoad(const Place& from, std::vector<std::string>* lines);
  bool CountsUp(const Element& e) const;
  std::optional<size_t> ChosenDimension(const Place& place) const;
  std::string VectorOperation(const Element& e, std::vector<std::string>* lines);
  std::string VectorCast(const ElementPtr& from, DType to, std::vector<std::string>* lines);
  std::string VectorToStore(ElementPtr value, DType type, std::vector<std::string>* lines,
                            bool whole = true);
  std::string VectorToRound(const ElementPtr& e, DType to, std::vector<std::string>* lines,
                            bool whole = false);
  void VectorStore(const stage::Store& store, std::vector<std::string>* lines);
  void ForgetLoadsOf(BufferId buffer);
  void ForgetLoadsBy(VariableId variable);
  bool Varies(const Element& e) const;
  bool Varies(const Place& place) const;

  ScalarPrinter::Names MakeNames();
  std::string Visit(const element::IsVisit& is);
  std::string FirstStep();
  std::string Count(SpaceId space);
  std::string LoopName(LoopId loop);
  void LeaveLoop(LoopId loop);
  std::string VariableName(VariableId variable);
  std::string Pointer(const Place& place);
  const std::string* NameOfRow(const Place& place) const;
  std::string AccumulatorRows(const Place& place);
  std::string Stride(const Place& place, LoopId loop);
  std::string LikelyStride(const Place& place, LoopId loop);
  std::string SpaceName(SpaceId space) const;
  std::string Comment(const Stage& stage);
  std::string CommentOf(int line);
  int LineOf(const Stage& stage) const;
  std::string ExtentOf(SpaceId space);

  const Plan& plan_;
  const Kernel& kernel_;
  const KernelNames& names_;
  const std::string spec_file_;
  Scope scope_;
  ScalarPrinter scalars_;
  std::map<LoopId, std::string> loops_;  // those around
  std::set<std::string> loop_names_;     // of all loops so far
  std::map<VariableId, std::string> variables_;
  std::map<SpaceId, std::string> counts_;  // names of extents
  std::vector<std::string> count_definitions_;
  std::map<SpaceId, std::pair<std::string, std::string>> part_names_;
  struct {
    LoopId loop;
    std::string low, high;
  } part_;                                              // of the loop that is taken by parts
  LoopId lanes_;                                        // the lane loop around
  bool in_rows_ = false;                                // which is in one over some at a time,
  bool in_both_ = false;                                // or in one over those of two loops
  std::vector<BufferId> streamed_;                      // what it stores past the caches
  std::set<VariableId> vectors_;                        // variables that are vectors
  std::vector<std::pair<Place, std::string>> loaded_;   // in this lane body
  std::vector<std::pair<Place, std::string>> rows_;     // whose beginnings have names
  std::vector<std::pair<Place, std::string>> columns_;  // what gives them, in a loop over rows
  std::set<PanelsId> computed_;                         // panels of a B that are so
  std::string taps_;                                    // the list of the dot at hand
  int last_line_ = 0;
};

/// A list of `field`, each with the `comma` that follows it, which is `end` for the last.
std::vector<Fields> Enumerated(const std::string& field, const std::vector<std::string>& items,
                               const std::string& end);

/// Joins lines of text.
std::string LinesOf(const std::vector<std::string>& lines);

/// Which dimensions of a buffer have coordinates.
bool Keeps(const Buffer& buffer, size_t dimension);

}  // namespace kiln::render
