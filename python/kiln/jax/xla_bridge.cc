// One XLA FFI handler for all kernels. JAX lowers a call to `kiln_call` with the kernel's name and
// the hash of its text as an attribute: what an executable holds stays right in any process, which
// an address would not. Here is the registry of what that attribute names, and the rest is types:
// XLA's buffers become the DLTensors that kernels take, and XLA's threads run their cores.
//
// kiln.jax compiles this file against the headers of the installed JAX and loads it with ctypes.

#include <dlpack/dlpack.h>

#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kiln/c.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

extern "C" {

/// A kernel's library as functions. Each has a copy of the runtime, so contexts are its own.
struct kiln_jax_functions {
  int32_t (*call)(const DLTensor* const* arguments, kiln_context* context, kiln_status* status);
  decltype(&kiln_options_init) options_init;
  decltype(&kiln_context_new) context_new;
  decltype(&kiln_code_name) code_name;
};

/// Adds the kernel of that name to the registry. Not 0: it cannot be had, and the message says why.
using kiln_jax_find = int32_t (*)(const char* kernel, char* message, int32_t capacity);
}

namespace {

/// The call that this thread is in, for kernels that use threads of XLA.
thread_local ffi::ThreadPool* g_threads = nullptr;

/// The indices of a parallel loop. Whoever has time takes the next one, the caller too: XLA may
/// begin tasks late, or never while this call waits.
struct Loop {
  void (*task)(void* argument, int32_t i);
  void* argument;
  int32_t count;
  std::atomic<int32_t> next{0}, done{0};

  void Work() {
    for (int32_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) {
      task(argument, i);
      if (done.fetch_add(1, std::memory_order_acq_rel) + 1 == count) done.notify_all();
    }
  }
};

void ParallelFor(void*, int32_t count, void (*task)(void* argument, int32_t i), void* argument) {
  // Tasks that begin after the loop has ended find it here, and nothing to do.
  const auto loop = std::make_shared<Loop>();
  loop->task = task;
  loop->argument = argument;
  loop->count = count;
  for (int32_t i = 1; i < count; ++i) g_threads->Schedule([loop] { loop->Work(); });
  loop->Work();
  for (int32_t done; (done = loop->done.load(std::memory_order_acquire)) < count;)
    loop->done.wait(done, std::memory_order_acquire);
}

class Kernel {
 public:
  explicit Kernel(const kiln_jax_functions& functions) : functions_(functions) {}

  const kiln_jax_functions& functions() const { return functions_; }
  std::atomic<int64_t> calls{0};

  /// 0 cores: as many as the hardware has. Null: there is no memory. Contexts last, as calls may be
  /// in them.
  kiln_context* ContextOf(int32_t cores) {
    {
      const std::shared_lock lock(mutex_);
      if (const auto it = contexts_.find(cores); it != contexts_.end()) return it->second;
    }
    const std::unique_lock lock(mutex_);
    kiln_context*& context = contexts_[cores];
    if (context != nullptr) return context;
    kiln_options options;
    functions_.options_init(&options);
    options.cores = cores;
    options.parallel_for = &ParallelFor;
    return context = functions_.context_new(&options);
  }

 private:
  const kiln_jax_functions functions_;
  std::shared_mutex mutex_;
  std::map<int32_t, kiln_context*> contexts_;
};

class Registry {
 public:
  void Add(const std::string& name, const kiln_jax_functions& functions) {
    const std::unique_lock lock(mutex_);
    kernels_.try_emplace(name, std::make_unique<Kernel>(functions));
  }

