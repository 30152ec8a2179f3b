#include "tests/random/guarded.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <limits>
#include <new>
#include <utility>

namespace kiln::soak {
namespace {

constexpr std::byte kPattern{0x5C};
constexpr uint8_t kDLBoolCode = 6;  // older headers of DLPack lack its name

size_t PageSize() {
  static const size_t size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

DLDataType TypeOf(DType dtype) {
  const uint8_t bits = static_cast<uint8_t>(8 * SizeOf(dtype));
  uint8_t code = IsUnsigned(dtype) ? kDLUInt : kDLInt;
  if (IsFloat(dtype)) code = dtype == DType::kBF16 ? kDLBfloat : kDLFloat;
  if (dtype == DType::kBool) code = kDLBoolCode;
  return {code, bits, 1};
}

struct Argument {
  Argument(const Array& array, bool low)
      : shape(array.shape),
        before(array.bytes),
        bytes(array.bytes.size(), SizeOf(array.dtype), low) {
    if (!before.empty()) std::memcpy(bytes.data(), before.data(), before.size());
    tensor.data = bytes.data();
    tensor.device = {kDLCPU, 0};
    tensor.ndim = static_cast<int>(shape.size());
    tensor.dtype = TypeOf(array.dtype);
  }
  bool Changed() const {
    return !before.empty() && std::memcmp(bytes.data(), before.data(), before.size()) != 0;
  }

  std::vector<int64_t> shape;
  std::vector<std::byte> before;
  GuardedBytes bytes;
  DLTensor tensor{};
};

Array Passed(const Array& scalar) {
  Array passed = Array::Zeros(PassedAs(scalar.dtype), scalar.shape);
  if (IsFloat(scalar.dtype))
    passed.SetFloat(0, scalar.GetFloat(0));
  else
    passed.SetInt(0, scalar.GetInt(0));
  return passed;
}

/// What CallKernel gives outputs: NaN, or the largest integer.
Array Undefined(DType dtype, const std::vector<int64_t>& shape) {
  Array array = Array::Zeros(dtype, shape);
  for (int64_t i = 0; i < array.size(); ++i) {
    if (IsFloat(dtype))
      array.SetFloat(i, std::numeric_limits<double>::quiet_NaN());
    else
      array.SetInt(i, MaxOf(dtype));
  }
  return array;
}

Array ValueOf(const Binding& binding, size_t ref, const std::map<std::string, Array>& arrays) {
  const Ref& of = binding.kernel->refs[ref];
  if (of.role == Role::kOutput) return Undefined(of.dtype, binding.arrays[ref]);
  if (of.role == Role::kScalar) return Passed(*binding.host[ref]);
  return binding.host[ref] ? *binding.host[ref] : arrays.at(of.name);
}

kiln_context* NewContext(const KernelInterface& kernel, const CallOptions& options) {
  kiln_options to;
  kernel.options_init(&to);
  to.cores = options.cores;
  to.mode = options.emulate ? KILN_EMULATED : KILN_DIRECT;
  to.vmem_bytes = options.vmem_bytes;
  to.smem_bytes = options.smem_bytes;
  to.dma = options.eager ? KILN_DMA_EAGER : KILN_DMA_ON_WAIT;
  to.poison = static_cast<int32_t>(options.poison);
  to.shuffle = options.shuffle;
  to.seed = options.seed;
  kiln_context* context = kernel.context_new(&to);
  if (!context) throw std::bad_alloc();
  return context;
}

}  // namespace

GuardedBytes::GuardedBytes(size_t size, size_t alignment, bool low) : size_(size) {
  const size_t page = PageSize();
  const size_t inside = (size + page) / page * page;  // at least one, as nothing has an address too
  mapped_ = inside + 2 * page;
  void* const pages =
      mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, /*fd=*/-1, /*offset=*/0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  pages_ = static_cast<std::byte*>(pages);
  if (mprotect(pages_ + page, inside, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  std::memset(pages_ + page, static_cast<int>(kPattern), inside);
  data_ = low ? pages_ + page : pages_ + page + inside - (size + alignment - 1) / alignment * alignment;
}

GuardedBytes::~GuardedBytes() {
  if (pages_) munmap(pages_, mapped_);
}

GuardedBytes::GuardedBytes(GuardedBytes&& other) noexcept
    : pages_(std::exchange(other.pages_, nullptr)),
      mapped_(other.mapped_),
      data_(other.data_),
      size_(other.size_) {}

bool GuardedBytes::Intact() const {
  const std::byte* const end = pages_ + mapped_ - PageSize();
  for (const std::byte* at = pages_ + PageSize(); at != end; ++at) {
    if (at == data_) at += size_;
    if (at == end) break;
    if (*at != kPattern) return false;
  }
  return true;
}

CallResult CallGuarded(const KernelInterface& kernel, const Binding& binding,
                       const std::map<std::string, Array>& arrays, const CallOptions& options,
                       bool low, std::string* broken) {
  const std::vector<int> refs = CallArguments(*binding.kernel);
  std::vector<Argument> arguments;
  arguments.reserve(refs.size());
  std::vector<const DLTensor*> tensors;
  for (const int ref : refs) {
    arguments.emplace_back(ValueOf(binding, static_cast<size_t>(ref), arrays), low);
    arguments.back().tensor.shape = arguments.back().shape.data();
    tensors.push_back(&arguments.back().tensor);
  }

  CallResult result;
  kiln_status status{};
  kiln_context* const context = NewContext(kernel, options);
  result.code = kernel.call(tensors.data(), context, &status);
  result.cores = kernel.vmem_high(context, 0, nullptr);
  kernel.context_free(context);
  if (result.code != 0) {
    result.rule = kernel.code_name(result.code);
    result.message = status.message;
  }

  for (size_t i = 0; i < refs.size(); ++i) {
    const Ref& ref = binding.kernel->refs[static_cast<size_t>(refs[i])];
    const Argument& argument = arguments[i];
    const bool output = ref.role == Role::kOutput;
    if (!argument.bytes.Intact()) *broken += " stored outside of `" + ref.name + "`;";
    if (!output && argument.Changed()) *broken += " stored into the input `" + ref.name + "`;";
    if (!output) continue;
    Array array = Array::Zeros(ref.dtype, argument.shape);
    if (!array.bytes.empty())
      std::memcpy(array.bytes.data(), argument.bytes.data(), array.bytes.size());
    result.outputs.emplace(ref.name, std::move(array));
  }
  return result;
}

}  // namespace kiln::soak
