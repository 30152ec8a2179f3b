// `kiln tune`, and the lock files that it writes. Two configurations are compiled, for this CPU.
#include "tests/catch.h"
#include "tests/cli/tool.h"

namespace kiln::test {
namespace {

constexpr const char* kTwice =
    "kernel: twice\n"
    "params: {b: 8, c: 4}\n"
    "grid: {i: \"cdiv(n, b)\"}\n"
    "dimension_semantics: parallel\n"
    "inputs:\n  x: {array: \"f32[n, 64]\", block: \"b, all\", index: \"i, 0\"}\n"
    "outputs:\n  o: {array: \"f32[n]\", block: b, index: i}\n"
    "body: |\n  o = sum(x, axis=1) * f32(c)\n";

constexpr const char* kLock =
    "lock: twice\n"
    "variants:\n"
    "  - when: n == 4096\n"
    "    set: {b: 512}\n"
    "    blocks: fixed\n";

/// A folder with the spec and, unless it is empty, a lock.
class Project {
 public:
  explicit Project(const std::string& lock = "", const std::string& spec = kTwice) {
    WriteText(folder_ / "twice.yaml", spec);
    if (!lock.empty()) WriteText(folder_ / "twice.lock.yaml", lock);
  }

  /// With a cache of its own, and too small for precompiled headers: two kernels do not pay for
  /// them.
  Shown Run(const std::string& arguments) const {
    return Shell(
        "KILN_CACHE_LIMIT=400M XDG_CACHE_HOME='" + (folder_ / "cache") + "' kiln " + arguments,
        folder_.path());
  }
  std::string Lock() const { return ReadText(folder_ / "twice.lock.yaml"); }

