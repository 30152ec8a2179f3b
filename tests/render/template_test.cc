// The template engine: what it makes of a text, and what it refuses.
#include "generator/render/template/template.h"

#include "tests/catch.h"

namespace kiln::render {
namespace {

using Texts = std::map<std::string, std::string>;

std::string Expand(const std::string& text, const Fields& fields, Texts parts = {}) {
  parts["main.cc"] = text;
  return TemplateSet(parts).Render("main.cc", fields);
}

/// The message, or what was rendered after all.
std::string Refusal(const std::string& text, const Fields& fields = {}, const Texts& parts = {}) {
  try {
    return "rendered: " + Expand(text, fields, parts);
  } catch (const TemplateError& error) {
    return error.what();
  }
}

TEST_CASE("names are replaced, other text stands as it is") {
  Fields fields;
  fields.Set("name", "matmul").Set("n", "8");
  CHECK(Expand("void ${name}_${n}() {}  // $n {}\n\n}\n", fields) ==
        "void matmul_8() {}  // $n {}\n\n}\n");
  CHECK(Expand("", fields).empty());
  CHECK(Expand("last line without an end", fields) == "last line without an end\n");
}

TEST_CASE("a loop repeats its lines at their own columns") {
  Fields fields;
  fields.Set("r", "outside");
  for (const char* r : {"0", "1"}) {
    Fields& row = fields.Add("rows").Set("r", r);
    for (const char* v : {"0", "1"}) row.Add("cols").Set("v", v);
  }
  CHECK(
      Expand("{\n"
             "  //% for row in rows\n"
             "  a_${r} = ${row.r};\n"
             "      //%   for col in cols\n"
             "  acc_${row.r}_${v};\n"
             "  //%   end\n"
             "  //% end\n"
             "}  // ${r}\n",
             fields) ==
      "{\n  a_0 = 0;\n  acc_0_0;\n  acc_0_1;\n  a_1 = 1;\n  acc_1_0;\n  acc_1_1;\n}  // outside\n");
  CHECK(Expand("//% for row in none\n${row.r}\n//% end\n", Fields().SetList("none", {})).empty());
}

TEST_CASE("the innermost item wins, and dots name another") {
  Fields fields;
  fields.Set("x", "outermost");
  Fields& outer = fields.Add("as").Set("x", "outer");
  outer.Add("bs").Set("x", "inner");
  outer.Group("tile").Set("rows", "8").Group("edge").Set("rows", "3");
  CHECK(Expand("//% for a in as\n"
               "//% for b in a.bs\n"
               "${x} ${b.x} ${a.x} ${a.tile.rows} ${tile.edge.rows}\n"
               "//% end\n"
               "//% end\n",
               fields) == "inner inner outer 8 3\n");
}

TEST_CASE("flags keep one branch or the other") {
  Fields fields;
  fields.SetFlag("on", true).SetFlag("off", false);
  CHECK(Expand("//% if on\na\n//% else\nb\n//% end\n", fields) == "a\n");
  CHECK(Expand("//% if off\na\n//% else\nb\n//% end\n", fields) == "b\n");
  CHECK(Expand("//% if not off\na\n//% end\n", fields) == "a\n");
  CHECK(Expand("//% if not on\na\n//% end\nz\n", fields) == "z\n");
  CHECK(Expand("//% if on\n//%   if off\na\n//%   else\nb\n//%   end\n//% end\n", fields) == "b\n");
}

TEST_CASE("what is filled stands in as few lines as it takes") {
  const auto filled = [](const std::string& head, size_t count) {
    Fields fields;
    fields.Set("head", head).SetList("items", {});
    for (size_t i = 0; i < count; ++i)
      fields.Add("items").Set("item", "argument_" + std::to_string(i));
    return Expand(
        "  //% fill\n"
        "  ${head}(\n"
        "  //%   for i in items\n"
        "      ${item},\n"
        "  //%   end\n"
        "      last);\n"
        "  //% end\n",
        fields);
  };
  CHECK(filled("Call", 0) == "  Call(last);\n");
  CHECK(filled("Call", 2) == "  Call(argument_0, argument_1, last);\n");
  CHECK(
      filled("Call", 8) ==
      "  Call(argument_0, argument_1, argument_2, argument_3, argument_4, argument_5, argument_6,\n"
      "       argument_7, last);\n");
  // Behind the bracket there would be more lines, or too long ones.
  const std::string name(60, 'f');
  CHECK(filled("{0} " + name, 3) == "  {0} " + name + "(argument_0, argument_1,\n" +
                                        std::string(67, ' ') + "argument_2, last);\n");
  CHECK(filled(name, 7) ==
        "  " + name +
            "(\n      argument_0, argument_1, argument_2, argument_3, argument_4, argument_5, "
            "argument_6, last);\n");
  const std::string long_name(95, 'f');
  CHECK(filled(long_name, 0) == "  " + long_name + "(\n      last);\n");
}

TEST_CASE("a text of several lines keeps its column") {
  Fields fields;
  fields.Set("body", "if (a) {\n  b;\n\n}\n").Set("doc", "First.\nSecond.\n\nThird.");
  CHECK(Expand("{\n  ${body}\n}\n", fields) == "{\n  if (a) {\n    b;\n\n  }\n}\n");
  CHECK(Expand("f(${body});\n", fields) == "f(if (a) {\n    b;\n\n  });\n");
  CHECK(Expand("  /// ${doc}\n", fields) == "  /// First.\n  /// Second.\n  ///\n  /// Third.\n");
  CHECK(Expand("//   x: ${doc}\n", fields) ==
        "//   x: First.\n//      Second.\n//\n//      Third.\n");
}

TEST_CASE("a line that comes to nothing is not there") {
  Fields fields;
  fields.Set("none", "").Set("some", "x");
  CHECK(Expand("a\n  ${none}\n\n  ${none} ${none}\nb\n", fields) == "a\n\nb\n");
  CHECK(Expand("${some}${none}  \nif ${none}\n", fields) == "x\nif\n");
}

TEST_CASE("a part is indented as its directive is, also within itself") {
  Texts parts;
  parts["nest.cc"] =
      "for ${v} {\n"
      "  //% if leaf\n"
      "  done;\n"
      "\n"
      "  more;\n"
      "  //% else\n"
      "  //%   for child in children\n"
      "  //%     include nest\n"
      "  //%   end\n"
      "  //% end\n"
      "}\n";
  Fields fields;
  fields.Set("v", "i").SetFlag("leaf", false);
  fields.Add("children").Set("v", "j").SetFlag("leaf", true);
  CHECK(Expand("{\n  //% include nest.cc\n}\n", fields, parts) ==
        "{\n  for i {\n    for j {\n      done;\n\n      more;\n    }\n  }\n}\n");
}

TEST_CASE("what does not match is an error with its line") {
  Fields fields;
  fields.Set("rows", "8").SetFlag("last", true);
  fields.Add("items").Set("name", "a");
  fields.Group("tile").Set("depth", "1");
  const std::pair<const char*, const char*> cases[] = {
      {"a\n${row}\n", "main.cc.in:2: nothing is called `row`; did you mean `rows`?"},
      {"${tile.dept}\n", "main.cc.in:1: nothing is called `tile.dept`; did you mean `depth`?"},
      {"${rows.x}\n", "main.cc.in:1: `rows` is a text, and has no `x`"},
      {"${last}\n", "main.cc.in:1: `last` is a flag, not a text"},
      {"${items}\n", "main.cc.in:1: `items` is a list, not a text"},
      {"${tile}\n", "main.cc.in:1: `tile` is a group of fields, not a text"},
      {"//% if rows\n//% end\n", "main.cc.in:1: `rows` is a text, not a flag"},
      {"//% for x in last\n//% end\n", "main.cc.in:1: `last` is a flag, not a list"},
      {"//% for x in items\n${x}\n//% end\n", "main.cc.in:2: `x` is a group of fields, not a text"},
      {"//% for x in items\n//% end\n${name}\n", "main.cc.in:3: nothing is called `name`"},
  };
  for (const auto& [text, message] : cases) CHECK(Refusal(text, fields) == message);
}

TEST_CASE("a template that is not well formed is an error, whether it is reached or not") {
  const std::pair<const char*, const char*> cases[] = {
      {"a\n//% if x\n//% if y\n//% end\n", "main.cc.in:2: `//% if x` has no `//% end`"},
      {"//% for x in xs\n", "main.cc.in:1: `//% for x in xs` has no `//% end`"},
      {"//% end\n", "main.cc.in:1: `//% end` without `for`, `if` or `fill`"},
      {"//% else\n", "main.cc.in:1: `//% else` without `if`"},
      {"//% for x in xs\n//% else\n//% end\n", "main.cc.in:2: `//% else` without `if`"},
      {"//% if x\n//% else\n//% else\n//% end\n", "main.cc.in:3: a second `//% else`"},
      {"x;  //% if x\n", "main.cc.in:1: a directive needs a line of its own"},
      {"${}\n", "main.cc.in:1: `${}` is not `${name}`"},
      {"${a b}\n", "main.cc.in:1: `${a b}` is not `${name}`"},
      {"${a.}\n", "main.cc.in:1: `${a.}` is not `${name}`"},
      {"${a\n", "main.cc.in:1: `${a` is not `${name}`"},
      {"\ta\n", "main.cc.in:1: a tab or carriage return; columns are counted in spaces"},
      {"//% if x\n//% include nothing\n//% end\n",
       "main.cc.in:2: there is not exactly one template `nothing`"},
      {"//% include mian.cc\n",
       "main.cc.in:1: there is not exactly one template `mian.cc`; did you mean `main.cc`?"},
  };
  for (const auto& [text, message] : cases) CHECK(Refusal(text) == message);
  for (const char* directive : {"", "unless x", "if", "if a b", "if x == y", "for x xs", "for x in",
                                "for a.b in xs", "end if", "include", "include a b"}) {
    const std::string text = "//% " + std::string(directive);
    CHECK(
        Refusal(text) ==
        "main.cc.in:1: `" + text +
            "` is none of: for NAME in LIST, if FLAG, if not FLAG, else, fill, end, include PART");
  }
}

TEST_CASE("two templates of one stem need their whole names") {
  const TemplateSet set({{"a.h", "header"}, {"a.cc", "source"}, {"b", "${x}"}});
  CHECK(set.Render("a.h", {}) == "header\n");
  CHECK(set.Render("b", Fields().Set("x", "1")) == "1\n");
  CHECK_THROWS_AS(set.Render("a", {}), TemplateError);
}

TEST_CASE("a part that includes itself without end is found out") {
  CHECK(Refusal("//% include main\n") ==
        "main.cc.in:1: `main` is included 200 levels deep: does it include itself without end?");
}

TEST_CASE("a field is set once") {
  Fields fields;
  fields.Set("a", "1");
  CHECK_THROWS_AS(fields.Set("a", "2"), std::logic_error);
  CHECK_THROWS_AS(fields.SetFlag("a", true), std::logic_error);
  CHECK_THROWS_AS(fields.Add("a"), std::logic_error);
  CHECK_THROWS_AS(fields.Group("a"), std::logic_error);
}

TEST_CASE("the templates of the program are well formed") { CHECK_NOTHROW(Templates()); }

}  // namespace
}  // namespace kiln::render
