#!/usr/bin/env python3
"""Drives the page of a trace in headless Chromium, with clicks and keys:

    Tests/EndToEndTests/page.py PROGRAM    needs chromium, chromedriver and the package selenium

One trace is of a real service; another one has 100,000 messages. SHOTS=DIR keeps pictures. Ends with status 0 where all
is as it should be.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

PROGRAM = sys.argv[1]


def record(folder):
    """A trace of a service: transfers of objects whose names differ at their ends, errors, and no answer."""
    trace, source = folder / "real.trace", folder / "source.bin"
    source.write_bytes(os.urandom(629_145_600 // 40))
    requests = [("initialize", {"client": {"name": "storage_rpc for Python", "version": "1"}})]
    for number in range(5):
        name = f"gs://default-bucket/albums/2026/a-summer-with-many-pictures/picture-{number}.jpg"
        requests.append(("reference/putFile", {"reference": name, "file": str(source), "observe": ["progress", "success"]}))
    requests += [("reference/getMetadata", {"reference": "gs://default-bucket/none"})] * 3
    requests += [("reference/list", {"reference": "gs://default-bucket/albums"}), ("service/nothing", {})]
    lines = [json.dumps({"jsonrpc": "2.0", "id": n, "method": m, "params": p}) for n, (m, p) in enumerate(requests)]
    command = [PROGRAM, "--root", str(folder / "root"), "--trace", str(trace)]
    subprocess.run(command, input="\n".join(lines) + "\n", text=True, stdout=subprocess.DEVNULL, check=True, timeout=120)
    return trace


def invent(folder, count):
    """A trace of many messages, and 2,000 transfers."""
    trace = folder / "many.trace"
    with trace.open("w") as file:
        print('{"trace":1,"version":"1","at":100,"pid":7,"engine":"embedded"}', file=file)
        for n in range(count // 2):
            at, method = 100 + n / 1000, "reference/getMetadata" if n % 10 else "reference/list"
            asked = {"id": n, "method": method, "params": {"reference": f"gs://b/{n}"}}
            told = {"id": n, "result": {}}
            if n % 50 == 0:
                asked["method"] = "reference/putFile"
                progress = {"completedUnitCount": 0, "totalUnitCount": 10}
                told["result"] = {"task": f"task-{n}", "state": "queued", "reference": {"url": f"gs://b/{n}"}, "progress": progress}
            for sender, message, later in (("client", asked, 0), ("service", told, 0.0005)):
                line = {"at": at + later, "pid": 7, "connection": 1, "from": sender, "bytes": 9, "message": message}
                print(json.dumps(line), file=file)
    return trace


def page(trace):
    html = trace.with_suffix(".html")
    subprocess.run([PROGRAM, "trace", str(trace), "--html", str(html)], check=True, timeout=120)
    return html.as_uri()


class Browser:
    def __init__(self, width, height, dark=False):
        options = webdriver.ChromeOptions()
        for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--window-size={width},{height}"):
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        options.binary_location = shutil.which("chromium")
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
        self.name = f"{width}x{height}{'-dark' if dark else ''}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        wrong = [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]
        self.driver.quit()
        assert not wrong, wrong

    def open(self, url):
        self.driver.get("about:blank")
        self.driver.get(url)

    def run(self, script, *values):
        return self.driver.execute_script("return " + script, *values)

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def text(self, selector):
        return self.find(selector).text

    def until(self, condition, what):
        WebDriverWait(self.driver, 20, 0.05).until(lambda _: condition(), what)

    def keys(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def rows(self):
        return self.driver.find_elements(By.CSS_SELECTOR, "#rows tr:not(.spacer)")

    def click_shape(self, kind):
        """Clicks in the middle of the first bar of a transfer or a request, as a person would see it."""
        lane = f"layout.lanes.find((lane) => (lane.kind === 'task') === {'true' if kind == 'task' else 'false'})"
        self.run(f"(stage.scrollTop = {lane}.y - 60, draw(), 1)")
        script = f"shapes.filter((s) => s.{kind}).map((s) => [s.left + s.wide / 2, s.top + s.high / 2 - stage.scrollTop])[0]"
        x, y = self.run(script)
        box = self.run("(({ left, top, width, height }) => [left + width / 2, top + height / 2])(canvas.getBoundingClientRect())")
        canvas = self.find("#lanes")
        left, top = self.run("(({ left, top }) => [left, top])(canvas.getBoundingClientRect())")
        ActionChains(self.driver).move_to_element_with_offset(canvas, x + left - box[0], y + top - box[1]).click().perform()

    def picture(self, name):
        if folder := os.environ.get("SHOTS"):
            self.driver.save_screenshot(f"{folder}/{name}-{self.name}.png")


def use(browser, url):
    browser.open(url)
    browser.until(lambda: browser.rows(), "there are no rows")
    assert browser.run("document.documentElement.scrollWidth <= window.innerWidth"), "the page is wider than the window"
    count = int(browser.text("#count"))
    names = browser.run("layout.lanes.filter((lane) => lane.task).map((lane) => elided(lane.name, margin - 30))")
    assert len(set(names)) == 5, f"names look alike: {names}"
    shown = [row.text for row in browser.rows() if "→" in row.text and "reference/putFile" in row.text]
    assert len(shown) == len({text.split("putFile")[1][:40] for text in shown}) == 5, f"rows look alike: {shown}"
    browser.picture("start")

    browser.click_shape("task")
    browser.until(lambda: browser.text("#chosen") in ("Upload", "Download"), "a click on a transfer shows nothing")
    assert "picture-" in browser.text("#message") and "#task-" in browser.run("location.hash")
    browser.picture("transfer")
    browser.click_shape("entry")
    browser.until(lambda: "#row-" in browser.run("location.hash"), "a click on a bar chooses nothing")

    browser.keys(Keys.ESCAPE)
    browser.keys("/")
    assert browser.run("document.activeElement.id") == "filter"
    browser.keys("object none")
    browser.until(lambda: f" of {count} match" in browser.text("#count"), "the filter says not how many match")
    assert int(browser.text("#count").split()[0]) == 6, browser.text("#count")
    browser.picture("filter")
    browser.keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    assert "reference/getMetadata" in browser.text("#chosen")
    chosen = browser.run("location.hash")
    browser.keys(Keys.ENTER)
    assert browser.run("document.activeElement.id") == "message" and "-13010" in browser.text("#message")
    browser.keys(Keys.ESCAPE)
    browser.until(lambda: browser.text("#count") == str(count), "Escape does not clear the filter")

    browser.run("(element('method').value = 'reference/list', element('method').dispatchEvent(new Event('change')))")
    assert all("reference/list" in row.text for row in browser.rows()) and len(browser.rows()) == 2
    browser.keys(Keys.ESCAPE)

    browser.driver.execute_script("navigator.clipboard.writeText = async (text) => { window.copied = text; };")
    browser.open(url + chosen)
    browser.until(lambda: browser.run("location.hash") == chosen and "getMetadata" in browser.text("#chosen"), "a link leads nowhere")
    browser.driver.execute_script("navigator.clipboard.writeText = async (text) => { window.copied = text; };")
    browser.find("#copy").click()
    browser.until(lambda: browser.run("window.copied"), "nothing is copied")
    assert {message.get("method") for message in json.loads(browser.run("window.copied"))} == {"reference/getMetadata", None}
    browser.find("#link").click()
    browser.until(lambda: browser.run("window.copied").endswith(chosen), "no link is copied")


def reach(browser, url, count):
    """All rows and transfers of a long trace."""
    browser.open(url)
    browser.until(lambda: browser.rows(), "there are no rows")
    assert browser.text("#count") == str(count) and len(browser.rows()) < 200
    browser.find("#scroll").click()
    browser.run("element('scroll').focus()")
    browser.keys(Keys.END)
    last = count - 1
    browser.until(lambda: browser.run("location.hash") == f"#row-{last}", "End does not choose the last row")
    browser.until(lambda: browser.rows() and browser.rows()[-1].get_attribute("data-row") == str(last), "the last row is not shown")
    browser.run("(stage.scrollTop = layout.height, 1)")
    script = "shapes.length > 0 && layout.lanes.at(-1).y + layout.lanes.at(-1).rows * 20 <= stage.scrollTop + stage.clientHeight"
    browser.until(lambda: browser.run(script), "the last transfer is not reached")
    assert browser.run("layout.lanes.filter((lane) => lane.kind === 'task').length") == count // 100
    browser.picture("many")


def main():
    with tempfile.TemporaryDirectory(prefix="storage-rpc-") as scratch:
        folder = Path(scratch)
        real, many = page(record(folder)), page(invent(folder, 100_000))
        for width, height, dark in [(1280, 800, False), (1280, 800, True), (800, 600, False), (390, 844, False)]:
            with Browser(width, height, dark) as browser:
                use(browser, real)
                print(f"ok: {browser.name}")
        with Browser(1280, 800) as browser:
            reach(browser, many, 100_001)
            print("ok: 100,000 messages")


if __name__ == "__main__":
    main()