 private:
  Folder folder_;
};

TEST_CASE(
    "a tune ends when its time is up, and the next goes on: each configuration is timed once") {
  const Project project;
  const std::string tune = "tune twice.yaml n=4096 --try b=512 --cores=1";
  const Shown first = project.Run(tune + " --within=0.001");
  INFO(first.out + first.err);
  REQUIRE(first.status == 0);
  CHECK(Contains(first.out, "twice n=4096, on "));
  CHECK(Contains(first.out, ": 2 combinations, "));
  CHECK(Contains(first.out, "1 timed (1 of them now)"));
  CHECK(Contains(first.out, "no time for the others: --within gives more than 0.001"));
  CHECK(Contains(first.err, "tuning twice, 1 of at most 24, "));
  CHECK(Contains(first.err, " s; best "));
  const Shown second = project.Run(tune + " --within=60");
  CHECK(Contains(second.out, "2 timed (1 of them now)"));
  CHECK(!Contains(second.out, "no time"));
  const Shown third = project.Run(tune);
  CHECK(third.status == 0);
  CHECK(Contains(third.out, "(0 of them now)"));
  CHECK(!Contains(third.err, "compiling"));
  // Whatever is fastest here: the lock says what the last line says.
  if (Contains(third.out, "no lock is needed"))
    CHECK(project.Lock().empty());
  else
    CHECK(Contains(project.Lock(), "when: \"n == 4096\"\n    set: {b: 512}\n"));
  CHECK(project.Run(tune + " --within=0").status == 2);
}

TEST_CASE("for a TPU the predicted time counts, and builds follow the lock") {
  const Project project;
  const Shown alone = project.Run("generate twice.yaml --stdout");
  const Shown tuned = project.Run("tune twice.yaml n=4096 --for=v5e --when 'n >= 1024'");
  INFO(tuned.out + tuned.err);
  REQUIRE(tuned.status == 0);
  CHECK(Contains(tuned.out, "\nwrote twice.lock.yaml\n"));
  const std::string lock = project.Lock();
  CHECK(Contains(lock, "lock: twice\nvariants:\n  - when: \"n >= 1024\"\n    set: {b: "));
  CHECK(Contains(lock, "predicted for v5e, "));
  CHECK(Contains(project.Run("tune twice.yaml n=4096 --for=v5e --when 'n >= 1024'").out,
                 "\nunchanged: twice.lock.yaml\n"));

  const Shown with = project.Run("generate twice.yaml --stdout");
  CHECK(Contains(with.out, "n >= 1024"));
  CHECK(with.out == project.Run("generate twice.yaml --stdout").out);
  CHECK(project.Run("generate twice.yaml --stdout --no-lock").out == alone.out);
  CHECK(Contains(project.Run("show twice.yaml --stage=plan").out, "\nvariant when n >= 1024: b="));
  CHECK(Contains(project.Run("run twice.yaml x=random:1 n=1000").out, "125 grid steps"));
  CHECK(!Contains(project.Run("run twice.yaml x=random:1 n=1024").out, "128 grid steps"));
}

TEST_CASE("a lock is chosen by sizes before the spec's own variants, --set wins over both") {
  const Project project(kLock,
                        std::string(kTwice) + "variants:\n  - {when: n > 9, set: {b: 256}}\n");
  CHECK(Contains(project.Run("run twice.yaml x=ones n=4096").out, "8 grid steps"));
  CHECK(Contains(project.Run("run twice.yaml x=ones n=2048").out, "8 grid steps"));
  CHECK(Contains(project.Run("run twice.yaml x=ones n=4096 --set b=1024").out, "4 grid steps"));
  CHECK(Contains(project.Run("run twice.yaml x=ones n=4096 --no-lock").out, "16 grid steps"));
  const std::string plan = project.Run("show twice.yaml --stage=plan").out;
  CHECK(Contains(plan, "\nvariant when n == 4096: b=512, in Direct too, from twice.lock.yaml:3\n"));
  CHECK(Contains(plan, "\nvariant when n > 9: b=256\n"));
}

TEST_CASE("a lock is read as strictly as a spec, and must fit it") {
  struct Wrong {
    std::string from, to, message;
  };
  const Wrong wrong[] = {
      {"lock: twice", "lock: thrice",
       "twice.lock.yaml:1:7: error[key]: this is the lock of `thrice`, and the kernel is `twice`"},
      {"blocks: fixed", "blocks: fix",
       "twice.lock.yaml:5:13: error[key]: `blocks` takes `own` or `fixed`, not `fix`"},
      {"set: {b: 512}", "set: {bb: 512}",
       "twice.lock.yaml:4:11: error[key]: the variant sets `bb`, which is not a parameter"},
      {"set: {b: 512}", "set: {b: f32}",
       "twice.lock.yaml:4:14: error[type]: `b=f32` is a dtype, and the parameter is an integer"},
      {"set: {b: 512}", "sat: {b: 512}", "  hint: did you mean `set`? known keys: instance, when"},
      {"n == 4096", "p == 4096", "twice.lock.yaml:3:11: error[name]: "},
      {"  - when", "  - instance: twice_f32\n    when",
       "error[name]: the lock does not fit its spec any more: there is no instance `twice_f32`"},
      {"set: {b: 512}", "set: {b: -1}",
       "twice.lock.yaml:3:5: error[shape]: the lock does not fit its spec any more: with b=-1, "},
  };
  for (const Wrong& one : wrong) {
    std::string lock = kLock;
    lock.replace(lock.find(one.from), one.from.size(), one.to);
    const Project project(lock);
    const Shown shown = project.Run("check twice.yaml");
    INFO(shown.err);
    CHECK(shown.status == 1);
    CHECK(Contains(shown.err, one.message));
    CHECK(Contains(shown.err, "     | "));  // a caret below the line
    CHECK(project.Run("check twice.yaml --no-lock").status == 0);
  }
  CHECK(Contains(Project().Run("check twice.yaml --lock=none.yaml").err,
                 "cannot read the lock `none.yaml`"));
}

TEST_CASE("what cannot be tuned is an error with a hint") {
  const Project project;
  const auto fails = [&](const std::string& arguments, const std::string& message) {
    const Shown shown = project.Run("tune twice.yaml n=4096 --for=v5e " + arguments);
    INFO(shown.out + shown.err);
    CHECK(shown.status == 2);
    CHECK(Contains(shown.err, message));
    CHECK(Contains(shown.err, "  hint: "));
    CHECK(project.Lock().empty());
  };
  fails("--set b=64", "nothing to tune: ");
  fails("--try b=a", "--try takes sizes, not `b=a`");
  fails("--try b", "--try takes sizes, not `b`");
  fails("--when 'n <= 64'", "`n <= 64` does not hold at the sizes that were tuned");
  fails("--when 'n <='", "`n <=` is no condition");
  CHECK(Contains(project.Run("tune twice.yaml n=4096 --for=v9z").err, "v9z"));
}

}  // namespace
}  // namespace kiln::test
