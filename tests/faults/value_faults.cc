#include "tests/faults/fault.h"

/// Values that are undefined, left out or never stored.
namespace kiln::testing {
namespace {

const std::vector<FaultKind> kKinds = {
    {"padding leaks into a reduction",
     "tail",
     {
         {"seed_sum_rows_ragged", {{"pad: 0  ", "#"}}},
         {"seed_matmul_first_ragged", {{"pad: 0  ", "#"}, {"    pad: 0\n", ""}}},
         {"seed_sum_columns", {{"pad: 0", "# pad"}}},
         {"clip_norm_within", {{", pad: 0", ""}}},
         {"softmax_rows", {{", pad: -inf", ""}}},
         {"gram", {{", pad: 0", ""}}},
         {"seed_matmul_int8_ragged", {{"pad: 0", "# pad"}, {"pad: 0", "# pad"}}},
         {"histogram", {{"where(expand(inside(values), 1), hit, false)", "hit"}}},
         {"column_moments", {{"where(expand(valid, 1), x, 0.0)", "x + 0.0"}}},
         {"seed_matmul_scratch_bf16_ragged", {{"pad: 0", "# pad"}, {"pad: 0", "# pad"}}},
     }},
    {"halo without a value",
     "undefined",
     {
         {"stencil2d", {{"pad: outside", "# pad"}}},
         {"stencil2d_even", {{"pad: outside", "# pad"}}},
         {"blur_u8", {{"pad: 0", "# pad"}}},
         {"depthwise_conv2d", {{"pad: 0", "# pad"}}},
         {"conv1d_channels", {{"pad: 0", "# pad"}}, "tail"},
         {"stencil3d",
          {{"where(known[ds(d, bx), 1:by + 1, 1:bz + 1], u[ds(d, bx), 1:by + 1, 1:bz + 1], c)",
            "u[ds(d, bx), 1:by + 1, 1:bz + 1]"}}},
     }},
    {"block left and revisited",
     "revisit",
     {
         {"seed_add_2d_ragged",
          {{"z: {array: \"T[m, n]\", like: x}",
            "z: {array: \"T[m, n]\", block: \"bm, bn\", index: \"0, j\"}"}}},
         {"segment_sum", {{"index: ids[t], j", "index: t % 2, j"}}},
         {"row_scatter", {{"index: rows[t], j", "index: t % 2, j"}}},
         {"ragged_pack", {{"index: \"t, 0\"", "index: \"t % 2, 0\""}}},
         {"softmax_online", {{"index: i, where(pass == 1, j, 0)", "index: i, j"}}},
         {"group_sum", {{"index: \"ids[v], j\"", "index: \"v % 2, j\""}}},
         {"gram", {{"index: \"i, j\", init", "index: \"l % 2, j\", init"}}},
     }},
    {"missing initialisation",
     "undefined",
     {
         {"seed_sum_rows", {{"  when first(j):\n    o = 0\n", ""}}},
         {"seed_matmul_first", {{"  when first(l):\n    z = 0\n", ""}}},
         {"prefix_sum", {{"  when first(j):\n    carry = 0\n", ""}}},
         {"flash_attention", {{"    total = 0\n", ""}}},
         {"double_buffer", {{"  top = -inf\n", ""}}},
         {"seed_matmul_scratch_bf16", {{"  when first(l):\n    acc = 0\n", ""}}},
         {"column_moments", {{"    count[0] = 0\n", ""}}},
         {"gram", {{", init: 0", ""}}},
         {"histogram", {{"  when first(i):\n    counts = 0\n", ""}}},
     }},
    {"read of memory that nothing has set",
     "undefined",
     {
         {"prefix_sum", {{"    carry = 0\n", "    carry[0:1] = 0\n"}}},
         {"causal_conv", {{"    window[0:taps - 1] = 0\n", "    window[0:1] = 0\n"}}},
         {"flash_attention", {{"    top = -inf\n", ""}}},
         {"red_black", {{"  when first(s):\n    state = u\n", ""}}},
         {"dma_store", {{"  tile[slot] = x.T * 3\n", "  tile[slot, 1:] = x.T[1:] * 3\n"}}},
         {"double_buffer", {{"  total = 0\n", ""}}},
     }},
    {"element that no step stores",
     "coverage",
     {
         {"paged_scores", {{"  score = 0\n", ""}}},
         {"mask_stores", {{", init: -1", ""}}},
         {"seed_add_2d_ragged", {{"i: cdiv(m, bm)", "i: m // bm"}}},
         {"prefix_sum", {{"i: cdiv(m, bm)", "i: m // bm"}}},
         {"transpose", {{"j: cdiv(n, bn)", "j: n // bn"}}},
         {"ragged_unpack", {{"  else:\n    x = fill\n", ""}}},
         {"seed_matmul_scratch_bf16", {{"    z = T(acc)", "    z[0:bm - 1] = T(acc[0:bm - 1])"}}},
     }},
    {"wrong group mask",
     "coverage",
     {
         {"seed_gmm_m_ragged", {{"init: 0 ", "# "}, {"<= at(out, 0)", "< at(out, 0)"}}},
         {"seed_gmm_many_in_a_tile",
          {{"init: 0 ", "# "}, {"< offsets[group + 1]", "< offsets[group + 1] - 1"}}},
         {"seed_gmm_inside_tiles",
          {{"init: 0 ", "# "}, {"offsets[group] <=", "offsets[group] + 1 <="}}},
         {"seed_gmm_transposed_f32", {{"init: 0 ", "# "}, {"<= at(out, 0)", "< at(out, 0)"}}},
         {"group_scale", {{"(offsets[g] <= row)", "(offsets[g] < row)"}}},
         {"group_scale_aligned", {{"row < offsets[g + 1]", "row < offsets[g + 1] - 1"}}},
         {"seed_tgmm_m_ragged",
          {{"where(begin <= at(lhs, 0) < end, lhs, 0)", "where(begin <= at(lhs, 0), lhs, 0)"}},
          "tail"},
         {"ragged_mean", {{"< size[s]", "<= size[s]"}}, "tail"},
         {"ragged_unpack", {{"  else:\n", "  else when r > offsets[b + 1] - offsets[b]:\n"}}},
         {"seed_gmm_existing",
          {{"      out = existing", "      acc = acc"}, {"<= at(out, 0)", "< at(out, 0)"}}},
     }},
};

}  // namespace

const std::vector<FaultKind>& ValueFaults() { return kKinds; }

}  // namespace kiln::testing
