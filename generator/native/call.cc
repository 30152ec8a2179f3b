#include "generator/native/call.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <memory>
#include <new>

#include "generator/render/template.h"
#include "kiln/c.h"

namespace kiln {
namespace {

using Clock = std::chrono::steady_clock;
using Packed = int32_t (*)(const DLTensor* const*, kiln_context*, kiln_status*);

/// The runtime is part of the kernel's library.
template <class Function>
Function* Find(void* library, Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}
#define KILN_FIND(library, function) Find(library, &function, #function)

/// DLPack's code for bools, which the older versions of its header lack.
constexpr uint8_t kDLBoolCode = 6;

/// As large as any vector, and a cache line.
constexpr std::align_val_t kAlignment{64};

struct AlignedDelete {
  void operator()(std::byte* data) const { ::operator delete[](data, kAlignment); }
};

/// An argument: the caller's bytes where vectors like them.
struct Argument {
  std::unique_ptr<std::byte[], AlignedDelete> data;
  std::vector<int64_t> shape;
  DLTensor tensor{};
};

DLDataType TypeOf(DType dtype) {
  const uint8_t bits = static_cast<uint8_t>(8 * SizeOf(dtype));
  uint8_t code = IsUnsigned(dtype) ? kDLUInt : kDLInt;
  if (IsFloat(dtype)) code = dtype == DType::kBF16 ? kDLBfloat : kDLFloat;
  if (dtype == DType::kBool) code = kDLBoolCode;
  return {code, bits, 1};
}

Argument Allocate(DType dtype, const std::vector<int64_t>& shape) {
  Argument argument;
  argument.shape = shape;
  const size_t bytes = static_cast<size_t>(ByteSize(dtype, shape).value());
  argument.data.reset(new (kAlignment) std::byte[std::max<size_t>(bytes, 1)]);
  argument.tensor.data = argument.data.get();
  argument.tensor.device = {kDLCPU, 0};
  argument.tensor.ndim = static_cast<int>(shape.size());
  argument.tensor.dtype = TypeOf(dtype);
  argument.tensor.shape = argument.shape.data();
  return argument;
}

Argument CopyOf(const Array& array) {
  Argument argument = Allocate(array.dtype, array.shape);
  if (!array.bytes.empty())
    std::memcpy(argument.data.get(), array.bytes.data(), array.bytes.size());
  return argument;
}

/// What the interpreter writes where nothing is defined.
Array Undefined(DType dtype, const std::vector<int64_t>& shape) {
  Array array = Array::Zeros(dtype, shape);
  if (array.size() == 0) return array;
  if (IsFloat(dtype))
    array.SetFloat(0, std::numeric_limits<double>::quiet_NaN());
  else
    array.SetInt(0, MaxOf(dtype));
  const size_t size = SizeOf(dtype);
  for (size_t at = size; at < array.bytes.size(); at += size) {
    std::memcpy(array.bytes.data() + at, array.bytes.data(), size);
  }
  return array;
}

Argument ArgumentFor(const Binding& binding, size_t ref,
                     const std::map<std::string, Array>& arrays) {
  const Ref& of = binding.kernel->refs[ref];
  if (of.role == Role::kOutput) return CopyOf(Undefined(of.dtype, binding.arrays[ref]));
  if (binding.host[ref]) return CopyOf(*binding.host[ref]);
  return CopyOf(arrays.at(of.name));
}

std::string CTypeOf(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "bool";
    case DType::kF32:
      return "float";
    case DType::kF64:
      return "double";
    case DType::kBF16:
    case DType::kF16:
      return std::string("kiln::") + std::string(Name(dtype));
    default:
      return (IsUnsigned(dtype) ? "uint" : "int") + std::to_string(8 * SizeOf(dtype)) + "_t";
  }
}

/// The file to compile: the kernel, and a function that takes its arguments as an array.
std::string CallText(const Kernel& kernel) {
  render::Fields fields;
  fields.Set("name", GeneratedName(kernel)).SetList("arguments", {});
  int index = 0;
  for (const int ref : CallArguments(kernel)) {
    const Ref& of = kernel.refs[static_cast<size_t>(ref)];
    std::string value = "arguments[" + std::to_string(index++) + "]";
    if (of.role == Role::kScalar)
      value = "*static_cast<const " + CTypeOf(of.dtype) + "*>(" + value + "->data)";
    fields.Add("arguments").Set("value", value);
  }
  return render::Templates().Render("call.cc", fields);
}

/// The cores and the machine of a run.
class Context {
 public:
  Context(void* library, const CallOptions& options) : library_(library) {
    kiln_options to;
    KILN_FIND(library, kiln_options_init)(&to);
    to.cores = options.cores;
    to.mode = options.emulate ? KILN_EMULATED : KILN_DIRECT;
    to.vmem_bytes = options.vmem_bytes;
    to.smem_bytes = options.smem_bytes;
    to.dma = options.eager ? KILN_DMA_EAGER : KILN_DMA_ON_WAIT;
    to.poison = static_cast<int32_t>(options.poison);
    to.seed = options.seed;
    context_ = KILN_FIND(library, kiln_context_new)(&to);
    if (!context_) throw std::bad_alloc();
  }
  ~Context() { KILN_FIND(library_, kiln_context_free)(context_); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  kiln_context* get() const { return context_; }

  void Read(CallResult& result) const {
    const auto operands = KILN_FIND(library_, kiln_context_operands);
    std::vector<kiln_operand_record> records(static_cast<size_t>(operands(context_, 0, nullptr)));
    operands(context_, static_cast<int32_t>(records.size()), records.data());
    for (const kiln_operand_record& record : records) {
      result.copies.push_back({record.name, record.in_smem != 0, record.copies, record.bytes,
                               record.skipped, record.buffers, record.memory_bytes});
    }
    const auto high = KILN_FIND(library_, kiln_context_vmem_high);
    result.vmem_high.resize(static_cast<size_t>(high(context_, 0, nullptr)));
    high(context_, static_cast<int32_t>(result.vmem_high.size()), result.vmem_high.data());
  }

 private:
  void* library_;
  kiln_context* context_;
};

}  // namespace

std::vector<int> CallArguments(const Kernel& kernel) {
  std::vector<int> refs;
  for (size_t i = 0; i < kernel.refs.size(); ++i) {
    const Ref& ref = kernel.refs[i];
    const bool inside = ref.role == Role::kScratch || ref.role == Role::kSemaphore;
    if (!inside && !ref.prepared && ref.view_of < 0) refs.push_back(static_cast<int>(i));
  }
  return refs;
}

LoadedKernel LoadKernel(const Kernel& kernel, const Generated& text, const Toolchain& tools,
                        const CompileOptions& options, Compiled* compiled) {
  const std::string& name = GeneratedName(kernel);
  Unit unit;
  unit.name = name;
  unit.main = name + "_call.cc";
  unit.files = {{name + ".h", text.header}, {name + ".cc", text.source}};
  unit.files[unit.main] = CallText(kernel);

  LoadedKernel loaded;
  loaded.name_ = name;
  for (const bool again : {false, true}) {
    *compiled = CompileCached(unit, tools, options);
    if (compiled->library.empty()) return loaded;
    loaded.library_ = dlopen(compiled->library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (loaded.library_) return loaded;
    compiled->error = dlerror();
    // Cut short, perhaps, by a full disk.
    if (!again) RemoveCached(compiled->library);
  }
  return loaded;
}

LoadedKernel::~LoadedKernel() {
  if (library_) dlclose(library_);
}

LoadedKernel::LoadedKernel(LoadedKernel&& other) noexcept { *this = std::move(other); }

LoadedKernel& LoadedKernel::operator=(LoadedKernel&& other) noexcept {
  std::swap(library_, other.library_);
  std::swap(name_, other.name_);
  return *this;
}

CallResult LoadedKernel::Call(const Binding& binding, const std::map<std::string, Array>& arrays,
                              const CallOptions& options) const {
  const Kernel& kernel = *binding.kernel;
  const std::vector<int> refs = CallArguments(kernel);
  std::vector<Argument> arguments;
  std::vector<const DLTensor*> tensors;
  for (const int ref : refs)
    arguments.push_back(ArgumentFor(binding, static_cast<size_t>(ref), arrays));
  for (const Argument& argument : arguments) tensors.push_back(&argument.tensor);

  const Context context(library_, options);
  const auto call = reinterpret_cast<Packed>(dlsym(library_, ("kiln_packed_" + name_).c_str()));
  kiln_status status{};
  CallResult result;
  result.seconds = std::numeric_limits<double>::infinity();
  for (int round = 0; round < std::max(options.repeat, 1) && result.code == 0; ++round) {
    const auto start = Clock::now();
    result.code = call(tensors.data(), context.get(), &status);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    result.seconds = std::min(result.seconds, seconds);
  }
  if (result.code != 0) {
    result.rule = KILN_FIND(library_, kiln_code_name)(result.code);
    result.message = status.message;
  }
  if (options.emulate) context.Read(result);

  for (size_t i = 0; i < refs.size(); ++i) {
    const Ref& ref = kernel.refs[static_cast<size_t>(refs[i])];
    if (ref.role != Role::kOutput) continue;
    Array array = Array::Zeros(ref.dtype, arguments[i].shape);
    if (!array.bytes.empty())
      std::memcpy(array.bytes.data(), arguments[i].data.get(), array.bytes.size());
    result.outputs.emplace(ref.name, std::move(array));
  }
  return result;
}

}  // namespace kiln
