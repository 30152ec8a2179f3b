"""What ./dev bench does with times: figures and goals, the table, the pictures and pages; its questions, as far as that needs
no kernel. None of its peers is needed.

    bench_test.py
"""

import contextlib
import importlib.util
import io
import json
import pathlib
import re
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
sys.dont_write_bytecode = True

from kilnbench import abi, charts, compiled, limits, pages, race, roofline, svg, table


def case(goals, **more):
    """A product of 2e9 operations, of which Kiln is to need 0.02 s and the peer 0.03 s."""
    contestants = {"Kiln": lambda: None, "peer": lambda: None}
    return race.Case("f32 1000^3", contestants, goals, 2e9, race.FLOPS, work=race.Work(2e9, 12e6, "f32"), **more)


TIMES = {"Kiln": [0.02, 0.025, 0.01], "peer": [0.03, 0.03, 0.03]}


class Race(unittest.TestCase):
    def test_medians_of_figures_and_of_ratios_in_the_same_round(self):
        result = race.result(case([race.Ratio("Kiln", "peer", 1.5)]), TIMES, {"f32": 200.0})
        self.assertAlmostEqual(result["figures"]["Kiln"], 100)
        self.assertEqual(result["peak"], 200)
        goal = result["goals"][0]
        for key, value in {"median": 1.5, "min": 1.2, "max": 3.0}.items():
            self.assertAlmostEqual(goal[key], value)
        self.assertTrue(goal["met"])
        self.assertFalse(race.result(case([race.Ratio("Kiln", "peer", 1.51)]), TIMES, {})["goals"][0]["met"])

    def test_what_is_met_can_be_written(self):
        class Number(float):  # such as numpy's, whose comparisons are no bools
            def __le__(self, other):
                return 1

        result = race.result(case([race.Ratio("Kiln", "peer", Number(1.5))]), TIMES, {})
        self.assertIs(result["goals"][0]["met"], True)

    def test_who_does_more_for_the_same_answer_has_a_figure_of_its_own(self):
        result = race.result(case([], amounts={"peer": 6e9}), TIMES, {})
        self.assertAlmostEqual(result["figures"]["peer"], 200)
        self.assertAlmostEqual(result["figures"]["Kiln"], 100)

    def test_a_ratio_beside_that_of_another_pair(self):
        times = {"two": [1.0], "one": [1.5], "stream two": [1.0], "stream one": [1.2]}
        goal = race.Ratio("two", "one", 1.3, beside=("stream two", "stream one"))
        result = race.result(race.Case("add", times, [goal], 1e9, race.BYTES, cores=2), times, {})
        self.assertAlmostEqual(result["goals"][0]["median"], 1.25)
        self.assertFalse(result["goals"][0]["met"])

    def test_a_share_of_the_peak_where_the_machine_has_one(self):
        goal = race.result(case([race.Share("Kiln", 0.5)]), TIMES, {"f32": 200.0})["goals"][0]
        self.assertAlmostEqual(goal["median"], 0.5)
        self.assertTrue(goal["met"])
        self.assertEqual(race.result(case([race.Share("Kiln", 0.5)]), TIMES, {})["goals"], [])

    def test_limits_are_about_the_figure(self):
        times = {"Kiln": [50e-6, 70e-6, 55e-6]}
        for most, met in ((60, True), (55, False)):
            result = race.result(race.Case("a step", times, [race.Limit("Kiln", most)], 1000, race.NANOSECONDS), times, {})
            self.assertAlmostEqual(result["figures"]["Kiln"], 55)
            self.assertEqual(result["goals"][0]["met"], met)

    def test_limits_of_what_one_takes_more_than_another(self):
        times = {"Kiln": [50e-6, 70e-6, 55e-6], "empty": [45e-6, 60e-6, 52e-6]}
        for most, met in ((6, True), (5, False)):
            made = race.Case("a call", times, [race.Limit("Kiln", most, beyond="empty")], 1000, race.NANOSECONDS)
            goal = race.result(made, times, {})["goals"][0]
            self.assertAlmostEqual(goal["median"], 5)
            self.assertEqual((round(goal["min"]), round(goal["max"]), goal["met"]), (3, 10, met))
        result = race.result(made, times, {})
        row = table.result_text(result).split("\n")[1]
        self.assertEqual(row.split(), ["Kiln", "55", "ns", "5", "more", "empty", "3", "10", "5", "MISS"])
        self.assertIn("a call: Kiln, 5 ns more than empty; goal 5", table.summary_text({"P14": [result]}))
        self.assertIn("Kiln beyond empty", charts.ratios("P14", [result]))

    def test_everyone_takes_as_many_turns_and_the_check_comes_first(self):
        order = []
        contestants = {"a": lambda: order.append("a"), "b": lambda: order.append("b")}
        clock = iter(range(10**9)).__next__  # each call seems to last a second and a turn is one call
        made = race.Case("x", contestants, [], 1, race.SECONDS, check=lambda: order.append("check"), clock=clock)
        times = race.race(made, rounds=3)
        self.assertEqual("".join(order), "check" + "aabb" + "ab" * 3)
        self.assertEqual({name: len(t) for name, t in times.items()}, {"a": 3, "b": 3})

    def test_threads_count_on_one_core(self):
        import time
        self.assertIs(race.clock_of(case([])), time.process_time)
        self.assertIs(race.clock_of(case([], cores=2)), time.perf_counter)


