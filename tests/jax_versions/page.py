"""docs/jax-versions.md, of what was recorded in summary.json."""

from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "jax-versions.md"

HEAD = """\
# Releases of JAX

`kiln.jax` and `kiln.pallas` work with JAX {oldest} to {newest}. `kiln.jax.call` and `differentiable` use public interfaces
alone; reading Pallas kernels needs structures that are private in JAX and move from release to release. One file of
the package knows these, `python/kiln/pallas/_jax_internals.py`.

An older JAX is refused when `kiln.jax` or `kiln.pallas` is imported: "{refused}".
A newer one is tried. Where it has moved what Kiln reads, that is one exception that says so (`UnknownJax`, an
`ImportError`), and under `kiln.jax.native()` one warning, after which JAX interprets the kernel.

`./dev test-jax-versions` installs each of these releases, runs the package's tests that concern JAX, and writes this
page; `./dev test-jax-versions 0.9.1 newest` tests others and adds them.

| JAX | Python, numpy, ml_dtypes | tests | imported kernels with another text | left out, as JAX has it not yet |
|---|---|---|---|---|
"""

TAIL = """
"Another text": the kernels of `tests/import/records` were traced by JAX {recorded}, and this many of them are other statements when
this release traces them. Such a spec is run in the interpreter, and gives what is on record.

What is left out is JAX's own: a name that it did not have, a shape that its kernel refused, or other numbers than it
computes today (philox before 0.8, in JAX's interpreter as well). Two things are worse in old releases:

- Before 0.9.1 JAX makes a gather of a stride of a value (`x_ref[...][::2]`), which Kiln cannot say: natively such a
  kernel is interpreted, with its warning. A stride of a ref (`x_ref[::2]`) is read everywhere.
- Up to 0.10.0 JAX has no equation for `emit_pipeline`, so that such a kernel is read as what it expands to: buffers by
  hand.

In 0.6.0, 0.6.1 and 0.9.2, Pallas itself imports `absl`, which JAX does not install: `pip install absl-py`.
"""
RECORDED = "0.10.2"


def text(summary):
    tested = [release for release, result in summary.items() if "passed" in result and not result["failed"]]
    refused = [result["refused"] for result in summary.values() if "refused" in result]
    head = HEAD.format(oldest=tested[0], newest=tested[-1], refused=refused[-1] if refused else "")
    tail = TAIL.format(recorded=RECORDED)
    return head + "".join(_row(release, result) for release, result in summary.items()) + tail


def verdict(result):
    if "refused" in result:
        return "refused"
    failed = result["failed"]
    return f"all {result['passed']} pass" if not failed else f"{len(failed)} of {result['passed'] + len(failed)} fail"


def _row(release, result):
    with_ = f"{result['python']}, {result['numpy']}, {result['ml_dtypes']}"
    if "refused" in result:
        return f"| {release} | {with_} | refused | | |\n"
    failed = ": " + "; ".join(f"`{name}` ({why})" for name, why in result["failed"].items()) if result["failed"] else ""
    lacks = "; ".join(f"{count} for {_lack(why)}" for why, count in result["left out"].items() if _lack(why))
    return f"| {release} | {with_} | {verdict(result)}{failed} | {result['other texts'] or ''} | {lacks} |\n"


def _lack(why):
    """What JAX lacks, of a reason as `jax_names.needs` gives it; "" for others."""
    found = why.removeprefix("JAX has ").rpartition(" from ")
    return found[0] if why.startswith("JAX has ") else ""
