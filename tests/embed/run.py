"""Every way to have Kiln in a project, by each compiler and generator: ./dev test-embed.

    run.py TOOL_BUILD FOLDER [WORD...]

TOOL_BUILD is a build of Kiln with its tool; FOLDER is for installations and projects. WORDs choose cases by parts of
their names.
"""

import itertools
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
COMPILERS = [c for c in ("g++", "clang++", "clang++-19") if shutil.which(c)]
GENERATORS = ("Ninja", "Unix Makefiles", "Ninja Multi-Config")
CONFIGS = ("Release", "Debug")
# Of a project that is strict with its own files, and says so for all: Kiln's have their own ways.
STRICT = (
    "-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Wold-style-cast -Werror -ffast-math -fno-exceptions -fno-rtti"
)
# Names of Kiln's other than those of C. (A library's own files may make weak ones of inline functions.)
FOREIGN = re.compile(r" (?!kiln_)\S*kiln\b|HWY|N_AVX|N_SSE|N_SCALAR|N_EMU")

# A program that calls two kernels, and knows no version.
TOGETHER = """#include <vector>
int Scale(const float* x, float* y, long n);
int Multiply(const float* a, const float* b, float* c, long n);
int main() {
  std::vector<float> a(64 * 64, 2), b(64 * 64, 3), c(64 * 64);
  if (Scale(a.data(), c.data(), 300) != 0 || c[299] != 7) return 1;
  return Multiply(a.data(), b.data(), c.data(), 64) != 0 || c[4095] != 6 * 64;
}
"""
CALL_OF = {
    "scaled": """#include "scaled.h"
int Scale(const float* x, float* y, long n) { return kiln::scaled({x, {n}}, {y, {n}}).code; }
""",
    "product": """#include "product.h"
int Multiply(const float* a, const float* b, float* c, long n) {
  return kiln::product({a, {n, n}}, {b, {n, n}}, {c, {n, n}}).code;
}
""",
}


class Wrong(Exception):
    """What is not as it should be."""


def run(command, folder=None, status=0, **environment):
    """Its output; or whatever it says if it does not end so."""
    words = command if isinstance(command, list) else ["bash", "-euo", "pipefail", "-c", command]
    done = subprocess.run(
        [str(w) for w in words], cwd=folder, capture_output=True, text=True, check=False, env=os.environ | environment
    )
    if (done.returncode != 0) != (status != 0):
        raise Wrong(f"$ {command}\n{(done.stdout + done.stderr)[-6000:]}\nexit status {done.returncode}")
    return done.stdout + done.stderr


def version_of(folder):
    """Of the headers in an installation or a checkout."""
    text = next(folder.glob("**/kiln/core/version.h")).read_text()
    return ".".join(re.findall(r"#define KILN_VERSION_\w+ (\d+)", text))


def c_of(compiler):
    return compiler.replace("g++", "gcc").replace("clangcc", "clang").replace("clang++", "clang")


