#include <filesystem>
#include <iomanip>
#include <iostream>

#include "generator/cli/command/command.h"
#include "generator/syntax/names.h"
#include "generator/system/write_file.h"
#include "generator/text/shell.h"
#include "generator/text/utf8.h"

namespace kiln::cli {
namespace {

/// A spec to start from. NAME stands for the kernel's name.
struct Template {
  const char* like;
  const char* text;
  const char* sizes;  // of a `kiln check` that covers a ragged grid
  const char* run;    // arguments of a `kiln run` that works
};

constexpr const char* kMatmul = R"(# yaml-language-server: $schema=kiln.schema.json
kernel: NAME
doc: Blocked matmul, z = relu(x @ y + bias).

params: {T: bf16, bm: 128, bn: 128, bk: 256}       # fixed at generation: --set T=f32 bk=512

grid:                                # the last axis runs fastest
  i: cdiv(m, bm)
  j: cdiv(n, bn)
  l: cdiv(k, bk)                     # the contraction is last: z's block stays while l runs
dimension_semantics: parallel, parallel, arbitrary

inputs:
  x:
    array: T[m, k]                   # m, n and k are bound by the arguments
    block: bm, bk
    index: i, l                      # in blocks, not in elements
    pad: 0                           # past the edge of k, 0 * 0 is added
  y:
    array: T[k, n]
    block: bk, bn
    index: l, j
    pad: 0
  bias: {array: "f32[n]", like: z}   # block and index of z, for the dimension they share
outputs:
  z:
    array: T[m, n]
    block: bm, bn
    index: i, j
scratch:
  acc: f32[bm, bn]                   # lives as long as the grid; undefined until it is set

body: |                              # runs at every step of the grid
  when first(l):
    acc = 0
  acc += dot(x, y)                   # bf16 times bf16 gives f32

epilogue: |                          # runs at the last step of z's stay
  z = T(relu(acc + bias))
)";

constexpr const char* kElementwise = R"(# yaml-language-server: $schema=kiln.schema.json
kernel: NAME
doc: Scales a matrix and adds 1, block by block.

params: {T: f32, bm: 256, bn: 512, factor: 2.0}    # fixed at generation: --set T=bf16 factor=0.5

grid:                                # the last axis runs fastest
  i: cdiv(m, bm)
  j: cdiv(n, bn)
dimension_semantics: parallel, parallel

inputs:
  x:
    array: T[m, n]                   # m and n are bound by the arguments
    block: bm, bn
    index: i, j                      # in blocks, not in elements
outputs:
  o: {array: "T[m, n]", like: x}     # block and index of x

body: |                              # runs at every step of the grid
  o = T(x * factor + 1)              # computed in f32, also for bf16
)";

constexpr const char* kReduction = R"(# yaml-language-server: $schema=kiln.schema.json
kernel: NAME
doc: Sums each row of a matrix; a row may be longer than a block.

params: {bm: 256, bn: 512}           # fixed at generation: --set bn=1024

grid:
  i: cdiv(m, bm)
  j: cdiv(n, bn)                     # what is reduced runs last: a block that was left cannot be resumed
dimension_semantics: parallel, arbitrary

inputs:
  x:
    array: f32[m, n]                 # m and n are bound by the arguments
    block: bm, bn
    index: i, j                      # in blocks, not in elements
    pad: 0                           # what the last block reads past the edge would be summed too
outputs:
  o:
    array: f32[m, 1]
    block: bm, 1
    index: i, 0

body: |                              # runs at every step of the grid
  when first(j):                     # an output block starts undefined
    o = 0
  o += sum(x, axis=1, keep=true)
)";

constexpr const char* kGather = R"(# yaml-language-server: $schema=kiln.schema.json
kernel: NAME
doc: Gathers rows of a table by number, o[t] = table[ids[t]].

params: {T: f32}                     # fixed at generation: --set T=bf16

prefetch:                            # in SMEM before the grid starts, so that index maps can read it
  ids: i32[count]

grid:
  t: count                           # one row a step
