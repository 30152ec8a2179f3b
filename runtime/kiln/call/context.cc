#include "kiln/call/context.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <exception>
#include <new>
#include <utility>
#include <vector>

#include "kiln/call/threads.h"
#include "kiln/call/verbose.h"
#include "kiln/core/list.h"
#include "kiln/core/shared.h"
#include "kiln/dot/amx.h"
#include "kiln/errors/touches.h"
#include "kiln/errors/visits.h"
#include "kiln/grid/turns.h"
#include "kiln/simd/float_mode.h"

namespace kiln::inline KILN_ABI {

/// What one call has for itself. Cores stay where they are: the tiers hold references.
struct Context::Workspace {
  std::vector<std::unique_ptr<Core>> cores;  // null: no call has needed it
  int count = 0;
  const Options* options = nullptr;
  KernelNames names;
  Common common;
  std::atomic<int64_t> useful;
  std::atomic<bool> lacks_memory;  // for a core
  Visits visits;
  Touches touches;
  Turns turns;
  SharedMemory shared;
  CallersMemory memory;

  /// Begins a call on `cores` cores, of which so many are there at once, one for each thread. The
  /// others are made when a thread comes to them, which it does once it has run another, and knows
  /// whether the grid has steps for so many.
  void Reset(int wanted, int at_once, const Options& of_call, const RunOptions& how) {
    count = wanted;
    options = &of_call;
    names = {how.kernel, how.axes};
    if (static_cast<int>(cores.size()) < count) cores.resize(static_cast<size_t>(count));
    visits.Clear();
    touches.Clear();
    useful.store(count, std::memory_order_relaxed);
    lacks_memory.store(false, std::memory_order_relaxed);
    // A machine that is emulated has its own ways; a core alone has nobody to share with.
    common = Common();
    common.bytes = how.bytes;
    if (options->memory != nullptr) {
      memory.Reset(options->memory, options->memory_bytes);
      common.memory = &memory;
    }
    shared.Reset(common.memory);
    if (options->mode == Mode::kEmulated) {
      at_once = count;
      common.visits = &visits;
      common.touches = &touches;
    } else if (count > 1) {
      turns.Reset(count);
      common.turns = &turns;
      common.shared = &shared;
      common.useful = &useful;
    }
    for (int c = 0; c < count; ++c) {
      if (c < at_once || cores[c] != nullptr) Begin(c);
    }
  }

  /// The core, which is made if it is not there.
  Core& Begun(int index) {
    if (cores[index] == nullptr) Begin(index);
    return *cores[index];
  }

  void Begin(int index) {
    if (cores[index] == nullptr) cores[index] = std::make_unique<Core>();
    cores[index]->Reset(index, count, *options, names, common);
  }

  /// What the first core has to say that is not content, by `of`.
  Status FirstOf(const Status& (Core::*of)() const) const {
    for (int c = 0; c < count; ++c) {
      if (cores[c] != nullptr && !(*cores[c].*of)().ok()) return (*cores[c].*of)();
    }
    return {};
  }

  /// What steps have run on, or 0.
  int64_t Target() const {
    int64_t target = 0;
    for (int c = 0; target == 0 && c < count; ++c) target = cores[c]->target();
    return target;
  }

  /// Blocks that no step of any core has visited.
  void CheckCoverage() const {
    for (size_t o = 0; o < cores[0]->records().size(); ++o) {
      const OperandRecord& output = *cores[0]->records()[o];
      int64_t visited = 0;
      for (int c = 0; c < count; ++c) {
        if (!cores[c]->ok()) return;
        if (o < cores[c]->records().size()) visited += cores[c]->records()[o]->visited;
      }
      if (output.watched) visited = touches.Written(static_cast<int32_t>(o));
      if (visited >= output.due) continue;
      cores[0]->Fail(kCoverage,
                     "no step visits the blocks of %" PRId64 " of the %" PRId64
                     " elements of %s (line %d)",
                     output.due - visited, output.due, output.name, output.line);
    }
  }
};

struct Context::Job {
  void (*invoke)(const void* bound, Core& core);
  const void* bound;
  Workspace& workspace;
  const Options& options;
  int cores;

