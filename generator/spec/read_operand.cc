#include <algorithm>
#include <utility>

#include "generator/spec/read_value.h"

namespace kiln {
namespace {

const YamlEntry* FindEntry(const YamlNode& mapping, std::string_view key) {
  for (const YamlEntry& entry : mapping.entries) {
    if (entry.key.value == key) return &entry;
  }
  return nullptr;
}

/// `name(` … `)` around the whole text: the text between, or nothing.
std::optional<Text> CallArguments(const Text& text, std::string_view name) {
  const std::string& value = text.value;
  if (value.compare(0, name.size(), name) != 0 || value.back() != ')') return std::nullopt;
  size_t open = name.size();
  while (open < value.size() && value[open] == ' ') ++open;
  if (open >= value.size() || value[open] != '(') return std::nullopt;
  return Slice(text, open + 1, value.size() - 1);
}

/// `halo=(1, 1)`: a pair, which the expression grammar does not have.
bool ReadHalo(Reader& reader, const Text& piece, BlockEntry& entry) {
  constexpr std::string_view kHint = "write `element(size, halo=(before, after))`";
  const size_t equals = piece.value.find('=');
  const bool is_halo = equals != std::string::npos && Trim(Slice(piece, 0, equals)).value == "halo";
  if (!is_halo) {
    reader.diagnostics.Error("syntax", piece.span(), "expected `halo=(before, after)`",
                             std::string(kHint));
    return false;
  }
  const Text pair = Trim(Slice(piece, equals + 1, piece.value.size()));
  const std::optional<Text> inside = pair.value.empty() ? std::nullopt : CallArguments(pair, "");
  const std::vector<Text> sides = inside ? SplitAtCommas(*inside) : std::vector<Text>{};
  if (sides.size() != 2) {
    reader.diagnostics.Error("syntax", pair.span(),
                             "`halo` is a pair: the elements before and "
                             "after",
                             std::string(kHint));
    return false;
  }
  entry.halo_low = ParseExpr(sides[0], reader.diagnostics);
  entry.halo_high = ParseExpr(sides[1], reader.diagnostics);
  return true;
}

void ReadForm(Reader& reader, const Text& text, const BlockForm& form, const Text& inside,
              BlockEntry& entry) {
  entry.kind = form.kind;
  const std::vector<Text> arguments = SplitAtCommas(inside);
  const size_t most = form.kind == BlockEntry::Kind::kElement ? 2 : 1;
  if (arguments.empty() || arguments.size() > most) {
    reader.diagnostics.Error("syntax", text.span(),
                             Quote(form.name) + " takes a size" + (most > 1 ? " and a halo" : ""),
                             "write `" + form.usage + "`");
    return;
  }
  entry.size = ParseExpr(arguments[0], reader.diagnostics);
  if (arguments.size() > 1) ReadHalo(reader, arguments[1], entry);
}

/// `elment(18)` would read as a call of an unknown function.
bool IsMisspeltForm(Reader& reader, const Text& text) {
  const size_t open = text.value.find('(');
  if (open == std::string::npos || text.value.back() != ')') return false;
  const Text name = Trim(Slice(text, 0, open));
  const std::string hint = DidYouMean(name.value, {"element", "bounded"});
  if (hint.empty()) return false;
  reader.diagnostics.Error("syntax", name.span(),
                           Quote(name.value) + " is no form of a block entry", hint);
  return true;
}

BlockEntry ReadBlockEntry(Reader& reader, const Text& text) {
  BlockEntry entry;
  entry.span = text.span();
  if (text.value.empty()) {
    reader.diagnostics.Error("syntax", text.span(), "a block entry is missing here",
                             "`null` squeezes a dimension, `all` takes the whole of it");
    return entry;
  }
  for (const BlockForm& form : BlockForms()) {
    if (form.name.empty()) continue;
    if (text.value == form.name && form.usage == form.name) {
      entry.kind = form.kind;
      return entry;
    }
    if (form.usage == form.name) continue;
    if (const std::optional<Text> inside = CallArguments(text, form.name)) {
      ReadForm(reader, text, form, *inside, entry);
      return entry;
    }
  }
  if (!IsMisspeltForm(reader, text)) entry.size = ParseExpr(text, reader.diagnostics);
  return entry;
}

void ReadAlternative(Reader& reader, YamlNode& node, Span place, OperandEntry& out) {
  if (node.kind == YamlNode::Kind::kBad) return;
  OperandSpec& operand = out.alternatives.emplace_back();
  operand.span = place;
  if (node.kind == YamlNode::Kind::kScalar) {
    ArrayType type;
    if (ParseArrayType(node.text, reader.diagnostics, type)) operand.array = std::move(type);
    return;
  }
  ReadKeys(reader, OperandSection(), node, place, operand);
}

}  // namespace

std::vector<BlockEntry> ReadBlock(Reader& reader, const YamlNode& node) {
  std::vector<BlockEntry> out;
  if (node.kind == YamlNode::Kind::kNull) {
    out.push_back(ReadBlockEntry(reader, node.text));
    return out;
  }
  for (const Text& piece : ReadPieces(node)) out.push_back(ReadBlockEntry(reader, piece));
  return out;
}

std::vector<OperandEntry> ReadOperands(Reader& reader, YamlEntry& operands, bool outputs) {
  std::vector<OperandEntry> out;
  for (YamlEntry& entry : operands.value.entries) {
    OperandEntry& operand = out.emplace_back();
    operand.name = ReadNewName(reader, entry.key);
    if (entry.value.kind != YamlNode::Kind::kSequence) {
      ReadAlternative(reader, entry.value, operand.name.span, operand);
      continue;
    }
    for (YamlNode& item : entry.value.items) {
      ReadAlternative(reader, item, item.span, operand);
    }
    if (entry.value.items.empty()) {
      reader.diagnostics.Error(
          "key", operand.name.span,
          "the list of alternatives of " + Quote(operand.name.name) + " is empty");
    }
  }
  if (outputs && out.empty()) {
    reader.diagnostics.Error("key", operands.key.span(), "a kernel needs at least one output",
                             "for example `z: f32[m]` below `outputs:`");
  }
  return out;
}

std::vector<ScratchSpec> ReadScratch(Reader& reader, YamlNode& node) {
  std::vector<ScratchSpec> out;
  for (YamlEntry& entry : node.entries) {
    ScratchSpec& scratch = out.emplace_back();
    scratch.name = ReadNewName(reader, entry.key);
    if (entry.value.kind == YamlNode::Kind::kScalar) {
      ArrayType type;
      if (ParseArrayType(entry.value.text, reader.diagnostics, type)) {
        scratch.array = std::move(type);
      }
    } else if (entry.value.kind == YamlNode::Kind::kMapping) {
      ReadKeys(reader, ScratchSection(), entry.value, scratch.name.span, scratch);
      const bool array = FindEntry(entry.value, "array") != nullptr;
      if (array == (FindEntry(entry.value, "semaphore") != nullptr)) {
        reader.diagnostics.Error(
            "key", scratch.name.span,
            "the buffer " + Quote(scratch.name.name) + " needs either `array` or `semaphore`",
            "for example `{array: \"i32[8]\", memory: smem}` or "
            "`{semaphore: dma, count: 2}`");
      }
    }
  }
  return out;
}

void ReadDims(Reader& reader, YamlNode& node, Spec& spec) {
  spec.dims_closed = node.kind == YamlNode::Kind::kScalar || node.kind == YamlNode::Kind::kSequence;
  for (const Text& piece : ReadPieces(node)) {
    spec.dims.emplace_back().name = ReadNewName(reader, piece);
  }
  for (YamlEntry& entry : node.entries) {
    DimSpec& dim = spec.dims.emplace_back();
    dim.name = ReadNewName(reader, entry.key);
    if (entry.value.kind == YamlNode::Kind::kScalar) {
      dim.fixed = ReadExpr(reader, entry.value);
    } else if (entry.value.kind == YamlNode::Kind::kMapping) {
      ReadKeys(reader, DimSection(), entry.value, dim.name.span, dim);
    }
  }
}

const std::vector<BlockForm>& BlockForms() {
  using Kind = BlockEntry::Kind;
  static const std::vector<BlockForm> forms = {
      {"", Kind::kSize, "bm", "An integer expression: the block's size; dims are allowed."},
      {"all", Kind::kAll, "all", "The whole dimension; its index is 0."},
      {"null", Kind::kSqueezed, "null", "Squeezed: size 1, and absent from the body's view."},
      {"element", Kind::kElement, "element(18, halo=(1, 1))",
       "The index counts elements and not blocks; offset 0 is the first element of the halo. "
       "`halo` may be left out."},
      {"bounded", Kind::kBounded, "bounded(512)",
       "The index is `ds(start, size)`: start and size are known at run time, up to the bound."},
  };
  return forms;
}

}  // namespace kiln
