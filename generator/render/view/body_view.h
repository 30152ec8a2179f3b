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

/// The stages of one body as fields for templates. The text is that of a member function of Step,
/// so that all of the step has its name there.
class BodyView {
 public:
  BodyView(const Plan& plan, const KernelNames& names, std::string spec_file);

  /// `stages`, and `prelude`, extents that they mention.
  Fields Make(const Stages& stages);

 private:
  std::vector<Fields> List(const Stages& stages);
  Fields One(const Stage& stage);
  void Lines(const Stage& stage, std::vector<std::string>* lines);
  void Loop(const Stage& stage, Fields* fields);
  void Lanes(const Stage& stage, Fields* fields);
  const Stage* StreamedStore(const std::vector<Stage>& stages, int loop) const;
  static Place CornerOf(const Stage& pack);
  std::vector<std::string> PrefetchLines(const Stage& stage, const Stage* streamed = nullptr);
  void Reduce(const Stage& stage, Fields* fields);
  void Dot(const Stage& stage, Fields* fields);  // dot_view.cc
  std::string SumsOf(const Place& place, bool from_zero);
  void Pack(const Stage& stage, std::vector<std::string>* lines);
  // copies_text.cc
  void Copy(const Stage& stage, std::vector<std::string>* lines);
  void Wait(const Stage& stage, std::vector<std::string>* lines);
  void Range(const Stage& stage, std::vector<std::string>* lines);
  int SpecLine(const Stage& stage) const;
  void Touch(const Stage& stage, std::vector<std::string>* lines);
  std::string PartOf(const Place& place, const std::vector<WindowDim>& window);
  std::string Semaphore(const Stage& stage) const;
  void If(const Stage& stage, Fields* fields);
  void For(const Stage& stage, Fields* fields);

  // Vectors (vectors.cc).
  /// `whole`: the value is a statement of its own and needs no name, however long.
  std::string Vector(const ElementPtr& e, std::vector<std::string>* lines, bool whole = false);
  std::string VectorLoad(const Element& e, std::vector<std::string>* lines);
  std::string VectorOperation(const Element& e, std::vector<std::string>* lines);
  std::string VectorCast(const Element& e, std::vector<std::string>* lines);
  std::string VectorToRound(const ElementPtr& e, DType to, std::vector<std::string>* lines,
                            bool whole = false);
  void VectorStore(const Stage& stage, std::vector<std::string>* lines);
  bool Varies(const Element& e) const;
  bool Varies(const Place& place) const;
  bool HasWide(const Stages& stages) const;

  ScalarPrinter::Names MakeNames();
  std::string Visit(int ref, bool first);
  std::string Count(int space);
  std::string LoopName(int loop);
  void LeaveLoop(int loop);
  std::string VariableName(int variable);
  std::string Pointer(const Place& place);
  std::string AccumulatorRows(const Place& place);
  std::string Stride(const Place& place, int loop);
  std::string SpaceName(int space) const;
  std::string Comment(const Stage& stage);
  int LineOf(const Stage& stage) const;
  std::string ExtentOf(int space);

  const Plan& plan_;
  const Kernel& kernel_;
  const KernelNames& names_;
  const std::string spec_file_;
  Scope scope_;
  ScalarPrinter scalars_;
  std::map<int, std::string> loops_;  // those around
  std::set<std::string> loop_names_;  // of all loops so far
  std::map<int, std::string> variables_;
  std::map<int, std::string> counts_;  // by space: names of extents
  std::vector<std::string> count_lines_;
  int lanes_ = -1;                                     // the lane loop around
  std::set<int> vectors_;                              // variables that are vectors
  std::vector<std::pair<Place, std::string>> loaded_;  // in this lane body
  int last_line_ = 0;
};

/// Joins lines of text.
std::string LinesOf(const std::vector<std::string>& lines);

/// Which dimensions of a buffer have coordinates.
bool Keeps(const Buffer& buffer, size_t dimension);

}  // namespace kiln::render
