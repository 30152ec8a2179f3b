/* The C interface. A kernel k is the function

     int32_t kiln_k(const DLTensor* x, ..., kiln_context* context, kiln_status* status);

   with the arguments in the order of its spec; it returns the code of the status. A null context is
   the default one, and a null status is not written. */
#ifndef KILN_C_H_
#define KILN_C_H_

#include <dlpack/dlpack.h>
#include <stdint.h>

#include "kiln/core/version.h"

/* Of the functions that a shared library offers to its users: those of this interface. Runtime and
   kernels are compiled so that it keeps all other names to itself. */
#define KILN_EXPORT __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* 0: the call succeeded. The codes are those of kiln/status.h. */
typedef struct kiln_status {
  int32_t code;
  char message[508];
} kiln_status;

/* "0.1.0": of the runtime that is linked. */
const char* kiln_version(void);

/* "index-range" */
const char* kiln_code_name(int32_t code);

/* Runs task(argument, i) for all 0 <= i < count, in any order and on any threads, and returns when
   all have returned. */
typedef void (*kiln_parallel_for)(void* data, int32_t count,
                                  void (*task)(void* argument, int32_t i), void* argument);

enum { KILN_DIRECT = 0, KILN_EMULATED = 1 };
enum { KILN_DMA_ON_WAIT = 0, KILN_DMA_EAGER = 1 };
/* ZERO_EDGES: zeros past the edges of arrays that the body sums over, NaN elsewhere. */
enum {
  KILN_POISON_NAN = 0,
  KILN_POISON_RANDOM = 1,
  KILN_POISON_ZERO = 2,
  KILN_POISON_ZERO_EDGES = 3
};

typedef struct kiln_options {
  int32_t cores;      /* 0: as many as the hardware has, one for small calls */
  int32_t mode;       /* KILN_DIRECT or KILN_EMULATED */
  int64_t vmem_bytes; /* budgets of an emulated core; 0: as much as one likes */
  int64_t smem_bytes;
  int32_t dma;
  int32_t poison;
  int32_t shuffle;                /* not 0: visit the parallel axes in a random order */
  uint64_t seed;                  /* of that order and of random poison */
  int32_t events;                 /* not 0: keep what the copies of emulated cores were */
  kiln_parallel_for parallel_for; /* instead of the context's own threads */
  void* parallel_for_data;
  int64_t l1_bytes; /* caches that Direct plans for; 0: as detected */
  int64_t l2_bytes;
  int64_t last_cache_bytes;
} kiln_options;

/* The defaults: set them before you change some. */
void kiln_options_init(kiln_options* options);

typedef struct kiln_context kiln_context;

/* Null options: the defaults. Returns null when there is no memory. */
kiln_context* kiln_context_new(const kiln_options* options);
void kiln_context_free(kiln_context* context);
/* Takes effect with the next call. */
void kiln_context_configure(kiln_context* context, const kiln_options* options);
/* Gives memory and threads back until the next call. */
void kiln_context_trim(kiln_context* context);

/* Whoever sets *flag to anything but 0, atomically, ends the context's calls between two steps,
   with the status "cancelled". Null: nobody does. Takes effect with the next call. */
void kiln_context_set_cancel(kiln_context* context, const int32_t* flag);
/* What blocks and panels of a call are kept in, one call at a time, instead of memory that the
   context takes for itself. Null: its own. Takes effect with the next call. */
void kiln_context_set_memory(kiln_context* context, void* memory, int64_t bytes);
/* How much that has to be for a call as the one that finished last. */
int64_t kiln_context_memory_bytes(const kiln_context* context);

/* What the call that finished last has copied; sums over the cores. */
typedef struct kiln_operand_record {
  char name[64];
  int32_t in_smem;
  int32_t is_output;
  int64_t copies;
  int64_t bytes;
  int64_t skipped;
  int64_t buffers;
  int64_t memory_bytes;
} kiln_operand_record;

/* Writes at most `capacity` records and returns how many there are. */
int32_t kiln_context_operands(const kiln_context* context, int32_t capacity,
                              kiln_operand_record* records);
/* Bytes of VMEM that were in use, by core. */
int32_t kiln_context_vmem_high(const kiln_context* context, int32_t capacity, int64_t* bytes);

enum {
  KILN_EVENT_STEP = 0,         /* a step begins: what follows happens in it */
  KILN_EVENT_COPY_IN_NEXT = 1, /* a copy begins, of a block for the step after it */
  KILN_EVENT_COPY_IN = 2,      /* a copy begins, of a block for this step */
  KILN_EVENT_COPY_OUT = 3,     /* the step has left a block */
  KILN_EVENT_START = 4,        /* the body starts a copy */
  KILN_EVENT_WAIT = 5          /* the body waits for one */
};

typedef struct kiln_event {
  int32_t kind;
  int32_t operand;   /* its number in the spec, or -1 */
  int64_t place;     /* the step's number in the grid, or that of the block among its places */
  int64_t bytes;     /* inside the array; of a wait: waited for, -1: those of the oldest copy */
  int64_t semaphore; /* any number that no other one has */
  int32_t out;       /* KILN_EVENT_START: to HBM */
} kiln_event;

/* The events of a core in the call that finished last: writes at most `capacity` of them and
   returns how many there are; -1: there is no such core, or it had more than are kept. */
int64_t kiln_context_events(const kiln_context* context, int32_t core, int64_t capacity,
                            kiln_event* events);

#pragma GCC visibility pop
#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* KILN_C_H_ */
