#include "generator/interpret/copies.h"

#include <algorithm>

#include "generator/interpret/grid.h"
#include "generator/interpret/hbm.h"

namespace kiln::interpret {
namespace {

bool StaysInHbm(const Run& run, int ref) { return RefAt(run, ref).memory == Memory::kAny; }

Region RegionOf(const Run& run, int ref, const Box& box) {
  const bool hbm = StaysInHbm(run, ref);
  return {hbm, hbm ? ArrayIndex(run, ref) : ref, box.start, box.size};
}

bool Overlap(const Region& a, const Region& b) {
  if (a.hbm != b.hbm || a.index != b.index) return false;
  for (int d = 0; d < a.start.rank(); ++d) {
    if (a.size[d] == 0 || b.size[d] == 0) return false;
    if (a.start[d] >= b.start[d] + b.size[d] || b.start[d] >= a.start[d] + a.size[d]) return false;
  }
  return true;
}

/// "arrived[1, 0]"
std::string SlotName(const Run& run, int semaphore, const std::vector<int64_t>& slot) {
  const Ref& ref = RefAt(run, semaphore);
  if (ref.CountOfSemaphores() == 1) return ref.name;
  std::string text;
  for (const int64_t at : slot) text += (text.empty() ? "[" : ", ") + std::to_string(at);
  return ref.name + text + "]";
}

[[noreturn]] void FailTouch(Run& run, int ref, const char* verb, const Copy& copy, Span span) {
  std::vector<Note> notes;
  if (span.begin != copy.span.begin) notes.push_back({copy.span, "the copy starts here"});
  Fail(run, "sync", span,
       "`" + RefAt(run, ref).name + "` is " + verb + AtPoint(run) + " while a copy " +
           (copy.target_ref == ref ? "into" : "from") + " it is in flight",
       "write `wait " + SlotName(run, copy.semaphore, copy.slot) + "` before it", notes);
}

void CheckRegionRead(Run& run, int ref, const Region& region, Span span) {
  for (const Copy& copy : run.copies) {
    if (Overlap(region, copy.target)) FailTouch(run, ref, "read", copy, span);
  }
}

void CheckRegionWrite(Run& run, int ref, const Region& region, Span span) {
  for (const Copy& copy : run.copies) {
    if (Overlap(region, copy.target) || Overlap(region, copy.source)) {
      FailTouch(run, ref, "written", copy, span);
    }
  }
}

std::string ExtentsText(const Dims& extents) {
  std::string text;
  for (const int64_t extent : extents) text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "[" + text + "]";
}

Box WindowBox(Run& run, const Window& window) {
  const Block& block = BlockAt(run, window.ref);
  const bool hbm = StaysInHbm(run, window.ref);
  return BoxOf(run, window.subscripts, hbm ? block.array_extents : block.tile.extents,
               {window.ref});
}

/// The elements of an array's window in a compact tile of the window's view.
Transfer TransferOf(const Block& block, const Box& box) {
  Transfer transfer{box.size, block.array_strides, ContiguousStrides(box.size)};
  for (int d = 0; d < box.start.rank(); ++d) {
    transfer.array_offset += box.start[d] * block.array_strides[d];
  }
  return transfer;
}

int64_t BytesOf(const Run& run, int ref, const Box& box) {
  const DType dtype = RefAt(run, ref).dtype;
  const int rank = box.view.rank();
  const int64_t row = rank == 0 ? 1 : box.view[rank - 1];
  return row == 0 ? 0 : Product(box.view) / row * RowBytes(dtype, row);
}

Tile ReadWindow(Run& run, const Window& window, const Box& box) {
  const Block& block = BlockAt(run, window.ref);
  if (!StaysInHbm(run, window.ref)) {
    return Compact(SliceTile(block.tile, window.subscripts, box));
  }
  MarkRead(run, {window.ref, box.start, box.size, true, window.span}, true);
  Tile tile = MakeTile(IsFloat(RefAt(run, window.ref).dtype), box.view);
  Load(ArrayAt(run, window.ref), TransferOf(block, box), tile);
  return tile;
}

void CheckDefined(Run& run, const Window& window, const Tile& data) {
  if (!data.origins) return;
  const OriginId* begin = data.origins.get();
  const OriginId* end = begin + data.cells;
  const OriginId* found = std::find_if(begin, end, [](OriginId o) { return o != kDefined; });
  if (found == end) return;
  FailUndefined(run, window.span,
                "an element of `" + RefAt(run, window.ref).name + "` that is copied", *found);
}

std::vector<int64_t> SlotOf(Run& run, int semaphore, const std::vector<NodePtr>& indices) {
  const Ref& ref = RefAt(run, semaphore);
  std::vector<int64_t> slot;
  for (size_t d = 0; d < indices.size(); ++d) {
    slot.push_back(EvaluateIndex(run, *indices[d], "a semaphore's index"));
    if (slot[d] >= 0 && slot[d] < ref.counts[d]) continue;
    const bool only = indices.size() == 1;
    Fail(run, "index-range", indices[d]->span,
         "the subscript " + std::to_string(slot[d]) + " of `" + ref.name + "`" +
             (only ? "" : " (dimension " + std::to_string(d) + ")") + AtPoint(run) +
             " is out of range: there are " + std::to_string(ref.counts[d]) +
             (only ? " semaphores" : ""));
  }
  return slot;
}

/// Another core may write the other half of a byte of an array.
void CheckWholeBytes(Run& run, const Window& window, const Box& box) {
  const int last = box.start.rank() - 1;
  if (last < 0 || !StaysInHbm(run, window.ref) || !IsPacked(RefAt(run, window.ref).dtype)) return;
  const int64_t start = box.start[last], end = start + box.size[last];
  if (start % 2 == 0 && (end % 2 == 0 || end == BlockAt(run, window.ref).array_extents[last]))
    return;
  Fail(run, "index-range", window.span,
       "a copy writes elements " + std::to_string(start) + " to " + std::to_string(end - 1) +
           " of dimension " + std::to_string(last) + " of `" + RefAt(run, window.ref).name + "`" +
           AtPoint(run) + ", which are not whole bytes");
}

}  // namespace

void StartCopy(Run& run, const action::Copy& statement, Span span) {
  Copy copy;
  copy.semaphore = statement.semaphore;
  copy.slot = SlotOf(run, statement.semaphore, statement.slot);
  copy.span = span;
  copy.target_ref = statement.target.ref;
  const Box from = WindowBox(run, statement.source);
  copy.box = WindowBox(run, statement.target);
  if (!(from.view == copy.box.view)) {
    Fail(run, "index-range", span,
         "the two ends of the copy differ in size" + AtPoint(run) + ": " + ExtentsText(from.view) +
             " and " + ExtentsText(copy.box.view));
  }
  CheckWholeBytes(run, statement.target, copy.box);
  copy.source = RegionOf(run, statement.source.ref, from);
  copy.target = RegionOf(run, statement.target.ref, copy.box);
  copy.subscripts = &statement.target.subscripts;
  CheckRegionRead(run, statement.source.ref, copy.source, statement.source.span);
  CheckRegionWrite(run, statement.target.ref, copy.target, statement.target.span);
  if (Overlap(copy.source, copy.target)) {
    Fail(run, "sync", span, "the two ends of the copy overlap" + AtPoint(run));
  }
  copy.data = ReadWindow(run, statement.source, from);
  CheckDefined(run, statement.source, copy.data);
  copy.data.origins = nullptr;
  copy.bytes = BytesOf(run, statement.target.ref, copy.box);
  run.copies.push_back(std::move(copy));
}

namespace {

using InFlight = std::vector<Copy>::iterator;

InFlight OldestOn(Run& run, int semaphore, const std::vector<int64_t>& slot) {
  return std::find_if(run.copies.begin(), run.copies.end(), [&](const Copy& copy) {
    return copy.semaphore == semaphore && copy.slot == slot;
  });
}

void Arrive(Run& run, InFlight found) {
  const Copy copy = std::move(*found);
  run.copies.erase(found);
  Block& block = BlockAt(run, copy.target_ref);
  if (copy.target.hbm) {
    MarkWrite(run, {copy.target_ref, copy.box.start, copy.box.size, true, copy.span});
    Store(ArrayAt(run, copy.target_ref), TransferOf(block, copy.box), copy.data);
    return;
  }
  MakeWritable(block.tile);
  Paste(block.tile, SliceTile(block.tile, *copy.subscripts, copy.box), copy.data, nullptr);
}

}  // namespace

void WaitForCopy(Run& run, const action::Wait& statement, Span span) {
  const int semaphore = statement.semaphore;
  const std::vector<int64_t> slot = SlotOf(run, semaphore, statement.slot);
  const auto oldest = [&] {
    const InFlight found = OldestOn(run, semaphore, slot);
    if (found != run.copies.end()) return found;
    Fail(run, "sync", span,
         "nothing to wait for" + AtPoint(run) + ": no copy on `" + SlotName(run, semaphore, slot) +
             "` is in flight, so this would wait for ever");
  };
  if (!statement.window) return Arrive(run, oldest());
  const Box box = WindowBox(run, *statement.window);
  int64_t left = BytesOf(run, statement.window->ref, box);
  while (left > 0) {
    const InFlight copy = oldest();
    const int64_t rest = copy->bytes - copy->waited;
    copy->waited += std::min(left, rest);
    if (left < rest) return;
    left -= rest;
    Arrive(run, copy);
  }
  // Copies of nothing have arrived.
  for (InFlight next = OldestOn(run, semaphore, slot);
       next != run.copies.end() && next->bytes == next->waited;
       next = OldestOn(run, semaphore, slot))
    Arrive(run, next);
}

void CheckRead(Run& run, int ref, const Box& box, Span span) {
  CheckRegionRead(run, ref, RegionOf(run, ref, box), span);
}

void CheckWrite(Run& run, int ref, const Box& box, Span span) {
  CheckRegionWrite(run, ref, RegionOf(run, ref, box), span);
}

void CheckMove(Run& run, int ref, const Dims& array_start, const Dims& array_size) {
  if (run.copies.empty()) return;
  const Region block{false, ref, Dims(BlockAt(run, ref).tile.rank()),
                     BlockAt(run, ref).tile.extents};
  const Region array{true, ArrayIndex(run, ref), array_start, array_size};
  const bool output = RefAt(run, ref).role == Role::kOutput;
  for (const Copy& copy : run.copies) {
    const bool read_too = output && Overlap(copy.source, array);
    const bool touches = Overlap(copy.source, block) || Overlap(copy.target, block) ||
                         Overlap(copy.target, array) || read_too;
    if (touches) FailTouch(run, ref, output ? "copied out" : "copied in", copy, copy.span);
  }
}

void CheckNoCopies(Run& run, const std::string& when) {
  if (run.copies.empty()) return;
  const Copy& copy = run.copies.front();
  const std::string slot = SlotName(run, copy.semaphore, copy.slot);
  Fail(run, "sync", copy.span,
       "the copy into `" + RefAt(run, copy.target_ref).name + "` is still in flight " + when +
           ": nobody waited for `" + slot + "`",
       "write `wait " + slot + "` in the step that needs the data");
}

}  // namespace kiln::interpret