class Matrix:
    """Cases, and what they need: an installation that was moved to a name with a space, and one of another version."""

    def __init__(self, tool_build, folder):
        self.folder = folder
        self.texts = {}  # of each generated file: what was generated, and by which case first
        self.prefix = folder / "moved here" / "kiln"
        self.other = folder / "other version" / "kiln"
        self.tool_build = tool_build
        self.tool = self.prefix / "bin" / "kiln"

    def install(self):
        first = self.folder / "first"
        for old in (first, self.prefix.parent):
            shutil.rmtree(old, ignore_errors=True)
        run(["cmake", "--install", self.tool_build, "--prefix", first / "kiln"])
        first.rename(self.prefix.parent)
        self.version = version_of(self.prefix)

    def install_other(self):
        """The runtime of a checkout with another version, and a tool that says it is of it."""
        major, minor, _ = self.version.split(".")
        checkout = self.folder / "other checkout"
        shutil.rmtree(self.other.parent, ignore_errors=True)
        for part in ("CMakeLists.txt", "cmake", "runtime", "generator"):
            to = checkout / part
            to.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / part).is_dir():
                shutil.copytree(ROOT / part, to, dirs_exist_ok=True)
            else:
                shutil.copy(ROOT / part, to)
        header = checkout / "runtime/kiln/core/version.h"
        text = header.read_text()
        header.write_text(text.replace(f"MINOR {minor}", f"MINOR {int(minor) + 1}"))
        build = self.folder / "other build"
        run(
            [
                "cmake",
                "-S",
                checkout,
                "-B",
                build,
                "-G",
                "Ninja",
                "-DKILN_TOOL=OFF",
                "-DCMAKE_BUILD_TYPE=Debug",
                "-DKILN_DEBUG_KERNELS=ON",
                f"-DCMAKE_INSTALL_PREFIX={self.other}",
            ]
        )
        run(["cmake", "--build", build, "--target", "install"])
        self.other_version = version_of(self.other)
        (self.other / "bin").mkdir(exist_ok=True)
        tool = self.other / "bin" / "kiln"
        tool.write_text(
            f'#!/bin/sh\n[ "$1" = --version ] && echo "kiln {self.other_version}" && exit\nexec "{self.tool}" "$@"\n'
        )
        tool.chmod(0o755)

    def compare(self, case, folder):
        """What a tool wrote for a kernel is the same wherever it was written."""
        found = sorted(p for p in folder.rglob("*") if p.suffix in (".h", ".cc") and p.parent.suffix == ".kiln")
        for path in found:
            text = path.read_bytes()
            first, expected = self.texts.setdefault(path.name, (case, text))
            if text != expected:
                raise Wrong(f"{path} is not what {first} wrote")
        if not found:
            raise Wrong(f"no generated text in {folder}")

    def build(self, case, compiler, generator, configs, options, version=None):
        """Configures, builds and runs the program in each of the configurations."""
        folder = self.folder / "projects" / re.sub(r"\W+", "-", case)
        shutil.rmtree(folder, ignore_errors=True)
        several = generator.endswith("Multi-Config")
        kind = [f"-DCMAKE_BUILD_TYPE={configs[0]}"] if not several else []
        run(
            [
                "cmake",
                "-S",
                HERE / "app",
                "-B",
                folder,
                "-G",
                generator,
                f"-DCMAKE_CXX_COMPILER={compiler}",
                f"-DCMAKE_C_COMPILER={c_of(compiler)}",
                *kind,
                *options,
            ]
        )
        for config in configs:
            said = run(["cmake", "--build", folder, "--config", config, "-j", str(len(os.sched_getaffinity(0)))])
            if "warning:" in said:
                raise Wrong(said[-6000:])
            place = folder / config if several else folder
            run([place / "app", version or self.version])
            run([place / "run_scaled", "x=random", "n=300", "--benchmark=0.01"])
            for library, kernel in (
                ("libscaling.so", "scaled"),
                ("libproducts.so", "product"),
                ("plugin.so", "scaled"),
            ):
                names = run(["nm", "-DC", "--defined-only", place / library]).splitlines()
                leaked = [n for n in names if n.split()[1] in "TDB" and FOREIGN.search(n)]
                if not any(n.endswith(f" T kiln_{kernel}") for n in names):
                    raise Wrong(f"{library} has no kiln_{kernel}")
                if leaked:
                    raise Wrong(f"{library} has other names than the C interface:\n" + "\n".join(leaked))
        self.compare(case, folder)

    def by_hand(self, case, compiler, flags):
        """As docs/embedding.md has it for who does not use CMake."""
        folder = self.folder / "projects" / re.sub(r"\W+", "-", case)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name in ("scaled", "product"):
            run(
                [
                    self.tool,
                    "generate",
                    HERE / f"app/{name}.yaml",
                    "--module",
                    "--name",
                    name,
                    "-o",
                    folder / f"{name}.kiln",
                ]
            )
        pc = next(self.prefix.rglob("kiln-runtime.pc")).parent
        shell = f"""
          kiln() {{ pkg-config "$@" kiln-runtime; }}
          [[ $(kiln --modversion) == {self.version} ]]
          flags="-fPIC -fvisibility=hidden {flags}"
          for name in scaled product; do
            eval {compiler} -std=c++20 -ffp-contract=off -fwrapv $flags -I$name.kiln \
              -c $name.kiln/$name.cc $(kiln --cflags) -o $name.o
            eval {compiler} -std=c++20 $flags -c $name.kiln/${{name}}_module.cc $(kiln --cflags) -o ${{name}}_module.o
          done
          eval {compiler} -std=c++20 $flags -Iscaled.kiln -c {HERE}/app/scaling.cc $(kiln --cflags) -o scaling.o
          eval {c_of(compiler)} -std=c11 -fPIC {flags} -c {HERE}/app/products.c $(kiln --cflags) -o products.o
          eval {compiler} -shared scaling.o scaled.o $(kiln --libs) -o libscaling.so
          eval {compiler} -shared products.o product.o $(kiln --libs) -o libproducts.so
          eval {compiler} -shared *_module.o scaled.o product.o -Wl,--whole-archive $(kiln --libs) \
            -Wl,--no-whole-archive -o plugin.so
          eval {compiler} -std=c++20 $flags -DPLUGIN=\\'\\"$PWD/plugin.so\\"\\' {HERE}/app/main.cc $(kiln --cflags) \
            -L. -lscaling -lproducts $(kiln --libs) -ldl -Wl,-rpath,. -o app
          ./app {self.version}"""
        run(shell, folder, PKG_CONFIG_PATH=str(pc))
        self.compare(case, folder)

    def side_by_side(self, case):
        """Of two installations each project has the one that it asks for, and does not mix them."""
        both = f"-DCMAKE_PREFIX_PATH={self.other};{self.prefix}"
        for wanted, version in ((self.version, self.version), (self.other_version, self.other_version)):
            self.build(
                f"{case} {wanted}", COMPILERS[0], "Ninja", ("Debug",), [both, f"-DKILN_WANTED={wanted}"], version
            )
        said = run(
            ["cmake", "-S", HERE / "app", "-B", self.folder / "projects/refused", both, "-DKILN_WANTED=7.0"], status=1
        )
        if "Kiln" not in said:
            raise Wrong(said)
        said = run(
            [
                "cmake",
                "-S",
                HERE / "app",
                "-B",
                self.folder / "projects/refused-tool",
                both,
                f"-DKILN_WANTED={self.version}",
                f"-DKILN_EXECUTABLE={self.other}/bin/kiln",
            ],
            status=1,
        )
        if "they go together" not in " ".join(said.split()):
            raise Wrong(said)

        # Kernels by the headers of one, and the runtime of the other.
        folder = self.folder / "projects" / "mixed"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        run([self.tool, "generate", HERE / "app/scaled.yaml", "-o", folder])
        (folder / "main.cc").write_text('#include "scaled.h"\nint main() { return kiln::scaled({}, {}).ok(); }\n')
        library = next(self.other.rglob("libkiln_runtime.a"))
        said = run(
            f"{COMPILERS[0]} -std=c++20 *.cc -I. -I'{self.prefix}/include' '{library}' -lhwy -pthread -o app",
            folder,
            status=1,
        )
        if f"{self.namespace(self.version)}::CallCheck" not in said:
            raise Wrong(said)

        # Kernels of either in one program: not in it itself, as the C functions have one name in both, but in shared
        # libraries, each with its own runtime, whose C++ names are others, also where all of them are exported.
        folder = self.folder / "projects" / "together"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "main.cc").write_text(TOGETHER)
        objects, runtimes, names = [], [], {}
        for name, prefix, version in (
            ("scaled", self.prefix, self.version),
            ("product", self.other, self.other_version),
        ):
            run([self.tool, "generate", HERE / f"app/{name}.yaml", "-o", folder])
            (folder / f"call_{name}.cc").write_text(CALL_OF[name])
            both = [f"{name}.o", f"call_{name}.o"]
            for made in both:
                source = Path(made).with_suffix(".cc")
                flags = ["-std=c++20", "-fPIC", "-ffp-contract=off", "-fwrapv", "-I.", f"-I{prefix}/include"]
                run([COMPILERS[0], *flags, "-c", source, "-o", made], folder)
            objects += both
            runtimes.append(next(prefix.rglob("libkiln_runtime.a")))
            run(
                [COMPILERS[0], "-shared", *both, runtimes[-1], "-lhwy", "-pthread", "-Wl,-z,defs", "-o", f"lib{name}.so"],
                folder,
            )
            found = run(["nm", "-DC", "--defined-only", folder / f"lib{name}.so"])
            names[version] = {n for n in re.findall(r"kiln::v\d+_\d+::", found)}
        if names != {v: {self.namespace(v) + "::"} for v in (self.version, self.other_version)}:
            raise Wrong(f"exported: {names}")
        run([COMPILERS[0], "main.cc", "-L.", "-lscaled", "-lproduct", "-Wl,-rpath,.", "-o", "app"], folder)
        run(["./app"], folder)
        said = run([COMPILERS[0], "main.cc", *objects, *runtimes, "-lhwy", "-pthread", "-o", "one"], folder, status=1)
        if "multiple definition of `kiln_version'" not in said:
            raise Wrong(said)

    @staticmethod
    def namespace(version):
        """Of the C++ names in a runtime."""
        return f"kiln::v{'_'.join(version.split('.')[:2])}"

    def cases(self):
        """Names and functions."""
        found = [f"-DCMAKE_PREFIX_PATH={self.prefix}"]
        for compiler, generator in itertools.product(COMPILERS, GENERATORS):
            several = [CONFIGS] if generator.endswith("Multi-Config") else [(c,) for c in CONFIGS]
            for configs in several:
                name = f"find_package, {compiler}, {generator}, {' and '.join(configs)}"
                yield name, lambda n=name, a=(compiler, generator, configs): self.build(n, *a, found)
        for compiler, flags in itertools.product(COMPILERS, ("-O3", "-O0 -g")):
            name = f"pkg-config, {compiler}, {flags}"
            yield name, lambda n=name, a=(compiler, flags): self.by_hand(n, *a)
        part = [f"-DKILN_SOURCE={ROOT}", "-DKILN_TOOL=OFF", f"-DKILN_EXECUTABLE={self.tool}"]
        for compiler, generator in zip(COMPILERS, itertools.cycle(GENERATORS[::-1])):
            name = f"add_subdirectory, {compiler}, {generator}, Debug"
            yield name, lambda n=name, a=(compiler, generator, ("Debug",)): self.build(n, *a, part)
        # No build type, as CMake has it where nobody says one.
        for compiler, (way, options) in itertools.product(
            COMPILERS, (("find_package", found), ("add_subdirectory", part))
        ):
            name = f"{way}, {compiler}, Ninja, strict"
            strict = [*options, f"-DCMAKE_CXX_FLAGS={STRICT}"]
            yield name, lambda n=name, a=(compiler, "Ninja", ("",), strict): self.build(n, *a)
        name = f"add_subdirectory with the tool, {COMPILERS[-1]}, Ninja, Debug"
        yield name, lambda n=name: self.build(n, COMPILERS[-1], "Ninja", ("Debug",), [f"-DKILN_SOURCE={ROOT}"])
        yield "two versions", lambda: self.side_by_side("two versions")


def main():
    tool_build, folder, *words = sys.argv[1:]
    folder = Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if shutil.which("ccache"):
        os.environ["CMAKE_C_COMPILER_LAUNCHER"] = os.environ["CMAKE_CXX_COMPILER_LAUNCHER"] = "ccache"
        os.environ["CCACHE_NOHASHDIR"] = "1"  # Kiln's files are the same in the folders of two cases
    matrix = Matrix(Path(tool_build).resolve(), folder)
    steps = [("install, and move", matrix.install), ("another version", matrix.install_other)]
    chosen = [(n, case) for n, case in matrix.cases() if not words or any(w in n for w in words)]
    if words and not any("two versions" in n for n, _ in chosen):
        steps.pop()
    failed = 0
    for number, (name, step) in enumerate(steps + chosen, 1):
        start = time.monotonic()
        print(f"[{number}/{len(steps) + len(chosen)}] {name} ... ", end="", flush=True)
        try:
            step()
            print(f"ok ({time.monotonic() - start:.1f} s)", flush=True)
        except Wrong as wrong:
            failed += 1
            print(f"failed\n{wrong}", flush=True)
            if number <= len(steps):
                break
    print(f"{len(chosen) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


main()