class Table(unittest.TestCase):
    def test_columns_stand_below_their_heading(self):
        lines = table.result_text(race.result(case([race.Ratio("Kiln", "peer", 1.05)]), TIMES, {"f32": 125.0})).split("\n")
        self.assertEqual(lines[0], "  f32 1000^3")
        row, heading = lines[1], table.heading()
        self.assertIn("100 GF/s  80 %", row)
        self.assertEqual(row.index("1.500") + 5, heading.index("ratio") + 5)
        self.assertEqual(row.index("1.200") + 5, heading.index("min") + 3)
        self.assertEqual(row.index("1.05 ") + 4, heading.index("goal") + 4)
        self.assertTrue(row.endswith("  ok"))
        self.assertEqual(lines[2].split(), ["peer", "66.7", "GF/s", "53", "%"])

    def test_the_summary_names_what_is_missed(self):
        goals = [race.Ratio("Kiln", "peer", 1.05), race.Ratio("Kiln", "peer", 2.0)]
        text = table.summary_text({"P1": [race.result(case(goals), TIMES, {})]})
        self.assertIn("1 of 2 goals are met; missed:", text)
        self.assertIn("P1   f32 1000^3: Kiln, 1.500 peer; goal 2.00", text)
        self.assertTrue(table.summary_text({"P1": []}).endswith("0 of 0 goals are met"))


class Pictures(unittest.TestCase):
    def test_bars_say_in_words_what_their_colours_say(self):
        goals = [race.Ratio("Kiln", "peer", 1.05), race.Ratio("Kiln", "peer", 2.0), race.Limit("Kiln", 150)]
        picture = charts.ratios("P1 <title>", [race.result(case(goals), TIMES, {})])
        xml.fromstring(picture)
        self.assertEqual(picture.count('class="met"'), 2)
        self.assertEqual(picture.count(", met: "), 2)
        self.assertEqual(picture.count('class="missed"'), 1)
        self.assertIsNone(charts.ratios("P1", [race.result(case([]), TIMES, {})]))

    def test_points_are_at_their_intensity_also_where_bytes_are_the_unit(self):
        added = race.Case("add", {"Kiln": None}, [], 12e9, race.BYTES, work=race.Work(1e9, 12e9, "f32"))
        results = [race.result(case([]), TIMES, {}), race.result(added, {"Kiln": [0.5]}, {})]
        (dot, rate, dtype, name), (one, adds, _, _) = roofline.points_of(results)
        self.assertEqual((dtype, name), ("f32", "f32 1000^3"))
        self.assertAlmostEqual(dot, 2e9 / 12e6)
        self.assertAlmostEqual(rate, 100)
        self.assertAlmostEqual(one, 1 / 12)
        self.assertAlmostEqual(adds, 2)

    def test_names_in_a_roofline_overlap_nothing(self):
        results = []
        for i in range(18):  # points in three heaps
            made = race.Case(f"f32 {512 << i % 3}^3 variant {i}", {"Kiln": None}, [], 1e11, race.FLOPS,
                             work=race.Work(1e11, 1e9 / (1 << i % 3), "f32" if i < 9 else "bf16"))
            results.append(race.result(made, {"Kiln": [1 + i / 100]}, {}))
        root = xml.fromstring(roofline.draw("P4", {"f32": 120.0, "bf16": 240.0}, 40.0, results))
        texts = [t for t in root.iter("{http://www.w3.org/2000/svg}text") if t.get("class") == "label"]
        self.assertEqual(len(texts), 18 + 3)
        areas = []
        for text in texts:
            x, y = float(text.get("x")), float(text.get("y"))
            areas.append((x, y - 11, x + svg.width_of(text.text, 11), y + 3))
        for i, area in enumerate(areas):
            self.assertTrue(0 < area[0] and area[2] < float(root.get("width")), texts[i].text)
            for j in range(i):
                self.assertFalse(roofline.overlap(area, areas[j]), f"{texts[i].text} and {texts[j].text}")

    def test_what_crosses_an_area(self):
        self.assertTrue(roofline.crosses((0, 0, 10, 10), (-5, 5, 15, 6)))
        self.assertTrue(roofline.crosses((0, 0, 10, 10), (5, 5, 6, 6)))
        self.assertFalse(roofline.crosses((0, 0, 10, 10), (-5, 5, 5, 25)))
        self.assertFalse(roofline.crosses((0, 0, 10, 10), (-5, 20, 15, 20)))


