"""Opens every page of the site in a headless Chromium, from the disk: nothing comes from elsewhere, nothing goes wrong,
no link leads nowhere, nothing is too wide on any screen, light or dark, and the search finds what is there. Screenshots
are left in SITE-screenshots.

    page_test.py SITE     exit status 77: there is no browser, so nothing was tested
"""

import os
import sys
import unittest
import urllib.parse

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "browser"))
import chromium

SITE = os.path.abspath(sys.argv[1])
SCREENSHOTS = SITE + "-screenshots"
SCREENS = [(1280, "light"), (1280, "dark"), (360, "dark"), (360, "light")]  # what fits 360 pixels fits any phone
# What a page is, seen from outside: where its links lead, and what can be led to.
LINKS = "[...document.querySelectorAll('[href], [src]')].map(e => e.href || e.src)"
ANCHORS = "[...document.querySelectorAll('[id]')].map(e => e.id)"
# Elements that stick out at the right, for a message that helps.
WIDE = ("[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > %d && "
        "!e.parentElement.closest('pre, .scroll')).map(e => e.outerHTML.slice(0, 80)).slice(0, 5)")
# The contrast of the text of an element with what is behind it, as WCAG computes it.
CONTRAST = """(() => {
  const shade = color => {
    const [r, g, b] = color.match(/[\\d.]+/g).map(v => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = e => {
    const color = getComputedStyle(e).backgroundColor;
    return color === 'rgba(0, 0, 0, 0)' ? behind(e.parentElement) : color;
  };
  return [...document.querySelectorAll('body *')].filter(e => e.getClientRects().length && e.checkVisibility({opacityProperty: true})
      && [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())).map(e => {
    const [a, b] = [shade(getComputedStyle(e).color), shade(behind(e))];
    return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), e.outerHTML.slice(0, 80)];
  }).filter(([ratio]) => ratio < 4.5);
})()"""


def pages():
    """Of the whole site, as paths from its folder."""
    found = []
    for folder, _, files in os.walk(SITE):
        found += [os.path.relpath(os.path.join(folder, name), SITE) for name in files if name.endswith(".html")]
    return sorted(found)


def address(page):
    return "file://" + urllib.parse.quote(os.path.join(SITE, page))


def reached(start, links):
    """The pages that links lead to, one after the other."""
    found, waiting = {start}, [start]
    while waiting:
        for target in {link.partition("#")[0] for link in links[waiting.pop()]} & links.keys() - found:
            found.add(target)
            waiting.append(target)
    return found


class SiteTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.browser = chromium.Chromium(chromium.find()).__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()

    def open(self, page, width=1280, theme="light"):
        self.browser.events.clear()
        self.browser.show_as(width, theme)
        self.browser.call("Page.navigate", url=address(page))
        self.arrive(page)

    def arrive(self, page):
        self.browser.wait_for("document.readyState === 'complete' && location.pathname === %r" % os.path.join(SITE, page))

    def screenshot(self, name):
        self.browser.screenshot(os.path.join(SCREENSHOTS, name + ".png"))

    def expect_quiet(self):
        elsewhere = [url for url, _ in self.browser.requests() if not url.startswith(("file:", "data:"))]
        self.assertEqual(elsewhere, [])
        self.assertEqual(self.browser.complaints(), [])

    def test_every_page_is_quiet_and_fits_and_its_links_lead_somewhere(self):
        links, anchors = {}, {}
        for page in pages():
            with self.subTest(page=page):
                self.open(page)
                for width, theme in SCREENS:
                    self.browser.show_as(width, theme)
                    self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), width,
                                         "at %d pixels: %s" % (width, self.browser.evaluate(WIDE % width)))
                self.expect_quiet()
                links[address(page)] = set(self.browser.evaluate(LINKS))
                anchors[address(page)] = set(self.browser.evaluate(ANCHORS))
        self.assertGreater(sum(map(len, links.values())), 1000)
        broken = [(page, target) for page, targets in links.items() for target in sorted(targets)
                  if not self.leads_somewhere(target, anchors)]
        self.assertEqual(broken, [])
        self.assertEqual(anchors.keys() - reached(address("index.html"), links), set(), "no way leads there")

    def leads_somewhere(self, target, anchors):
        if target.startswith(("https:", "data:")):
            return True  # links to other sites are not followed
        file, _, fragment = target.partition("#")
        if not file.startswith(address("")):
            return False
        if file in anchors:
            return not fragment or urllib.parse.unquote(fragment) in anchors[file]
        return os.path.isfile(urllib.parse.unquote(file.removeprefix("file://"))) and not fragment

    def test_every_shipped_kernel_has_its_report_and_its_text(self):
        specs = [name for name in os.listdir(os.path.join(ROOT, "specs"))
                 if name.endswith(".yaml") and not name.endswith(".lock.yaml")]
        self.open("specs/index.html")
        links = set(self.browser.evaluate(LINKS))
        for spec in specs:
            name = spec.removesuffix(".yaml")
            with self.subTest(kernel=name):
                self.assertIn(address("specs/%s.html" % spec), links)
                self.assertIn(address("reports/%s.html" % name), links)
                self.open("specs/%s.html" % spec)
                self.assertIn("kernel: " + name, self.browser.evaluate("document.querySelectorAll('pre')[1].innerText"))

    def test_a_report_opens_from_the_gallery_and_works(self):
        self.open("specs/index.html")
        self.browser.evaluate("[...document.querySelectorAll('.kernels a')].find(a => a.href.endsWith('reports/gmm.html')).click()")
        self.arrive("reports/gmm.html")
        self.browser.wait_for("'ready' in document.documentElement.dataset")
        self.browser.press("ArrowRight")
        self.expect_quiet()

    def type(self, query):
        self.browser.evaluate("document.activeElement.blur()")
        self.browser.press("/", "Slash", "/")
        self.assertTrue(self.browser.evaluate("document.activeElement.type === 'search'"))
        self.browser.call("Input.insertText", text=query)

    def results(self):
        self.browser.wait_for("!document.getElementById('results').hidden")
        return self.browser.evaluate(
            "[...document.querySelectorAll('#results a')].map(a => a.getAttribute('href').replace(/^(\\.\\.\\/)+/, ''))")

    def test_the_search_finds_known_words(self):
        for page in ("index.html", "docs/rules/alias.html"):
            for query, wanted in (("megacore", "docs/glossary.html"), ("semaphore", "docs/glossary.html"),
                                  ("index-range", "docs/rules/index-range.html"), ("online softmax", "specs/attention.yaml.html"),
                                  ("gmm_int8", "specs/gmm.yaml.html"), ("KILN_TOOL", "tests/index.html")):
                with self.subTest(page=page, query=query):
                    self.open(page)
                    self.type(query)
                    self.assertIn(wanted, [href.partition("#")[0] for href in self.results()])
        self.type("xyzzyplugh")
        self.browser.wait_for("document.getElementById('results').innerText === 'Nothing is found.'")
        self.expect_quiet()

    def test_a_page_about_a_word_is_found_before_pages_that_mention_it(self):
        for query, wanted in (("glossary", "docs/glossary.html"), ("emulator", "docs/emulator.html"),
                              ("cookbook", "docs/cookbook.html"), ("softmax", "specs/softmax.yaml.html")):
            with self.subTest(query=query):
                self.open("index.html")
                self.type(query)
                self.assertEqual(self.results()[0].partition("#")[0], wanted)

    def test_keys_choose_a_result_and_go_there(self):
        self.open("docs/tutorial.html")
        self.type("megacore")
        second = self.results()[1]
        self.browser.press("ArrowDown")
        self.browser.press("Enter")
        self.arrive(second.partition("#")[0])
        self.assertEqual(self.browser.evaluate("location.hash"), "#" + second.partition("#")[2] if "#" in second else "")
        self.expect_quiet()

    def test_escape_closes_the_results(self):
        self.open("docs/tutorial.html")
        self.type("block")
        self.assertEqual(len(self.results()), 20)
        self.browser.press("Escape")
        self.assertTrue(self.browser.evaluate("document.getElementById('results').hidden"))

    def test_results_and_the_list_of_pages_fit_a_phone(self):
        self.open("docs/rules/alias.html", width=360)
        shown = "getComputedStyle(document.querySelector('nav')).display"
        self.assertEqual(self.browser.evaluate(shown), "none")
        self.browser.evaluate("document.querySelector('.menu').click()")
        self.assertEqual(self.browser.evaluate(shown), "block")
        self.assertTrue(self.browser.evaluate("document.querySelector('nav [aria-current]').getClientRects().length > 0"))
        self.screenshot("menu-phone")
        self.browser.press("Escape")
        self.assertEqual(self.browser.evaluate(shown), "none")
        self.type("block")
        self.results()
        self.screenshot("search-phone")
        self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), 360)
        self.assertTrue(self.browser.evaluate("(box => box.left >= 0 && box.right <= 360)"
                                              "(document.getElementById('results').getBoundingClientRect())"))

    def test_the_theme_is_kept_from_page_to_page(self):
        color = "getComputedStyle(document.body).backgroundColor"
        self.open("index.html")
        light = self.browser.evaluate(color)
        self.browser.evaluate("document.querySelector('.theme').click()")
        dark = self.browser.evaluate(color)
        self.assertNotEqual(dark, light)
        self.open("docs/tutorial.html")
        self.assertEqual(self.browser.evaluate(color), dark)
        self.browser.evaluate("localStorage.clear()")
        self.open("docs/tutorial.html", theme="dark")
        self.assertEqual(self.browser.evaluate(color), dark)

    def test_every_text_stands_out_from_what_is_behind_it(self):
        for page in ("index.html", "docs/tutorial.html", "docs/spec-language.html", "specs/index.html", "specs/matmul.yaml.html",
                     "generated/matmul_f32.cc.html"):
            for theme in ("light", "dark"):
                with self.subTest(page=page, theme=theme):
                    self.open(page, theme=theme)
                    self.assertEqual(self.browser.evaluate(CONTRAST), [])

    def test_pages_can_be_looked_at(self):
        for name, page in (("home", "index.html"), ("gallery", "specs/index.html"), ("kernel", "specs/matmul.yaml.html")):
            for width, theme in SCREENS:
                self.open(page, width, theme)
                self.screenshot("%s-%s-%s" % (name, "phone" if width < 500 else "desktop", theme))
                self.expect_quiet()

    def test_everything_that_can_be_used_has_a_name(self):
        self.open("docs/embedding.html")
        nodes = self.browser.call("Accessibility.getFullAXTree")["nodes"]
        roles = {"button", "combobox", "link", "navigation", "search", "image"}
        nameless = [node for node in nodes if not node.get("ignored") and node.get("role", {}).get("value") in roles - {"search"}
                    and not node.get("name", {}).get("value")]
        self.assertEqual(nameless, [])
        self.assertTrue(roles - {"image"} <= {node.get("role", {}).get("value") for node in nodes})


if __name__ == "__main__":
    if chromium.find() is None:
        print("skipped: no Chromium; `./dev test-site` installs one and runs this test")
        sys.exit(77)
    os.makedirs(SCREENSHOTS, exist_ok=True)
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
