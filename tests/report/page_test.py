"""Opens reports in a headless Chromium: nothing is fetched, nothing goes wrong, keys step through the
blocks that the index maps give, everything has a name, and nothing is too wide. Screenshots are left in
a folder of the build.

    page_test.py KILN FOLDER     exit status 77: there is no browser, so nothing was tested
"""

import functools
import json
import os
import random
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "browser"))
import chromium

KILN, FOLDER = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
WIDTHS = {"phone": 360, "tablet": 800, "desktop": 1280}


def listed(values):
    return ",".join(map(str, values))


def sparse_blocks(rows, columns, count, seed=7):
    cells = [(i, k) for i in range(rows) for k in range(columns)]
    return sorted(random.Random(seed).sample(cells, count))


def write_npy(path, rows):
    """A matrix of i32."""
    header = "{'descr': '<i4', 'fortran_order': False, 'shape': (%d, %d), }" % (len(rows), len(rows[0]))
    header = header.ljust(128 - 10 - 1) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
        for row in rows:
            for value in row:
                file.write(value.to_bytes(4, "little", signed=True))
    return "@" + path


def triangle(tiles):
    """The arguments of masked_matmul for a lower triangle, in blocks."""
    live = [[int(j <= i) for j in range(tiles)] for i in range(tiles)]
    at = lambda i, j: (i, j) if live[i][j] else ((i + 1, 0) if i + 1 < tiles else (0, 0))
    following = [[at(i, j) for j in range(tiles)] for i in range(tiles)]
    made = {"block_mask": live,
            "next_kind": [[int(i == j) for i, j in row] for row in following],
            "next_i": [[i for i, _ in row] for row in following],
            "next_j": [[j for _, j in row] for row in following]}
    return [name + "=" + write_npy(os.path.join(FOLDER, name + ".npy"), rows)
            for name, rows in made.items()]


BLOCKS = sparse_blocks(16, 16, 26)
REPORTS = {
    "sparse_dense": ["specs/sparse_dense.yaml", "--machine=v5e", "m=2048", "k=2048", "n=1024",
                     "capacity=26", "blocks=26", "idxs_i=" + listed(i for i, _ in BLOCKS),
                     "idxs_k=" + listed(k for _, k in BLOCKS)],
    "masked_matmul": ["specs/masked_matmul.yaml", "--machine=v5e", "m=8192", "k=4096", "n=8192",
                      "kinds=2"],
    "matmul": ["specs/matmul.yaml", "--machine=v4", "m=4096", "k=4096", "n=4096"],
    "gmm": ["specs/gmm.yaml", "--machine=v5e", "m=2048", "k=512", "n=512", "shard=8", "group_offset=0",
            "sizes=300,0,700,128,20,400,244,256"],
    "large": ["specs/matmul.yaml", "--machine=v5e", "--set", "bm=128", "bn=128", "bk=128", "--dims",
              "m=8192", "k=8192", "n=8192"],
    "huge": ["specs/matmul.yaml", "--machine=v5e", "--set", "bm=128", "bn=128", "bk=128", "--dims",
             "m=16384", "k=16384", "n=16384"],
    "empty": ["specs/sparse_dense.yaml", "--machine=v5e", "m=512", "k=512", "n=512", "capacity=1",
              "blocks=0", "idxs_i=0", "idxs_k=0"],
}