  Kernel* Find(std::string_view name) const {
    const std::shared_lock lock(mutex_);
    const auto found = kernels_.find(name);
    return found == kernels_.end() ? nullptr : found->second.get();
  }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  mutable std::shared_mutex mutex_;
  std::unordered_map<std::string, std::unique_ptr<Kernel>, Hash, std::equal_to<>> kernels_;
};

// Never destroyed: XLA's threads may still call kernels while the process ends.
Registry& g_registry = *new Registry;
std::atomic<kiln_jax_find> g_find{nullptr};

/// An executable may come from a cache, and its kernel not be loaded: then Python looks for it.
Kernel* Find(std::string_view name, std::string* why) {
  if (Kernel* const kernel = g_registry.Find(name)) return kernel;
  const std::string text(name);
  char message[1024] = "the kernel is not loaded";
  if (const auto find = g_find.load(); find != nullptr) find(text.c_str(), message, sizeof message);
  Kernel* const kernel = g_registry.Find(name);
  if (kernel == nullptr) *why = message;
  return kernel;
}

/// As codes of DLPack, written as numbers where older versions of its header lack the name.
std::optional<DLDataType> TypeOf(ffi::DataType type) {
  switch (type) {
    case ffi::DataType::PRED:
      return DLDataType{6, 8, 1};
    case ffi::DataType::S4:
      return DLDataType{kDLInt, 4, 1};
    case ffi::DataType::U4:
      return DLDataType{kDLUInt, 4, 1};
    case ffi::DataType::S8:
      return DLDataType{kDLInt, 8, 1};
    case ffi::DataType::S16:
      return DLDataType{kDLInt, 16, 1};
    case ffi::DataType::S32:
      return DLDataType{kDLInt, 32, 1};
    case ffi::DataType::S64:
      return DLDataType{kDLInt, 64, 1};
    case ffi::DataType::U8:
      return DLDataType{kDLUInt, 8, 1};
    case ffi::DataType::U16:
      return DLDataType{kDLUInt, 16, 1};
    case ffi::DataType::U32:
      return DLDataType{kDLUInt, 32, 1};
    case ffi::DataType::F8E4M3FN:
      return DLDataType{10, 8, 1};
    case ffi::DataType::F8E5M2:
      return DLDataType{12, 8, 1};
    case ffi::DataType::F8E8M0FNU:
      return DLDataType{14, 8, 1};
    case ffi::DataType::BF16:
      return DLDataType{kDLBfloat, 16, 1};
    case ffi::DataType::F16:
      return DLDataType{kDLFloat, 16, 1};
    case ffi::DataType::F32:
      return DLDataType{kDLFloat, 32, 1};
    case ffi::DataType::F64:
      return DLDataType{kDLFloat, 64, 1};
    default:
      return std::nullopt;
  }
}

/// An array of integers of 4 bits with rows of an odd length. XLA has all elements one after
/// another, two a byte, and kernels begin each row with a whole byte: it is moved for a call.
class Moved {
 public:
  Moved(void* elements, size_t count, size_t columns)
      : elements_(static_cast<uint8_t*>(elements)),
        count_(count),
        columns_(columns),
        rows_(count / columns * (columns / 2 + 1)) {
    for (size_t i = 0; i < count_; ++i) Set(rows_.data(), PlaceOf(i), Get(elements_, i));
  }
  void* rows() { return rows_.data(); }
  /// What a kernel has written.
  void MoveBack() {
    for (size_t i = 0; i < count_; ++i) Set(elements_, i, Get(rows_.data(), PlaceOf(i)));
  }

 private:
  size_t PlaceOf(size_t i) const { return i / columns_ * (columns_ + 1) + i % columns_; }
  static int Get(const uint8_t* bytes, size_t place) {
    return bytes[place / 2] >> (place % 2 * 4) & 15;
  }
  static void Set(uint8_t* bytes, size_t place, int bits) {
    const int shift = static_cast<int>(place % 2) * 4;
    bytes[place / 2] = static_cast<uint8_t>((bytes[place / 2] & (0xF0 >> shift)) | bits << shift);
  }

  uint8_t* const elements_;
  const size_t count_, columns_;
  std::vector<uint8_t> rows_;
};

/// A kernel's arguments, in its order: inputs, then outputs.
class Tensors {
 public:
  Tensors(const ffi::RemainingArgs& arguments, const ffi::RemainingRets& results) {
    tensors_.reserve(arguments.size() + results.size());
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (const auto buffer = arguments.get<ffi::AnyBuffer>(i); buffer.has_value()) Add(*buffer);
    }
    for (size_t i = 0; i < results.size(); ++i) {
      const size_t before = moved_.size();
      if (auto buffer = results.get<ffi::AnyBuffer>(i); buffer.has_value()) Add(**buffer);
      if (moved_.size() > before) written_.push_back(before);
    }
    ok_ = tensors_.size() == arguments.size() + results.size();
    pointers_.reserve(tensors_.size());
    for (const DLTensor& tensor : tensors_) pointers_.push_back(&tensor);
  }

