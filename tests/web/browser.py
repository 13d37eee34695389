"""A headless Chromium, driven over the W3C WebDriver protocol: plain JSON over HTTP, so that nothing else is needed."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

HOW = "install it with: apt-get install -y chromium chromium-driver"
ENTER, TAB, SPACE, ALT = "\ue007", "\ue004", " ", "\ue00a"
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


def programs() -> tuple[str, str]:
    """Paths of the browser and its driver; without them the test is skipped with a sentence, in CI it fails."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if browser and driver:
        return browser, driver
    missing = f"There is no Chromium with its driver here; {HOW}."
    if os.environ.get("CI") == "true":
        pytest.fail(missing)
    pytest.skip(missing)


class Browser:
    """One window."""

    def __init__(self, width: int = 1200, height: int = 1000) -> None:
        binary, driver = programs()
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self._profile = tempfile.mkdtemp(prefix="synafa-browser-")
        self._process = subprocess.Popen(
            [driver, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._base = f"http://127.0.0.1:{port}"
        arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"]
        arguments += ["--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"]
        arguments += [f"--user-data-dir={self._profile}", f"--window-size={width},{height}"]
        options = {"binary": binary, "args": arguments}
        try:
            self._wait_for_driver()
            capabilities = {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options}}
            session = self._send("POST", "/session", {"capabilities": capabilities})
            self._base += f"/session/{session['sessionId']}"
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        try:
            if "/session/" in self._base:
                self._send("DELETE", "", None)
        finally:
            self._process.terminate()
            self._process.wait(30)
            shutil.rmtree(Path(self._profile), ignore_errors=True)

    def open(self, address: str) -> None:
        self._send("POST", "/url", {"url": address})

    def reload(self) -> None:
        self._send("POST", "/refresh", {})

    def run(self, script: str, *arguments):
        """The value that a script returns."""
        return self._send("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def resize(self, width: int, height: int) -> None:
        """The size of what the page sees; a window of Chromium is never narrower than 500 pixels."""
        command = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": True}
        self._send("POST", "/goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride", "params": command})

    def media(self, kind: str = "", scheme: str = "light") -> None:
        """ "print" or "" for the screen, and the colours that the person prefers."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        params = {"media": kind, "features": features}
        self._send("POST", "/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": params})

    def print_page(self) -> str:
        """The page as PDF, in base64."""
        return self._send("POST", "/print", {})

    def text(self, selector: str) -> str:
        return self.run("return document.querySelector(arguments[0]).textContent", selector)

    def keys(self, selector: str, text: str) -> None:
        """Type into an element."""
        self._send("POST", f"/element/{self._find(selector)}/value", {"text": text})

    def click(self, selector: str) -> None:
        self._send("POST", f"/element/{self._find(selector)}/click", {})

    def press(self, *keys: str) -> None:
        """Press keys one after another on whatever has the focus; a key after ALT is pressed together with it."""
        actions, held = [], False
        for key in keys:
            actions.append({"type": "keyDown", "value": key})
            if key == ALT:
                held = True
                continue
            actions.append({"type": "keyUp", "value": key})
            if held:
                actions.append({"type": "keyUp", "value": ALT})
                held = False
        self._send("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def wait(self, condition: str, *arguments, seconds: float = 30.0):
        """Until a script returns something true; that value."""
        end = time.monotonic() + seconds
        while True:
            value = self.run(f"return ({condition})", *arguments)
            if value:
                return value
            if time.monotonic() > end:
                raise AssertionError(f"waited {seconds:g} s for {condition}: {self.text('body')[:500]}")
            time.sleep(0.05)

    def _find(self, selector: str) -> str:
        return self._send("POST", "/element", {"using": "css selector", "value": selector})[_ELEMENT]

    def _wait_for_driver(self) -> None:
        for _ in range(300):
            try:
                if self._send("GET", "/status", None)["ready"]:
                    return
            except OSError:
                time.sleep(0.1)
        raise AssertionError("chromedriver did not start")

    def _send(self, method: str, path: str, body):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{path}: {error.read().decode()[:600]}") from None