@functools.lru_cache(maxsize=None)
def make_report(name):
    path = os.path.join(FOLDER, name + ".html")
    arguments = list(REPORTS[name])
    if name == "masked_matmul":
        arguments += triangle(16)
    made = subprocess.run([KILN, "report", *arguments, "-o", path], cwd=ROOT, capture_output=True,
                          text=True, timeout=120)
    if made.returncode != 0:
        raise RuntimeError("kiln report %s: %s" % (" ".join(arguments), made.stderr))
    return path


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = chromium.Chromium(chromium.find()).__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()

    def open(self, path, width=1280, theme="light"):
        self.browser.events.clear()
        self.browser.show_as(width, theme)
        self.browser.call("Page.navigate", url="file://" + path)
        self.browser.wait_for("document.readyState === 'complete' && location.protocol === 'file:' && "
                              "'ready' in document.documentElement.dataset")
        self.browser.settle()
        self.expect_quiet()

    def expect_quiet(self):
        """No request but for the page, and not a word on the console."""
        for url, kind in self.browser.requests():
            self.assertRegex(url, "^(file|data):")
            self.assertFalse(url.startswith("file:") and kind != "Document", url)
        self.assertEqual(self.browser.complaints(), [])

    def blocks(self, picture):
        return self.browser.evaluate(
            "[...document.querySelectorAll('[data-picture=\"%s\"] .now')].map(e => e.dataset.block)"
            % picture)

    def text(self, selector):
        return self.browser.evaluate("document.querySelector('%s').textContent" % selector)

    def screenshot(self, name):
        self.browser.screenshot(os.path.join(FOLDER, name + ".png"))

    def test_keys_step_through_the_blocks_of_the_index_maps(self):
        self.open(make_report("sparse_dense"))
        for step, (i, k) in enumerate(BLOCKS[:5]):
            with self.subTest(step=step):
                self.assertEqual(self.blocks("x"), [str(step)])
                self.assertEqual(self.blocks("y"), ["(%d, 0)" % k])
                self.assertEqual(self.blocks("o"), ["(%d, 0)" % i])
            self.browser.press("ArrowRight")
        self.browser.press("ArrowLeft")
        self.assertEqual(self.blocks("x"), ["4"])
        self.browser.press("End")
        self.assertEqual(self.blocks("x"), ["25"])
        self.assertEqual(self.blocks("o"), ["(%d, 7)" % BLOCKS[-1][0]])
        self.browser.press("Home")
        self.assertEqual(self.blocks("x"), ["0"])
        self.browser.press(" ", "Space", " ")
        self.browser.wait_for("document.querySelector('[data-picture=x] .now').dataset.block !== '0'")
        self.browser.press(" ", "Space", " ")
        self.expect_quiet()

    def test_the_headline_says_what_is_skipped(self):
        self.open(make_report("sparse_dense"))
        lead = self.text(".lead").replace("\u00a0", " ")
        self.assertIn("90 % of the blocks are skipped: 26 of the 256 blocks of m × k are computed", lead)
        self.open(make_report("masked_matmul"))
        lead = self.text(".lead").replace("\u00a0", " ")
        self.assertIn("47 % of the blocks are skipped: 136 of the 256 blocks of o are computed", lead)
        self.open(make_report("matmul"))
        self.assertIn("No block is skipped", self.text(".lead"))

    def test_a_step_moves_nothing_on_the_page(self):
        path = make_report("gmm")
        for width in WIDTHS.values():
            self.open(path, width)
            self.expect_steps_to_move_nothing()

    def expect_steps_to_move_nothing(self):
        places = ("[...document.querySelectorAll('section, .picture, table')]"
                  ".map(e => JSON.stringify(e.getBoundingClientRect())).join()")
        before = self.browser.evaluate(places)
        for _ in range(12):
            self.browser.press("ArrowRight")
            self.assertEqual(self.browser.evaluate(places), before)

    def test_both_cores_are_shown(self):
        self.open(make_report("matmul"))
        self.assertEqual(sorted(self.blocks("z")), ["(0, 0)", "(0, 4)"])
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('.controls option').length"), 2)

    def test_no_width_or_theme_is_too_narrow(self):
        for name in REPORTS:
            path = make_report(name)
            for (size, width), theme in zip(WIDTHS.items(), ("dark", "light", "light")):
                with self.subTest(report=name, width=width):
                    self.open(path, width, theme)
                    self.assertLessEqual(
                        self.browser.evaluate("document.documentElement.scrollWidth"), width)
                    self.assertTrue(self.browser.evaluate(
                        "[...document.querySelectorAll('.picture .scroll')]"
                        ".every(e => e.scrollWidth <= e.clientWidth)"), "a picture is cut")
                    self.screenshot("%s-%s-%s" % (name, size, theme))
        self.open(make_report("sparse_dense"), WIDTHS["desktop"], "dark")
        self.screenshot("sparse_dense-desktop-dark")

    def hover(self, selector, x, y):
        box = self.browser.evaluate(
            "(e => (e.scrollIntoView({block: 'center'}), e.getBoundingClientRect().toJSON()))"
            "(document.querySelector('%s'))" % selector)
        self.browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=box["x"] + x, y=box["y"] + y)
        self.browser.settle()
        hidden = self.browser.evaluate("document.getElementById('tooltip').hidden")
        return None if hidden else self.text("#tooltip")

    def test_hovering_names_blocks_and_intervals(self):
        self.open(make_report("sparse_dense"))
        self.assertRegex(self.hover("[data-picture=o] canvas", 3, 3), r"^o block \(0, 0\)")
        self.assertRegex(self.hover("[data-picture=grid] canvas", 3, 3), r"^Step 1 \(j=0, t=0\)")
        self.assertNotIn((0, 0), BLOCKS)
        self.assertIn("skipped", self.hover("[data-picture=coverage] canvas", 3, 3))
        # Below the axis: the lane of copies in begins with x.
        self.assertRegex(self.hover(".lanes", 62 + 30, 20 + 8), r"^[xy] .* comes in")
        self.assertRegex(self.hover(".lanes", 62 + 300, 20 + 40), r"^Step \d+ \(j=0, t=\d+\)")
        self.expect_quiet()

    def test_a_click_goes_to_the_first_step_of_a_block(self):
        self.open(make_report("sparse_dense"))
        self.hover("[data-picture=x] canvas", 0, 0)
        self.browser.evaluate(
            "(c => { const box = c.getBoundingClientRect(); c.parentElement.dispatchEvent("
            "new MouseEvent('click', {clientX: box.x + 30, clientY: box.y + 5, bubbles: true})); })"
            "(document.querySelector('[data-picture=x] canvas'))")
        self.browser.settle()
        self.assertNotEqual(self.blocks("x"), ["0"])
        self.assertEqual(self.blocks("y"), ["(%d, 0)" % BLOCKS[int(self.blocks("x")[0])][1]])

    def test_the_button_changes_the_theme(self):
        self.open(make_report("gmm"))
        color = "getComputedStyle(document.body).backgroundColor"
        light = self.browser.evaluate(color)
        self.browser.evaluate("document.querySelector('.theme').click()")
        self.assertNotEqual(self.browser.evaluate(color), light)
        self.browser.evaluate("document.querySelector('.theme').click()")
        self.assertEqual(self.browser.evaluate(color), light)
        self.browser.evaluate("localStorage.clear()")

    def test_everything_that_can_be_used_has_a_name(self):
        self.open(make_report("matmul"))
        nodes = self.browser.call("Accessibility.getFullAXTree")["nodes"]
        roles = {"button", "slider", "combobox", "image", "img", "link", "table", "figure"}
        found = {}
        for node in nodes:
            role = node.get("role", {}).get("value")
            if node.get("ignored") or role not in roles:
                continue
            found[role] = found.get(role, 0) + 1
            self.assertTrue(node.get("name", {}).get("value") or role in ("table", "figure"), node)
        self.assertGreaterEqual(found["button"], 8)
        self.assertEqual(found["slider"], 1)

    def test_the_timeline_zooms(self):
        self.open(make_report("matmul"))
        picture = "document.querySelector('.lanes').toDataURL()"
        self.browser.evaluate("document.querySelector('.lanes').focus()")
        before = self.browser.evaluate(picture)
        self.browser.press("+", "Equal", "+")
        self.browser.settle()
        zoomed = self.browser.evaluate(picture)
        self.assertNotEqual(zoomed, before)
        self.browser.press("0", "Digit0", "0")
        self.browser.settle()
        self.assertNotIn(self.browser.evaluate(picture), (before, zoomed))
        self.expect_quiet()

    def test_a_large_run_says_that_it_is_in_ranges(self):
        self.open(make_report("large"))
        self.assertIn("in ranges of", self.text("#steps .note"))
        self.assertIn("262\u202f144", self.text(".step-name"))
        self.browser.press("ArrowRight")
        self.expect_quiet()

    def test_a_huge_run_says_which_steps_are_drawn(self):
        self.open(make_report("huge"))
        self.assertIn("have the first 65\u202f536 of 2\u202f097\u202f152 steps",
                      self.text("#steps .note"))
        self.assertNotIn("skipped", self.text(".lead"))

    def test_a_grid_without_steps_is_no_error(self):
        self.open(make_report("empty"))
        self.assertIn("no steps", self.text(".lead"))

    def test_a_diagnostic_leads_to_its_line(self):
        path = os.path.join(FOLDER, "wrong.html")
        made = subprocess.run([KILN, "report", "examples/wrong_matmul.yaml", "m=200", "n=100", "k=300",
                               "-o", path], cwd=ROOT, capture_output=True, timeout=120)
        self.assertEqual(made.returncode, 1)
        self.open(path)
        self.assertIn("error[index-range]", self.text(".diagnostics"))
        self.browser.evaluate("document.querySelector('.diagnostics a').click()")
        self.assertIn("i * bm", self.text("li:target"))


if __name__ == "__main__":
    if chromium.find() is None:
        print("skipped: no Chromium; `./dev test-report` installs one and runs this test")
        sys.exit(77)
    os.makedirs(FOLDER, exist_ok=True)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