  /// No exception leaves a core: it might be on a thread, or below the C interface.
  static void RunCore(void* argument, int32_t index) {
    const Job& job = *static_cast<const Job*>(argument);
    if (index >= job.workspace.useful.load(std::memory_order_relaxed)) return;
    const internal::FloatMode plain;
    const AmxRegisters of_the_call;
    Core* begun = nullptr;
    try {
      begun = &job.workspace.Begun(index);
    } catch (const std::bad_alloc&) {
      job.workspace.lacks_memory.store(true, std::memory_order_relaxed);
      return;
    }
    Core& core = *begun;
    try {
      job.invoke(job.bound, core);
    } catch (const std::bad_alloc&) {
      core.Fail(kMemory, "there is no memory left on core %d", index);
    } catch (const std::exception& exception) {
      core.Fail(kMemory, "%s on core %d", exception.what(), index);
    }
  }
};

/// More cores are of no use to Direct, which gives the same results on any number, and more than
/// any machine to be emulated has.
constexpr int kMostCores = 1024;

/// Calls with less than this are over sooner than another thread is awake.
constexpr int64_t kLeastShared = int64_t{128} << 10;

/// The contexts of this process. A fork finds none of them halfway: who takes a context's lock
/// keeps it for moments, so that who forks can wait for all of them. Calls that others are in go on
/// in the parent alone.
struct AllContexts {
  std::mutex mutex;
  Context* first = nullptr;

  void Add(Context* context) {
    const std::lock_guard lock(mutex);
    context->after_ = first;
    if (first != nullptr) first->before_ = context;
    first = context;
  }
  void Remove(const Context* context) {
    const std::lock_guard lock(mutex);
    Context* const before = context->before_;
    Context* const after = context->after_;
    (before == nullptr ? first : before->after_) = after;
    if (after != nullptr) after->before_ = before;
  }

  void Lock() {
    mutex.lock();
    for (Context* c = first; c != nullptr; c = c->after_) c->mutex_.lock();
  }
  void Unlock() {
    for (Context* c = first; c != nullptr; c = c->after_) c->mutex_.unlock();
    mutex.unlock();
  }
  void ForgetThreads() {
    for (Context* c = first; c != nullptr; c = c->after_) {
      if (c->threads_ != nullptr) c->threads_->Forget();
      c->has_caller_.clear(std::memory_order_relaxed);
      c->uses_memory_.clear(std::memory_order_relaxed);
    }
  }
};

namespace {

constinit AllContexts g_contexts;
constinit std::atomic<Context*> g_default_context = nullptr;  // once there is one
constinit bool g_is_forked = false;

/// A library that is unloaded leaves no thread in code that is gone. Where the process ends
/// instead, calls of other threads may go on: Trim leaves what they use. A forked child has no
/// threads, and an allocator that may be locked for ever.
[[gnu::destructor]] void LetGo() {
  Context* const context = g_default_context.load(std::memory_order_acquire);
  if (context != nullptr && !g_is_forked) context->Trim();
}

[[maybe_unused]] const int g_watches_forks = pthread_atfork(
    [] {
      DefaultContext();  // or another thread might be at making it
      g_contexts.Lock();
    },
    [] { g_contexts.Unlock(); },
    [] {
      g_is_forked = true;
      g_contexts.ForgetThreads();
      g_contexts.Unlock();
    });

/// Returns the threads of a context, or memory that it was lent, whatever happens.
class Returning {
 public:
  explicit Returning(std::atomic_flag* flag) : flag_(flag) {}
  ~Returning() {
    if (flag_ != nullptr) flag_->clear(std::memory_order_release);
  }
  Returning(const Returning&) = delete;
  Returning& operator=(const Returning&) = delete;

  /// False if somebody has it.
  bool Take(std::atomic_flag& flag) {
    if (flag.test_and_set(std::memory_order_acquire)) return false;
    flag_ = &flag;
    return true;
  }

