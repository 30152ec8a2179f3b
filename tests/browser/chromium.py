"""A headless Chromium, driven through its DevTools protocol over a pipe."""

import base64
import itertools
import json
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
#: What the browser answers about a page that another one is taking the place of.
LEFT = re.compile("navigated or closed|context was destroyed|Cannot find context")


class LeftPage(RuntimeError):
    pass


def find():
    """The browser's path, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Chromium:
    """`with Chromium(path) as browser:` has one page; `events` are what it has said so far."""

    def __init__(self, path):
        self._path = path
        self._ids = itertools.count(1)
        self._buffer = b""
        self._session = None
        self._width = None
        self.events = []

    def __enter__(self):
        self._profile = tempfile.mkdtemp(prefix="kiln-pages-")
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        # The browser reads commands from file 3 and writes answers to file 4, whatever these are here.
        script = 'exec "$0" "$@" 3<&%d 4>&%d' % (to_browser, from_browser)
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        self._process = subprocess.Popen(
            ["bash", "-c", script, self._path, "--headless", "--remote-debugging-pipe", "--disable-gpu",
             "--no-first-run", "--hide-scrollbars", "--user-data-dir=" + self._profile, *sandbox,
             "about:blank"],
            pass_fds=(to_browser, from_browser), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "DOM"):
            self.call(domain + ".enable")
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait(timeout=20)
        shutil.rmtree(self._profile, ignore_errors=True)

    def call(self, method, **params):
        number = next(self._ids)
        message = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") != number:
                self.events.append(answer)
            elif "error" in answer:
                message = "%s: %s" % (method, answer["error"])
                raise LeftPage(message) if LEFT.search(message) else RuntimeError(message)
            else:
                return answer["result"]

    def _receive(self, seconds=30):
        while b"\0" not in self._buffer:
            if not select.select([self._read], [], [], seconds)[0]:
                raise TimeoutError("the browser says nothing")
            chunk = os.read(self._read, 1 << 20)
            if not chunk:
                raise RuntimeError("the browser has ended")
            self._buffer += chunk
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"])
        return result["result"].get("value")

    def wait_for(self, expression, seconds=20):
        end = time.monotonic() + seconds
        while not self._holds(expression):
            if time.monotonic() > end:
                raise TimeoutError("never true: " + expression)
            time.sleep(0.02)

    def _holds(self, expression):
        """Not yet, where the page that was asked gives way to the next one meanwhile."""
        try:
            return self.evaluate(expression)
        except LeftPage:
            return False

    def show_as(self, width, theme):
        """The page that is open, and the next ones, on a screen of that width, light or dark."""
        if width != self._width:  # which takes a while
            self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1,
                      mobile=width < 500)
            self._width = width
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])

    def complaints(self):
        """What the pages have said on the console, and what went wrong in them."""
        kinds = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded", "Network.loadingFailed")
        return [event for event in self.events if event.get("method") in kinds]

    def requests(self):
        """The addresses that the pages have asked for, and as what."""
        sent = [event["params"] for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return [(params["request"]["url"], params["type"]) for params in sent]

    def screenshot(self, path):
        """All of the page, in its full height."""
        height = self.evaluate("document.documentElement.scrollHeight")
        width = self.evaluate("innerWidth")
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True,
                         clip={"x": 0, "y": 0, "width": width, "height": height, "scale": 1})
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))

    def settle(self):
        """Until what the page asked for has been drawn."""
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def press(self, key, code=None, text=""):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code or key,
                      text=text if kind == "keyDown" else "")
        self.settle()


if __name__ == "__main__":  # says which browser there is, or fails
    print(find() or "there is no Chromium")
    sys.exit(find() is None)
