#include "tests/faults/fault.h"

/// Blocks and elements that an array does not have.
namespace kiln::testing {
namespace {

const std::vector<FaultKind> kKinds = {
    {"block index out of range",
     "index-range",
     {
         {"seed_add_2d_ragged", {{"index: i, j", "index: i + 1, j"}}},
         {"seed_sum_rows", {{"index: i, j", "index: i, j + 1"}}},
         {"seed_matmul_first", {{"index: l, j", "index: l + 1, j"}}},
         {"softmax_rows", {{"\"i, 0\", pad", "\"i, 1\", pad"}}},
         {"prefix_sum", {{"\"i, j\"}", "\"i, j - 1\"}"}}},
     }},
    {"index map in elements",
     "index-range",
     {
         {"seed_add_2d_ragged", {{"index: i, j", "index: i * bm, j * bn"}}},
         {"seed_sum_rows", {{"index: i, j", "index: i, j * bn"}}},
         {"seed_matmul_first", {{"index: i, l", "index: i, l * bk"}}},
         {"softmax_rows", {{"\"i, 0\"}", "\"i * bm, 0\"}"}}},
         {"prefix_sum", {{"\"i, j\", pad", "\"i * bm, j\", pad"}}},
     }},
    // By hand, or by subscripts of the body.
    {"write or read past an edge",
     "index-range",
     {
         {"double_buffer", {{"ds((c + 1) * bm, bm)", "ds((c + 1) * bm + 1, bm)"}}},
         {"dma_store", {{"y[ds(j * bn, bn)", "y[ds(j * bn + 1, bn)"}}},
         {"dma_permute", {{"y[ds(t * b, b)]", "y[ds(t * b + 1, b)]"}}},
         {"paged_scores", {{"score[ds(p * page, page)]", "score[ds((p + 1) * page, page)]"}}},
         {"causal_conv", {{"window[ds(k, bt)]", "window[ds(k + 1, bt)]"}}},
         {"weight_stream", {{"next % steps(l) * bk", "next * bk"}}},
     }},
    {"prefetch index out of range",
     "index-range",
     {
         {"embedding_gather", {{"max(ids[t], 0)", "ids[t]"}}},
         {"segment_sum", {{"index: ids[t], j", "index: ids[t] + segments, j"}}},
         {"ragged_pack", {{"row[t], 0", "row[t] + longest, 0"}}},
         {"update_blocks", {{"index: block_rows[t]", "index: block_rows[t + 1000]"}}},
         {"row_scatter", {{"index: rows[t]", "index: rows[t] + m"}}},
         {"dma_gather", {{"ids[i * bt + r]", "ids[i * bt + r + 1]"}}},
     }},
    // Where a clamp would hide it.
    {"index past 64 bits",
     "index-range",
     {
         {"embedding_gather", {{"max(ids[t], 0)", "clamp((ids[t] + 16) << 60, 0, 1)"}}},
         {"segment_sum", {{"index: ids[t], j", "index: min((ids[t] + 2) ** 64, 0), j"}}},
         {"row_scatter",
          {{"index: rows[t]", "index: min((rows[t] + 2) * 5000000000 * 5000000000, 0)"}}},
         {"ragged_pack", {{"row[t], 0", "max(row[t] + (9223372036854775807 - row[t]) + 1, 0), 0"}}},
         {"dma_gather", {{"ids[i * bt + r]", "clamp((ids[i * bt + r] + 16) << 60, 0, 1)"}}},
     }},
};

}  // namespace

const std::vector<FaultKind>& IndexFaults() { return kKinds; }

}  // namespace kiln::testing