dimension_semantics: parallel

inputs:
  table:
    array: T[rows, 1, n]             # the 1 is for real TPUs, which cut the last two dimensions into tiles
    block: [null, all, all]          # null: one of this dimension, which the body does not see
    index: ids[t], 0, 0              # which one; a number past the table's end is found before the kernel runs
outputs:
  o:
    array: T[count, 1, n]
    block: [null, all, all]
    index: t, 0, 0

body: |                              # runs at every step of the grid
  o = table
)";

constexpr Template kTemplates[] = {
    {"matmul", kMatmul, "m=200 n=100 k=300",
     "x=random:1 y=random:2 bias=random:3 m=200 n=100 k=300"},
    {"elementwise", kElementwise, "m=300 n=700", "x=random:1 m=300 n=700"},
    {"reduction", kReduction, "m=300 n=700", "x=random:1 m=300 n=700"},
    {"gather", kGather, "rows=10 n=64 ids=3,0,9,3", "table=random:1 ids=3,0,9,3 rows=10 n=64"},
};

std::vector<std::string> TemplateNames() {
  std::vector<std::string> names;
  for (const Template& one : kTemplates) names.emplace_back(one.like);
  return names;
}

std::string WithName(std::string text, const std::string& name) {
  constexpr std::string_view placeholder = "NAME";
  return text.replace(text.find(placeholder), placeholder.size(), name);
}

struct NewCommand {
  std::string name;
  std::string like = "elementwise";
  std::string folder;

  int Run() const {
    const std::string problem = NameProblem();
    if (!problem.empty()) return UsageError(problem, "a kernel is named as in C++: my_kernel");
    for (const Template& one : kTemplates) {
      if (like == one.like) return Write(one);
    }
    return kUsage;  // the parser has checked `like`
  }

 private:
  std::string NameProblem() const {
    Diagnostics found;
    if (CheckNewName({name, {}}, found)) return "";
    return found.Sorted().front().message;
  }

  int Write(const Template& from) const {
    const std::string path = (std::filesystem::path(folder) / (name + ".yaml")).string();
    FileWriter file(path, FileWriter::Existing::kKeep);
    file.Write(WithName(from.text, name));
    const std::string why = file.Finish();
    if (file.exists())
      return UsageError("`" + path + "` exists and is left as it is", "choose another name");
    if (!why.empty()) return UsageError(why);
    PrintNext(path, from);
    return kFine;
  }

  static void PrintNext(const std::string& path, const Template& from) {
    const std::string spec = ShellWord(path);
    const std::pair<std::string, const char*> commands[] = {
        {"check " + spec, "is the spec right?"},
        {"check " + spec + " " + from.sizes, "and the whole grid at these sizes?"},
        {"run " + spec + " " + from.run, "run it"},
        {"schema > kiln.schema.json", "completion in your editor"},
    };
    size_t width = 0;
    for (const auto& [command, why] : commands) width = std::max(width, command.size());
    std::cout << "wrote " << OneLine(path) << "\nnext:\n" << std::left;
    for (const auto& [command, why] : commands) {
      std::cout << "  kiln " << std::setw(static_cast<int>(width)) << command << "  # " << why
                << "\n";
    }
  }
};

}  // namespace

void AddNew(const OptionList& list, std::function<int()>& run) {
  auto command = std::make_shared<NewCommand>();
  list.Add("NAME", command->name, "the kernel's name; NAME.yaml is written").Required();
  list.Add("--like", command->like,
           "what to start from: matmul, elementwise (the default), reduction, gather")
      .Takes("KIND")
      .OneOf(TemplateNames());
  list.Add("-o,--out", command->folder, "writes DIR/NAME.yaml; never over an existing file")
      .Takes("DIR");
  list.Footer(
      "Examples:\n"
      "  kiln new scale                            an elementwise kernel\n"
      "  kiln new project --like=matmul -o specs   specs/project.yaml, a blocked matmul");
  run = [command] { return command->Run(); };
}

}  // namespace kiln::cli