  /// False: some are of a type that no kernel takes.
  bool ok() const { return ok_; }
  const DLTensor* const* pointers() const { return pointers_.data(); }
  /// After the call: results that it has got elsewhere.
  void MoveBack() {
    for (const size_t i : written_) moved_[i].MoveBack();
  }

 private:
  void Add(const ffi::AnyBuffer& buffer) {
    const auto type = TypeOf(buffer.element_type());
    if (!type) return;
    const auto dims = buffer.dimensions();
    DLTensor& tensor = tensors_.emplace_back();
    tensor = {};
    tensor.data = buffer.untyped_data();
    tensor.device = {kDLCPU, 0};
    tensor.ndim = static_cast<int32_t>(dims.size());
    tensor.dtype = *type;
    tensor.shape = const_cast<int64_t*>(dims.begin());
    const size_t columns = dims.size() > 0 ? static_cast<size_t>(dims.back()) : 0;
    if (type->bits == 4 && columns % 2 == 1 && buffer.element_count() > columns) {
      moved_.emplace_back(tensor.data, buffer.element_count(), columns);
      tensor.data = moved_.back().rows();
    }
  }

  bool ok_ = false;
  std::vector<DLTensor> tensors_;
  std::vector<const DLTensor*> pointers_;
  std::vector<Moved> moved_;
  std::vector<size_t> written_;  // of them
};

class WithThreads {
 public:
  explicit WithThreads(ffi::ThreadPool& threads) : before_(g_threads) { g_threads = &threads; }
  ~WithThreads() { g_threads = before_; }
  WithThreads(const WithThreads&) = delete;
  WithThreads& operator=(const WithThreads&) = delete;

 private:
  ffi::ThreadPool* before_;
};

/// What the program `kiln` prints of a call that fails.
ffi::Error ErrorOf(const kiln_jax_functions& functions, const kiln_status& status) {
  const std::string rule = functions.code_name(status.code);
  const auto code = rule == "memory" ? ffi::ErrorCode::kResourceExhausted
                    : rule == "call" ? ffi::ErrorCode::kInvalidArgument
                                     : ffi::ErrorCode::kFailedPrecondition;
  return ffi::Error(code, "error[" + rule + "]: " + status.message);
}

ffi::Error Call(ffi::ThreadPool threads, ffi::RemainingArgs arguments, ffi::RemainingRets results,
                std::string_view name, int32_t cores) {
  try {
    std::string why;
    Kernel* const kernel = Find(name, &why);
    if (kernel == nullptr) return ffi::Error(ffi::ErrorCode::kNotFound, why);
    Tensors tensors(arguments, results);
    if (!tensors.ok()) return ffi::Error::InvalidArgument("a buffer of a type that no kernel has");
    if (cores == 0 && threads.num_threads() <= 1) cores = 1;
    kiln_context* const context = kernel->ContextOf(cores);
    if (context == nullptr) throw std::bad_alloc();
    kernel->calls.fetch_add(1, std::memory_order_relaxed);
    kiln_status status{};
    const WithThreads with(threads);
    const int32_t code = kernel->functions().call(tensors.pointers(), context, &status);
    if (code == 0) tensors.MoveBack();
    return code == 0 ? ffi::Error::Success() : ErrorOf(kernel->functions(), status);
  } catch (const std::exception& exception) {
    return ffi::Error(ffi::ErrorCode::kResourceExhausted, exception.what());
  }
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(kiln_call, Call,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .RemainingArgs()
                                  .RemainingRets()
                                  .Attr<std::string_view>("kernel")
                                  .Attr<int32_t>("cores"));

extern "C" {

/// The first of a name stays: a text is always the same kernel.
void kiln_jax_add(const char* kernel, const kiln_jax_functions* functions) {
  g_registry.Add(kernel, *functions);
}

void kiln_jax_set_find(kiln_jax_find find) { g_find = find; }

/// How often it was called; -1: it is not there.
int64_t kiln_jax_calls(const char* kernel) {
  const Kernel* const found = g_registry.Find(kernel);
  return found == nullptr ? -1 : found->calls.load();
}
}