 private:
  std::atomic_flag* flag_;
};

}  // namespace

Context::Context(const Options& options) : hardware_cores_(HardwareCores()), options_(options) {
  g_contexts.Add(this);
}
Context::~Context() { g_contexts.Remove(this); }

Options Context::options() const {
  const std::lock_guard lock(mutex_);
  return options_;
}

void Context::Configure(const Options& options) {
  const std::lock_guard lock(mutex_);
  options_ = options;
}

Record Context::record() const {
  const std::lock_guard lock(mutex_);
  return record_;
}

void Context::Trim() {
  {
    const std::lock_guard lock(mutex_);
    free_.clear();
  }
  if (has_caller_.test_and_set(std::memory_order_acquire)) return;
  const Returning returning(&has_caller_);
  threads_.reset();
}

std::unique_ptr<Context::Workspace> Context::Take(Options* options) {
  const std::lock_guard lock(mutex_);
  *options = options_;
  if (free_.empty()) return std::make_unique<Workspace>();
  auto workspace = std::move(free_.back());
  free_.pop_back();
  return workspace;
}

void Context::GiveBack(std::unique_ptr<Workspace> workspace, int cores) {
  const std::lock_guard lock(mutex_);
  record_.operands.clear();
  record_.vmem_high.clear();
  record_.smem_high.clear();
  record_.events.clear();
  record_.memory_bytes = kLineBytes;  // to begin on a line
  if (cores > 0) record_.memory_bytes += static_cast<int64_t>(workspace->shared.asked_bytes());
  for (int c = 0; c < cores; ++c) {
    if (workspace->cores[c] == nullptr) {  // the grid has no step for it
      record_.vmem_high.push_back(0);
      record_.smem_high.push_back(0);
      continue;
    }
    const Core& core = *workspace->cores[c];
    record_.vmem_high.push_back(core.used(Memory::kVmem));
    record_.smem_high.push_back(core.used(Memory::kSmem));
    record_.memory_bytes += static_cast<int64_t>(core.asked_bytes());
    if (const Recorder* const recorder = core.recorder(); recorder != nullptr)
      record_.events.push_back(recorder->complete() ? recorder->events() : nullptr);
    const auto& records = core.records();
    if (record_.operands.size() < records.size()) record_.operands.resize(records.size());
    for (size_t o = 0; o < records.size(); ++o) {
      if (records[o]->name != nullptr) record_.operands[o].Add(*records[o]);
    }
  }
  free_.push_back(std::move(workspace));
}

/// False if another call has the threads.
bool Context::RunThreaded(Job& job) {
  if (job.options.parallel_for != nullptr) {
    job.options.parallel_for(job.options.parallel_for_data, job.cores, &Job::RunCore, &job);
    return true;
  }
  if (has_caller_.test_and_set(std::memory_order_acquire)) return false;
  const Returning returning(&has_caller_);
  if (threads_ == nullptr) threads_ = std::make_unique<Threads>();
  if (!threads_->Run(job.cores, hardware_cores_, &Job::RunCore, &job))
    job.workspace.cores[0]->Fail(kMemory, "fork() in a call: its other cores are in the parent");
  return true;
}

Status Context::RunOnCores(void (*invoke)(const void* bound, Core& core), const void* bound,
                           const RunOptions& how) {
  if (!internal::IsVerbose()) return RunAsAsked(invoke, bound, how, nullptr);
  internal::Ran ran;
  const auto start = std::chrono::steady_clock::now();
  const Status status = RunAsAsked(invoke, bound, how, &ran);
  ran.time = std::chrono::steady_clock::now() - start;
  ran.code = status.code;
  internal::PrintCall(how, ran);
  return status;
}

Status Context::RunAsAsked(void (*invoke)(const void* bound, Core& core), const void* bound,
                           const RunOptions& how, internal::Ran* ran) {
  Status status;
  try {
    Options options;
    auto workspace = Take(&options);
    Returning using_memory(nullptr);
    if (options.memory != nullptr && !using_memory.Take(uses_memory_)) {
      status.Fail(kMemory, "%s%s[memory] another call is in the memory of the options",
                  how.kernel != nullptr ? how.kernel : "", how.kernel != nullptr ? ": " : "");
      GiveBack(std::move(workspace), 0);
      return status;
    }
    const bool alone = options.mode == Mode::kDirect && how.bytes < kLeastShared;
    int cores = options.cores > 0 ? options.cores : alone ? 1 : hardware_cores_;
    if (how.cores > 0) cores = std::min(cores, how.cores);
    const int asked = cores;
    cores = std::min(cores, std::max(kMostCores, hardware_cores_));
    workspace->Reset(cores, hardware_cores_, options, how);
    if (cores < asked && options.mode == Mode::kEmulated)
      workspace->cores[0]->Fail(kCall, "%d cores are asked for, and %d can be emulated", asked,
                                cores);
    Job job{invoke, bound, *workspace, options, cores};
    if (cores == 1 || !RunThreaded(job)) {
      // Only a machine that is emulated has to have all its cores.
      if (options.mode == Mode::kDirect && cores > 1) {
        job.cores = cores = 1;
        workspace->Reset(cores, 1, options, how);
      }
      for (int c = 0; c < cores; ++c) Job::RunCore(&job, c);
    }
    if (options.mode == Mode::kEmulated) workspace->CheckCoverage();
    status = workspace->FirstOf(&Core::status);
    if (status.ok()) status = workspace->FirstOf(&Core::late);
    if (status.ok() && workspace->lacks_memory.load(std::memory_order_relaxed))
      throw std::bad_alloc();
    if (ran != nullptr) *ran = {options, cores, workspace->Target(), {}, kOk};
    GiveBack(std::move(workspace), cores);
  } catch (const std::bad_alloc&) {
    const bool named = how.kernel != nullptr;
    status.Fail(kMemory, "%s%s[memory] there is no memory left", named ? how.kernel : "",
                named ? ": " : "");
  } catch (const std::exception& exception) {  // of the caller's own threads
    status.Fail(kMemory, "%s", exception.what());
  }
  return status;
}

Context& DefaultContext() {
  // Never destroyed: threads may still call kernels while the process ends. Of no memory that there
  // might not be.
  alignas(Context) static unsigned char memory[sizeof(Context)];
  static Context* const context = [] {
    Context* const made = new (memory) Context;
    g_default_context.store(made, std::memory_order_release);
    return made;
  }();
  return *context;
}

}  // namespace kiln::inline KILN_ABI
