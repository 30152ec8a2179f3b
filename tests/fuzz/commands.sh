# Commands of `dev` about fuzzers; it sources this file when one is asked for.
# shellcheck shell=bash

readonly fuzz_programs=build-fuzz/tests/fuzz
# What an input may take: more is a diagnostic. The sanitizers keep freed memory for a while, of which
# their own default is half of what is allowed here.
readonly fuzz_limits=(-timeout=5 -rss_limit_mb=512 -malloc_limit_mb=512)
readonly fuzz_environment=(ASAN_OPTIONS=quarantine_size_mb=16:malloc_context_size=8 UBSAN_OPTIONS=print_stacktrace=1)

fuzz() {
  local minutes=${2:-5} targets target found=0
  [[ -n ${1-} ]] || die "usage: ./dev fuzz TARGET [MINUTES]"
  [[ $minutes =~ ^[0-9]+$ ]] || die "\"$minutes\" is no number of minutes"
  build fuzz 0 fuzzers
  mapfile -t targets < <("$fuzz_programs/fuzz_files" targets)
  if [[ $1 != all ]]; then
    [[ " ${targets[*]} " == *" $1 "* ]] || die "no target \"$1\"; there are: all ${targets[*]}"
    targets=("$1")
  fi
  for target in "${targets[@]}"; do
    fuzz_target "$target" $((minutes * 60)) || found=1
  done
  return $found
}

# fuzz_target TARGET SECONDS: fails when something was found.
fuzz_target() {
  local target=$1 folder=build-fuzz/fuzz/$1 found=build-fuzz/found/$1 status
  mkdir -p "$folder/corpus" "$found"
  "$fuzz_programs/fuzz_files" unpack "$target" "$folder/corpus"
  "$fuzz_programs/fuzz_files" dictionary "$target" >"$folder/words"

  set +e
  env "${fuzz_environment[@]}" "$fuzz_programs/fuzz_$target" "$folder/corpus" \
    -dict="$folder/words" -max_len="$("$fuzz_programs/fuzz_files" longest "$target")" \
    -max_total_time="$2" "${fuzz_limits[@]}" -print_final_stats=1 -artifact_prefix="$PWD/$found/" \
    2>&1 </dev/null | tee "$folder/log" | show_fuzzing "$target"
  status=${PIPESTATUS[0]}
  set -e
  record_fuzzing "$target" "$folder/log"
  ((status == 0)) && return
  grep -m1 -E '^(==[0-9]+== ?ERROR|SUMMARY)|terminate called|runtime error' "$folder/log" || true
  local input
  input=$(sed -n 's/.*Test unit written to //p' "$folder/log" | tail -n 1)
  printf '%s\n' "$target: found something; the log is $folder/log, and this shows it again:" \
    "  $fuzz_programs/fuzz_$target ${fuzz_limits[*]} ${input:-(no input was written)}"
  return 1
}

# Reads libFuzzer's own lines, and says where it is: at once on a terminal, else now and then.
show_fuzzing() {
  local target=$1 line next=$SECONDS
  while IFS= read -r line; do
    [[ $line =~ ^#([0-9]+).*cov:\ ([0-9]+).*corp:\ ([^ ]+) ]] || continue
    line="$target: ${BASH_REMATCH[1]} executions, ${BASH_REMATCH[2]} edges, corpus ${BASH_REMATCH[3]}"
    if [[ -t 1 ]]; then
      printf '\r\e[K%s' "$line"
    elif ((SECONDS >= next)); then
      printf '%s\n' "$line"
      next=$((SECONDS + 60))
    fi
  done
  [[ ! -t 1 ]] || printf '\r\e[K'
}

# The last line of a run, and its row for `./dev corpora`.
record_fuzzing() {
  awk -v target="$1" -v runs=build-fuzz/runs.tsv '
    /^#[0-9]+/ {
      for (i = 1; i < NF; ++i) if ($i == "cov:") edges = $(i + 1); else if ($i == "ft:") features = $(i + 1)
      if ($2 == "INITED") began = edges
    }
    /^stat::number_of_executed_units:/ { executions = $2 }
    /^stat::average_exec_per_sec:/ { speed = $2 }
    /^stat::peak_rss_mb:/ { memory = $2 }
    /^stat::slowest_input_ms:/ { slowest = $2 }
    END {
      printf "%s: %d executions, %d a second, %d new edges of %d, at most %d MiB, the slowest in %d ms\n",
             target, executions, speed, edges - began, edges, memory, slowest
      printf "%s\t%d\t%d\t%d\t%d\t%d\t%d\n", target, executions, speed, edges, features, memory,
             slowest >> runs
    }' "$2"
}

# What adds nothing to the coverage is left out. Review the diff.
corpora() {
  local targets target
  build fuzz 0 fuzzers
  mapfile -t targets < <("$fuzz_programs/fuzz_files" targets)
  steps=${#targets[@]} step=0
  for target in "${targets[@]}"; do
    run_step "$target" minimise "$target"
  done
  "$fuzz_programs/fuzz_files" record build-fuzz/runs.tsv
  git --no-pager diff --stat -- tests/fuzz
}

minimise() {
  local folder=build-fuzz/fuzz/$1
  rm -rf "$folder/least"
  mkdir -p "$folder/corpus" "$folder/least"
  "$fuzz_programs/fuzz_files" unpack "$1" "$folder/corpus"
  env "${fuzz_environment[@]}" "$fuzz_programs/fuzz_$1" "$folder/least" "$folder/corpus" -merge=1 \
    -use_counters=0 "${fuzz_limits[@]}"
  "$fuzz_programs/fuzz_files" pack "$1" "$folder/least"
}