def kept(results, **more):
    """As run.py keeps a question."""
    return {"question": "S6", "title": "a <title>", "cores": 1, "complete": True, "cpu": "a CPU", "date": "2026-11-25",
            "peaks": {"f32": 200.0}, "bandwidth": 60.0, "results": results, **more}


def moving(seconds):
    """What moves 12e9 bytes with 1e9 operations."""
    made = race.Case("add", {"Kiln": None}, [], 12e9, race.BYTES, work=race.Work(1e9, 12e9, "f32"))
    return race.result(made, {"Kiln": [seconds]}, {})


class Limits(unittest.TestCase):
    def test_shares_of_the_peak_and_of_memory(self):
        product = race.result(case([]), TIMES, {"f32": 200.0})
        found = limits.shares(product, {"f32": 200.0}, 60.0)
        self.assertAlmostEqual(found["peak"], 0.5)
        self.assertAlmostEqual(found["memory"], 12e6 / 0.02 / 60e9)
        self.assertAlmostEqual(limits.shares(moving(0.25), {"f32": 200.0}, 60.0)["memory"], 0.8)

    def test_the_larger_share_is_the_limit_if_it_is_much(self):
        product = race.result(case([]), TIMES, {"f32": 200.0})
        self.assertEqual(limits.told(product, {"f32": 125.0}, 60.0), "peak: 0.80 of it; 0.01 of memory")
        self.assertEqual(limits.told(product, {"f32": 200.0}, 60.0), "instructions: 0.50 of peak; 0.01 of memory")
        self.assertEqual(limits.told(moving(0.25), {"f32": 200.0}, 60.0), "memory: 0.80 of it; 0.02 of peak")
        self.assertEqual(limits.told(moving(0.1), {}, 60.0), "caches: 2.00 of memory")

    def test_times_of_calls_are_not_about_the_machine(self):
        call = race.result(race.Case("a call", {"Kiln": None}, [], 1, race.NANOSECONDS), {"Kiln": [1e-6]}, {})
        self.assertEqual(limits.told(call, {"f32": 200.0}, 60.0), "")


