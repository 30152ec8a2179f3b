"""What docs/site makes of small projects: links, anchors, the order of the pages, and each mistake with its message.

    build_test.py KILN
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SITE = os.path.join(ROOT, "docs", "site")
KILN = os.path.abspath(sys.argv[1])
sys.path.insert(0, SITE)
import pages
from project import Project
from prose import Prose, sentence

# A project as small as one may be.
FILES = {
    "README.md": "# Small\n",
    "docs/README.md": "# Manual\n\n## Start\n\n- [Home](../README.md)\n- [First](first.md)\n",
    "docs/first.md": "# First\n\n[home](../README.md), [kernels](../specs), [one](../specs/twice.yaml)\n",
    "docs/site/gallery.yaml": "All:\n  twice: n=100\n",
    "specs/README.md": "# specs\n",
    "specs/twice.yaml": "kernel: twice\ndoc: Twice `x` <b>.\ninputs:\n  x: f32[n]\noutputs:\n  o: f32[n]\nbody: o = x * 2\n",
    "generated/twice.cc": "int x;\n",
}


class BuildTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="kiln-site-")
        self.addCleanup(shutil.rmtree, self.folder)
        for path, content in FILES.items():
            self.write(path, content)

    def write(self, path, content):
        os.makedirs(os.path.dirname(os.path.join(self.folder, path)), exist_ok=True)
        with open(os.path.join(self.folder, path), "w", encoding="utf-8") as file:
            file.write(content)

    def add(self, path, content):
        self.write(path, FILES[path] + content)

    def build(self):
        """What is wrong, by lines."""
        made = subprocess.run([sys.executable, os.path.join(SITE, "build.py"), KILN, os.path.join(self.folder, "build"),
                               "--project", self.folder], capture_output=True, text=True, timeout=60)
        self.assertNotIn("Traceback", made.stderr)
        self.assertEqual(made.returncode, 1 if made.stderr else 0)
        return made.stderr.splitlines()

    def page(self, path):
        with open(os.path.join(self.folder, "build", path), encoding="utf-8") as file:
            return file.read()

    def body(self, markdown):
        self.write("docs/first.md", markdown)
        wrong = []
        page = Prose(Project(self.folder), wrong).page("docs/first.md")
        self.assertEqual(wrong, [])
        return page.body

    def test_a_project_without_mistakes_has_a_page_for_each_file_that_is_linked(self):
        self.assertEqual(self.build(), [])
        first = self.page("docs/first.html")
        for href in ('href="../index.html"', 'href="../specs/index.html"', 'href="../specs/twice.yaml.html"'):
            self.assertIn(href, first)
        gallery = self.page("specs/index.html")
        self.assertIn('href="../reports/twice.html"', gallery)
        self.assertIn('href="../generated/twice.cc.html"', gallery)
        self.assertIn("Twice <code>x</code> &lt;b&gt;.", gallery)
        self.assertIn("twice", self.page("reports/twice.html"))

    def test_every_mistake_is_listed_at_once_and_the_site_before_stays(self):
        self.assertEqual(self.build(), [])
        self.add("docs/first.md", "\n[a](gone.md), [b](#nowhere),\n[c](../README.md#small), [d](../README.md#large)\n")
        self.write("docs/lost.md", "# Lost\n")
        self.write("specs/new.yaml", "kernel: new\n")
        self.write("docs/site/gallery.yaml", "All:\n  twice: n=x\n  old: n=1\n")
        wrong = self.build()
        for line in ("docs/first.md:5: a link to nothing: gone.md", "docs/first.md:5: no such heading: #nowhere",
                     "docs/first.md:5: no such heading: ../README.md#large",
                     "docs/README.md: no section has a link to docs/lost.md",
                     "docs/site/gallery.yaml: specs/new.yaml is in no group",
                     "docs/site/gallery.yaml: there is no specs/old.yaml"):
            self.assertIn(line, wrong)
        self.assertTrue(any("kiln report specs/twice.yaml n=x" in line for line in wrong), wrong)
        self.assertFalse(any("#small" in line for line in wrong), wrong)
        self.assertNotIn("gone.md", self.page("docs/first.html"))

    def test_a_folder_without_a_readme_is_a_list_and_brings_its_pages_into_the_order(self):
        self.write("docs/rules/b.md", "# [b] the second\n")
        self.write("docs/rules/a.md", "# [a] the first\n")
        self.add("docs/README.md", "- [Rules](rules)\n")
        self.assertEqual(self.build(), [])
        self.assertIn('<a href="a.html"><code>a.md</code></a> [a] the first', self.page("docs/rules/index.html"))
        self.assertIn('<a rel="next" href="b.html">[b] →</a>', self.page("docs/rules/a.html"))

    def test_a_readme_that_the_manual_does_not_name_is_among_the_folders(self):
        self.write("runtime/README.md", "# runtime\n")
        self.assertEqual(self.build(), [])
        self.assertIn('<li><a href="runtime/index.html">runtime</a></li>', self.page("index.html"))

    def test_markdown_is_read_as_a_forge_reads_it(self):
        body = self.body("A line\n- a list\n  - in it\n\n```python torch\nimport x\n```\n\n| a |\n|---|\n| `b` \\| c<br>d |\n")
        self.assertIn("<li>a list\n<ul>\n<li>in it</li>", body)
        self.assertIn('<span class="kn">import</span>', body)
        self.assertIn("<td><code>b</code> | c<br>d</td>", body)
        self.assertIn('<div class="scroll" tabindex="0"><table>', body)

    def test_pictures_and_arrays_are_copied_as_they_are(self):
        self.add("docs/first.md", "\n![a plot](a%20plot.svg) and [its data](data.npy)\n")
        self.write("docs/a plot.svg", "<svg/>")
        with open(os.path.join(self.folder, "docs/data.npy"), "wb") as file:
            file.write(b"\x93NUMPY")
        self.assertEqual(self.build(), [])
        self.assertEqual(self.page("docs/a plot.svg"), "<svg/>")
        self.assertIn('<img src="a%20plot.svg" alt="a plot" />', self.page("docs/first.html"))
        self.assertTrue(os.path.isfile(os.path.join(self.folder, "build/docs/data.npy")))

    def test_anchors_are_those_of_a_forge(self):
        taken = set()
        for title, anchor in (("What `kiln` is", "what-kiln-is"), ("C++, and C", "c-and-c"), ("cross_entropy", "cross_entropy"),
                              ("Twice", "twice"), ("Twice", "twice-1"), ("Twice", "twice-2"), ("[alias] a", "alias-a")):
            self.assertEqual(pages.slug(title, taken), anchor)

    def test_links_between_pages_are_relative(self):
        for page, url, link in (("index.html", "docs/a.html", "docs/a.html"), ("docs/a.html", "index.html", "../index.html"),
                                ("docs/a.html", "docs/b.html", "b.html"), ("docs/x/a.html", "docs/b.html", "../b.html"),
                                ("a/a/p.html", "a/b/p.html", "../b/p.html")):
            self.assertEqual(pages.between(page, url), link)

    def test_a_sentence_of_a_spec_cannot_be_markup(self):
        self.assertEqual(sentence("`a<b` & <script>*x*"), "<code>a&lt;b</code> &amp; &lt;script&gt;*x*")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
