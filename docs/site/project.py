"""The project's files, and which page of the site shows each."""

import os
import posixpath
import urllib.parse

IGNORED = ("build", "__pycache__", "results")  # and whatever begins with a dot: not part of the project
AS_THEY_ARE = (".png", ".svg", ".jpg", ".gif", ".npy", ".npz", ".pdf")  # copied into the site


class Project:
    def __init__(self, root: str) -> None:
        self.root = root
        self.files: set[str] = set()
        self.folders: set[str] = {""}
        for folder, folders, files in os.walk(root):
            folders[:] = [f for f in folders if not f.startswith((".", "build-")) and f not in IGNORED]
            inside = os.path.relpath(folder, root).replace(os.sep, "/").removeprefix(".")
            self.folders.add(inside)
            self.files.update(posixpath.join(inside, f) for f in files)

    def read(self, path: str) -> str:
        with open(os.path.join(self.root, path), encoding="utf-8") as file:
            return file.read()

    def markdown(self) -> list[str]:
        return sorted(path for path in self.files if path.endswith(".md"))

    def inside(self, folder: str) -> list[str]:
        """Files and folders of a folder, as paths, folders first."""
        def of(paths):
            return sorted(path for path in paths if path and posixpath.dirname(path) == folder)
        return of(self.folders) + of(self.files)

    def find(self, page: str, href: str) -> str | None:
        """What a link on the page of this path leads to: a file, a folder with its README, or nothing."""
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), urllib.parse.unquote(href))) if href else page
        path = "" if path == "." else path
        if path in self.folders:
            readme = posixpath.join(path, "README.md")
            return readme if readme in self.files else path
        return path if path in self.files else None

    def url(self, path: str) -> str:
        """A file or folder's page: folders and their READMEs are index.html of the same folder."""
        folder, name = posixpath.split(path)
        if path in self.folders:
            return posixpath.join(path, "index.html")
        if name == "README.md":
            return posixpath.join(folder, "index.html")
        if name.endswith(AS_THEY_ARE):
            return path
        return path.removesuffix(".md") + ".html" if name.endswith(".md") else path + ".html"