class Pages(unittest.TestCase):
    def test_a_page_has_every_goal_and_limit_and_is_well_formed(self):
        goals = [race.Ratio("Kiln", "peer", 1.05), race.Ratio("Kiln", "peer", 2.0), race.Limit("Kiln", 150)]
        text = pages.question(kept([race.result(case(goals), TIMES, {"f32": 200.0}), moving(0.25)]), ["s6_1.svg"])
        self.assertEqual(text.count(", met"), 2)
        self.assertEqual(text.count(", missed"), 1)
        self.assertIn("2 of 3 goals are met in 2 cases.", text)
        for told in ("a &lt;title&gt;", 'src="s6_1.svg"', "memory: 0.80 of it", "2026-11-25, a CPU", "<td>f32 1000^3<td>Kiln"):
            self.assertIn(told, text)
        self.assertEqual(text.count("f32 1000^3"), 1)  # once, though it has four lines
        self.assertNotIn("interrupted", text)
        self.assertIn("interrupted", pages.question(kept([], complete=False), []))

    def test_the_index_lists_what_is_kept_in_the_order_of_the_questions(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("S10", "P2", "S2"):
                content = kept([race.result(case([race.Ratio("Kiln", "peer", 9)]), TIMES, {})], question=name)
                for suffix, text in ((".json", json.dumps(content)), (".html", pages.question(content, []))):
                    pathlib.Path(folder, f"{name.lower()}_1{suffix}").write_text(text)
            text = pages.index(folder)
        links = re.findall(r'href="(\w+).html"', text)
        self.assertEqual(links, ["p2_1", "s2_1", "s10_1"])
        self.assertEqual(text.count("0 of 1 goals are met"), 3)


class Compiled(unittest.TestCase):
    def test_a_peer_that_cannot_compile_takes_no_part_and_a_line_says_so(self):
        def fails():
            raise ValueError("no such operation\nand a long trace")
        told = io.StringIO()
        with contextlib.redirect_stdout(told):
            self.assertIsNone(compiled.attempt("XLA", "rope", fails))
            self.assertEqual(compiled.attempt("XLA", "rope", lambda: lambda: 1)(), 1)
        self.assertEqual(told.getvalue(), "  XLA takes no part in rope: no such operation\n")


@unittest.skipUnless(importlib.util.find_spec("numpy"), "questions need numpy")
class Questions(unittest.TestCase):
    def setUp(self):
        import questions
        self.names, self.load = questions.NAMES, questions.load

    def test_all_of_them_load(self):
        for name in self.names:
            module = self.load(name)
            self.assertTrue(module.TITLE and module.__doc__, name)
            self.assertTrue(callable(module.cases), name)

    def test_goals_are_against_whoever_is_there(self):
        from questions.families import fused
        goals = fused.goals({"Kiln": None, "torch": None}, {"torch": 1.2, "XLA": 1.0})
        self.assertEqual([(goal.over, goal.least) for goal in goals], [("torch", 1.2)])

    def test_sizes_of_groups(self):
        from questions import s2
        from questions.families import grouped
        sizes = grouped.irregular(4096, 16)
        self.assertEqual(int(sizes.sum()), 4096)
        self.assertEqual([int(size) for size in sizes[4::5]], [0, 0, 0])
        few = s2.few_rows(64, 16)
        self.assertTrue((few[7::8] == 0).all() and few.max() <= 16)

    def test_pairs_that_attention_sees(self):
        from questions.families import attention
        n = 1024
        counts = {"full": n * n, "causal": n * (n + 1) // 2, "cap": n * (n + 1) // 2,
                  "window": sum(min(row + 1, attention.WINDOW) for row in range(n))}
        for kind, pairs in counts.items():
            problem = attention.Problem(kind, "bf16", n, 8)
            self.assertEqual(problem.pairs, attention.HEADS * pairs, kind)
            self.assertEqual(problem.work(2, [problem.q]).operations, 4.0 * attention.HEADS * pairs * 8)

    def test_weights_of_few_bits_are_what_their_bits_say(self):
        import numpy as np
        from questions import s4
        self.assertEqual(s4._values(np.array([[0x2F, 0x80]], "u1"), "i4").tolist(), [[-1, 2, 0, -8]])
        self.assertEqual(s4._values(np.array([[0x38, 0xB8, 0x01, 0x7E]], "u1"), "f8").tolist(), [[1, -1, 2.0**-9, 448]])


class Structures(unittest.TestCase):
    def test_they_are_those_of_the_header(self):
        header = re.sub(r"/\*.*?\*/", "", (ROOT / "runtime/kiln/call/c.h").read_text(), flags=re.S)
        for name, structure in (("kiln_options", abi.Options), ("kiln_status", abi.Status)):
            body = re.search(r"typedef struct %s \{(.*?)\}" % name, header, re.S).group(1)
            fields = [re.fullmatch(r"(.*?)(\w+)(\[\d+\])?", line.strip(), re.S).groups()
                      for line in body.split(";") if line.strip()]
            self.assertEqual([field for _, field, _ in fields], [field[0] for field in structure._fields_])
            sizes = {"int32_t": 4, "int64_t": 8, "uint64_t": 8, "kiln_parallel_for": 8, "void*": 8, "char": 1}
            for (kind, field, count), (_, ours) in zip(fields, ((f[0], f[1]) for f in structure._fields_)):
                size = sizes[kind.strip().replace(" *", "*")] * int((count or "[1]")[1:-1])
                self.assertEqual(abi.c.sizeof(ours), size, field)


if __name__ == "__main__":
    unittest.main()
