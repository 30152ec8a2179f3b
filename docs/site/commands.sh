# Commands of `dev` about the site of all documentation; it sources this file when one is asked for that needs it.
# shellcheck shell=bash

# What the site is made with.
readonly site_pins=(markdown-it-py==4.3.0 mdurl==0.1.2 pygments==2.21.0 pyyaml==6.0.4)

site() {
  [[ -z ${1-} || $1 == --serve ]] || die "usage: ./dev site [--serve [PORT]]"
  build dev 2 kiln
  run_step environment site_environment
  run_step site make_site
  if [[ ${1-} == --serve ]]; then
    echo "http://127.0.0.1:${2:-8000} until Ctrl+C"
    exec python3 -m http.server --bind 127.0.0.1 --directory build/site "${2:-8000}"
  fi
  echo "build/site/index.html is the first page"
}

site_environment() {
  make_environment build/site-env "${site_pins[@]}"
}

make_site() {
  build/site-env/bin/python -B docs/site/build.py build/kiln build/site
}

test_site() {
  build dev 4 kiln
  run_step browser install_browser
  site_tests
}

# Three steps. Where PyPI cannot be reached, or no browser, what needs it is left out, with a line that says so.
site_tests() {
  try_step environment site_environment
  if ((status)); then
    echo "skipped: tests/site, as ${site_pins[*]} cannot be installed (see $log)"
    return 0
  fi
  run_step site make_site
  echo "[$steps/$steps] pages"
  build/site-env/bin/python -B tests/site/build_test.py build/kiln
  python3 -B tests/site/page_test.py build/site || (($? == 77))  # 77: there is no browser
}
