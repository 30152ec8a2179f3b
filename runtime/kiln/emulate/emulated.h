// The faithful one of the two machines that a kernel's text is compiled for: every block is copied,
// as late as its wait allows, into memory of the machine's size that holds poison until then. See
// direct.h for what the members are for.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <type_traits>

#include "kiln/core/block.h"
#include "kiln/core/core.h"
#include "kiln/core/poison.h"
#include "kiln/core/tensor.h"
#include "kiln/core/version.h"
#include "kiln/emulate/operands.h"
#include "kiln/errors/diagnostics.h"

namespace kiln::inline KILN_ABI {
namespace internal {

/// The pad; without one, elements past an edge are undefined in the way that the options say.
template <typename T>
Pad<T> PadOf(const Options& options, Pad<T> pad) {
  if (!pad.given) pad.value = UndefinedEdge<T>(options);
  return pad;
}

/// What a slot is before its copy has ended.
template <typename T>
Hole HoleOf(const Pad<T>& pad) {
  return pad.reduced ? Hole::kEdge : Hole::kUnset;
}

template <typename T>
AnyInit AnyInitOf(const Init<T>& init) {
  AnyInit any{init};
  std::memcpy(&any.value, &init.value, sizeof(T));
  return any;
}

}  // namespace internal

struct Emulated {
  template <class Format, int R>
  class In final : public internal::EmulatedIn<R> {
   public:
    using T = typename Format::Element;
    using View = typename Format::View;

    [[gnu::noinline]] In(Core& core, const Operand& operand, const Tensor<const T>& tensor,
                         const std::array<BlockDim, R>& dims, const Pad<T>& pad = NoPad(),
                         int buffers = 2, int64_t /*window*/ = 0)
        : internal::EmulatedIn<R>(core, operand, tensor.data, {tensor.template extents<R>(), dims},
                                  internal::ElementTypeOf<T>(), Format::Bytes(ShapeOf<R>(dims)),
                                  buffers, internal::HoleOf(pad)),
          tensor_(tensor),
          pad_(internal::PadOf(core.options(), pad)) {}

    View WaitIn(const Index<R>& index) {
      Box<R> box;
      const void* const slot = this->Wait(index, &box);
      return slot == nullptr ? View() : Format::ViewOf(slot, box);
    }

   private:
    void Copy(const Box<R>& box, void* slot) const override {
      Format::Copy(tensor_, box, pad_, slot);
    }

    const Tensor<const T> tensor_;
    const Pad<T> pad_;
  };

  template <typename T, int R>
  class DotIn final : public internal::EmulatedDotIn<R> {
   public:
    [[gnu::noinline]] DotIn(Core& core, const Operand& operand, const DotFormat<R>& format,
                            const Tensor<const T>& tensor, const std::array<BlockDim, R>& dims,
                            const Pad<T>& pad = NoPad(), int buffers = 2, int64_t /*window*/ = 0,
                            int64_t /*others*/ = 0)
        : internal::EmulatedDotIn<R>(
              core, operand, tensor.data, {tensor.template extents<R>(), dims},
              internal::ElementTypeOf<T>(), format, format.bytes(&tensor, ShapeOf<R>(dims)),
              &tensor_, &pad_, buffers, internal::HoleOf(pad)),
          tensor_(tensor),
          pad_(internal::PadOf(core.options(), pad)) {}

   private:
    const Tensor<const T> tensor_;
    const Pad<T> pad_;
  };

  template <class Format, int R>
  class Out final : public internal::EmulatedOut<R> {
   public:
    using T = typename Format::Element;
    using View = typename Format::Written;

    [[gnu::noinline]] Out(Core& core, const Operand& operand, const Tensor<T>& tensor,
                          const std::array<BlockDim, R>& dims, const Init<T>& init = NoInit(),
                          int buffers = 2)
        : internal::EmulatedOut<R>(core, operand, tensor, {tensor.template extents<R>(), dims},
                                   internal::ElementTypeOf<T>(), Format::Bytes(ShapeOf<R>(dims)),
                                   internal::AnyInitOf(init), buffers) {}

    /// The same tile as long as index and run are the same.
    View Open(const Index<R>& index, int64_t run) {
      Box<R> box;
      void* const slot = this->Begin(index, run, &box);
      return slot == nullptr ? View() : Format::TileOf(ElementsAt<T>(slot), box);
    }
  };

  template <typename T>
  static T* Scratch(Core& core, const Operand& operand, size_t count,
                    std::initializer_list<int64_t> extents = {}) {
    const int64_t row = static_cast<int64_t>(count);
    const bool given = extents.size() > 0;
    const int64_t bytes = EmulatedBytes(operand.memory, kBitsOf<T>, given ? extents.begin() : &row,
                                        given ? static_cast<int>(extents.size()) : 1);
    if (!core.Reserve(operand, bytes, 1)) return nullptr;
    T* const data = ElementsAt<T>(core.Allocate(BytesFor<T>(count)));
    Forget(core, data, count);
    return data;
  }

  template <typename T>
  static void Forget(Core& core, T* data, size_t count) {
    if (data == nullptr) return;
    internal::FillPoison(core.options(), internal::Hole::kUnset,
                         internal::PoisonOf<T>(internal::Hole::kUnset),
                         static_cast<void*>(AddressOf(data)), BytesFor<T>(count));
  }

  template <typename T>
  static void Hold(Core& core, const Operand& operand, std::initializer_list<int64_t> extents) {
    core.Reserve(operand,
                 EmulatedBytes(operand.memory, kBitsOf<T>, extents.begin(),
                               static_cast<int>(extents.size())),
                 1);
  }
};

}  // namespace kiln::inline KILN_ABI
