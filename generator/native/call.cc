#include "generator/native/call.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <thread>

#include "generator/bind/least_operations.h"
#include "generator/data/packed.h"
#include "generator/data/passed_as.h"
#include "generator/native/guarded.h"
#include "generator/native/interface.h"

namespace kiln {
namespace {

using Clock = std::chrono::steady_clock;

/// An argument: the caller's bytes in memory of their own.
struct Argument {
  GuardedMemory data;
  std::vector<int64_t> shape;
  DLTensor tensor{};
};

DLDataType TypeOf(DType dtype) {
  const DTypeRow& row = RowOf(dtype);
  return {static_cast<uint8_t>(row.dlpack), static_cast<uint8_t>(row.bits), 1};
}

Argument CopyOf(const std::string& name, const Array& array, GuardedMemory::Place place) {
  const size_t bytes = static_cast<size_t>(KernelBytes(array.dtype, array.shape).value());
  Argument argument{GuardedMemory(name, bytes, place), array.shape, {}};
  ToKernel(array, static_cast<std::byte*>(argument.data.data()));
  argument.tensor.data = argument.data.data();
  argument.tensor.device = {kDLCPU, 0};
  argument.tensor.ndim = static_cast<int>(array.shape.size());
  argument.tensor.dtype = TypeOf(array.dtype);
  return argument;
}

Array Passed(const Array& scalar) {
  Array passed = Array::Zeros(PassedAs(scalar.dtype), scalar.shape);
  if (IsFloat(scalar.dtype))
    passed.SetFloat(0, scalar.GetFloat(0));
  else
    passed.SetInt(0, scalar.GetInt(0));
  return passed;
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

const Array& GivenFor(const Binding& binding, size_t ref,
                      const std::map<std::string, Array>& arrays) {
  return binding.host[ref] ? *binding.host[ref] : arrays.at(binding.kernel->refs[ref].name);
}

Argument ArgumentFor(const Binding& binding, size_t ref, const std::map<std::string, Array>& arrays,
                     GuardedMemory::Place place, bool in_place) {
  const Ref& of = binding.kernel->refs[ref];
  if (of.role == Role::kOutput)
    return CopyOf(of.name, Undefined(of.dtype, binding.arrays[ref]), place);
  const bool scalar = of.role == Role::kScalar;
  const Array& given = GivenFor(binding, ref, arrays);
  Argument argument = CopyOf(of.name, scalar ? Passed(given) : given, place);
  const bool lent = in_place && binding.kernel->BorrowerOf(static_cast<int>(ref)) >= 0;
  if (!lent) argument.data.MakeReadOnly();
  return argument;
}

/// The memory of an input that an output takes over holds the input again.
void SetAnew(const Binding& binding, size_t ref, const std::map<std::string, Array>& arrays,
             const Argument& argument) {
  if (binding.kernel->BorrowerOf(static_cast<int>(ref)) < 0) return;
  ToKernel(GivenFor(binding, ref, arrays), static_cast<std::byte*>(argument.data.data()));
}

/// The cores and the machine of a run.
class Context {
 public:
  Context(const KernelInterface& kernel, const CallOptions& options)
      : kernel_(kernel), asked_(options.emulate && options.events) {
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
    to.events = options.events;
    context_ = kernel.context_new(&to);
    if (!context_) throw std::bad_alloc();
  }
  ~Context() { kernel_.context_free(context_); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  kiln_context* get() const { return context_; }

  void Read(CallResult& result) const {
    const int32_t count = kernel_.operands(context_, 0, nullptr);
    std::vector<kiln_operand_record> records(static_cast<size_t>(count));
    kernel_.operands(context_, count, records.data());
    for (const kiln_operand_record& record : records) {
      result.copies.push_back({record.name, record.in_smem != 0, record.copies, record.bytes,
                               record.skipped, record.buffers, record.memory_bytes});
    }
    const int32_t cores = kernel_.vmem_high(context_, 0, nullptr);
    result.vmem_high.resize(static_cast<size_t>(cores));
    kernel_.vmem_high(context_, cores, result.vmem_high.data());
    for (int32_t core = 0; core < cores && asked_; ++core) ReadEvents(core, result.recorded);
  }

  void ReadEvents(int32_t core, RecordedRun& run) const {
    const int64_t count = kernel_.events(context_, core, 0, nullptr);
    run.complete = run.complete && count >= 0;
    if (count < 0) return;
    std::vector<kiln_event> events(static_cast<size_t>(count));
    kernel_.events(context_, core, count, events.data());
    std::vector<RecordedEvent>& to = run.cores.emplace_back();
    for (const kiln_event& event : events) {
      to.push_back({static_cast<RecordedEvent::Kind>(event.kind), event.operand, event.place,
                    event.bytes, event.semaphore, event.out != 0});
    }
  }

 private:
  const KernelInterface& kernel_;
  const bool asked_;  // for events
  kiln_context* context_;
};

/// Arrays that are timed are aligned, others guarded. An output that takes over an input in place
/// has its memory.
std::vector<Argument> ArgumentsFor(const Binding& binding, const std::vector<int>& refs,
                                   const std::map<std::string, Array>& arrays,
                                   const CallOptions& options) {
  const bool timed = options.repeat > 1 || options.seconds > 0;
  const auto untimed =
      options.at_start ? GuardedMemory::Place::kAtStart : GuardedMemory::Place::kAtEnd;
  const auto place = timed ? GuardedMemory::Place::kAligned : untimed;
  std::vector<Argument> arguments;
  arguments.reserve(refs.size());
  for (const int ref : refs) {
    arguments.push_back(
        ArgumentFor(binding, static_cast<size_t>(ref), arrays, place, options.in_place));
  }
  for (size_t i = 0; i < refs.size(); ++i) {
    arguments[i].tensor.shape = arguments[i].shape.data();
    const int alias = (*binding.kernel)[RefId(refs[i])].alias;
    const auto lent = std::find(refs.begin(), refs.end(), alias);
    if (options.in_place && alias >= 0 && lent != refs.end())
      arguments[i].tensor.data = arguments[static_cast<size_t>(lent - refs.begin())].tensor.data;
  }
  return arguments;
}

/// Calls as often and as long as the options say, or until one fails; `prepare` comes before each
/// but the first.
template <class Call, class Prepare>
CallResult TimedCalls(const CallOptions& options, const Call& call, const Prepare& prepare) {
  CallResult result;
  result.seconds = std::numeric_limits<double>::infinity();
  double sum = 0;
  const size_t least = static_cast<size_t>(std::max(options.repeat, 1));
  while (result.code == 0 && (result.calls.size() < least || sum < options.seconds)) {
    if (!result.calls.empty()) prepare();
    const auto start = Clock::now();
    result.code = call();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    result.seconds = std::min(result.seconds, seconds);
    result.calls.push_back(seconds);
    sum += seconds;
  }
  return result;
}

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

Demand CallDemand(const Binding& binding, const CallOptions& options) {
  // Of one core at its best: a step of Direct is a few calls, one of Emulated moves blocks.
  const double step_seconds = options.emulate ? 100e-9 : 15e-9;
  constexpr double kOperationSeconds = 5e-12, kByteSeconds = 0.05e-9;
  const Operations operations = LeastOperations(binding);
  const int asked = options.cores > 0 ? options.cores : int(std::thread::hardware_concurrency());
  const double cores = std::clamp(operations.parallel, 1.0, std::max(asked, 1) * 1.0);
  Demand demand;
  demand.seconds =
      (operations.steps * step_seconds + operations.elements * kOperationSeconds) / cores;
  for (const int ref : CallArguments(*binding.kernel)) {
    const Ref& of = (*binding.kernel)[RefId(ref)];
    const auto bytes = ByteSize(of.dtype, binding.arrays[static_cast<size_t>(ref)]);
    // The caller's array, and for an output the result.
    const double copies = of.role == Role::kOutput ? 2 : 1;
    demand.bytes += copies * static_cast<double>(bytes.value_or(0));
    demand.seconds += static_cast<double>(bytes.value_or(0)) * kByteSeconds;
  }
  demand.seconds *= std::max(options.repeat, 1);
  return demand;
}

CallResult CallKernel(const KernelInterface& kernel, const Binding& binding,
                      const std::map<std::string, Array>& arrays, const CallOptions& options) {
  const std::vector<int> refs = CallArguments(*binding.kernel);
  std::vector<Argument> arguments = ArgumentsFor(binding, refs, arrays, options);
  std::vector<const DLTensor*> tensors;
  std::vector<const GuardedMemory*> guarded;
  for (const Argument& argument : arguments) {
    tensors.push_back(&argument.tensor);
    guarded.push_back(&argument.data);
  }

  const Context context(kernel, options);
  kiln_status status{};
  const FaultReport faults(guarded);
  CallResult result = TimedCalls(
      options, [&] { return kernel.call(tensors.data(), context.get(), &status); },
      [&] {
        for (size_t i = 0; i < refs.size() && options.in_place; ++i)
          SetAnew(binding, static_cast<size_t>(refs[i]), arrays, arguments[i]);
      });
  for (const GuardedMemory* memory : guarded) {
    if (!memory->IsIntact())
      throw std::logic_error("the kernel writes outside of `" + memory->name() + "`");
  }
  result.cores = kernel.vmem_high(context.get(), 0, nullptr);
  if (result.code != 0) {
    result.rule = kernel.code_name(result.code);
    result.message = status.message;
  }
  if (options.emulate) context.Read(result);

  for (size_t i = 0; i < refs.size(); ++i) {
    const Ref& ref = (*binding.kernel)[RefId(refs[i])];
    if (ref.role != Role::kOutput) continue;
    const auto* const bytes = static_cast<const std::byte*>(arguments[i].tensor.data);
    result.outputs.emplace(ref.name, FromKernel(ref.dtype, arguments[i].shape, bytes));
  }
  return result;
}

}  // namespace kiln
