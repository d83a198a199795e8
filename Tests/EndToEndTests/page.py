#!/usr/bin/env python3
"""Drives the page of a trace in headless Chromium, with clicks and keys:

    Tests/EndToEndTests/page.py PROGRAM    needs chromium, chromedriver and the package selenium

One trace is of a real service; another one has 100,000 messages. SHOTS=DIR keeps pictures. Ends with status 0 where all
is as it should be.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

PROGRAM = sys.argv[1]


class Conversation:
    """A service with a harness, line by line."""

    def __init__(self, *flags):
        command = [PROGRAM, "serve", "--harness", *flags]
        self.service = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.watchdog = threading.Timer(120, self.service.kill)
        self.watchdog.start()
        self.asked, self.heard = 0, []

    def ask(self, method, **params):
        self.asked += 1
        number = f"harness {self.asked}" if method.startswith("harness/") else self.asked
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        print(json.dumps(message), file=self.service.stdin, flush=True)
        return number

    def hear(self, fits):
        """The first message that fits, of those that have come and that come."""
        for message in self.heard:
            if fits(message):
                return message
        for line in self.service.stdout:
            self.heard.append(json.loads(line))
            if fits(self.heard[-1]):
                return self.heard[-1]
        raise AssertionError("the service has ended")

    def answer(self, number):
        return self.hear(lambda message: message.get("id") == number)

    def event(self, task, fits):
        snapshot = lambda message: message.get("params", {}).get("snapshot", {})
        return self.hear(lambda message: snapshot(message).get("task") == task and fits(snapshot(message)))

    def end(self):
        self.service.stdin.close()
        self.service.stdout.read()
        assert self.service.wait() == 0
        self.watchdog.cancel()


def record(folder):
    """A trace of a service: transfers of objects whose names differ at their ends, one that is paused, one that is tried
    again, errors, and an answer that waits. It is without the lines that arrange this."""
    trace, source, size = folder / "real.trace", folder / "source.bin", 15 << 20
    source.write_bytes(os.urandom(size))
    talk = Conversation("--trace", str(folder / "all.trace"))
    talk.ask("initialize", client={"name": "storage_rpc for Python", "version": "1"})
    album = "gs://default-bucket/albums/2026/a-summer-with-many-pictures"
    busy = {"fail": {"httpStatus": 503, "message": "The server is busy."}}
    for number in (1, 5):
        talk.ask("harness/arm", on="send", reference=f"{album}/picture-{number}.jpg", do=busy, nth=5, times=2)
    hold = talk.ask("harness/arm", on="send", reference=f"{album}/picture-2.jpg", do={"hold": True}, at=6 << 20)
    held = talk.answer(hold)["result"]["rule"]
    talk.answer(talk.ask("harness/arm", on="send", do={"rate": 10 << 20}, times=None))
    numbers = [
        talk.ask("reference/putFile", reference=f"{album}/picture-{number}.jpg", file=str(source), observe=number < 5)
        for number in range(6)
    ]
    tasks = [talk.answer(number)["result"]["task"] for number in numbers]
    waiting = talk.ask("uploadTask/wait", task=tasks[1])
    for _ in range(3):
        talk.ask("reference/getMetadata", reference="gs://default-bucket/none")
    talk.ask("reference/list", reference="gs://default-bucket/albums")
    talk.ask("service/nothing")
    # The rule has fired: a pause before that would leave it to hold what is resumed.
    talk.hear(lambda message: message.get("params", {}).get("rule") == held)
    talk.ask("uploadTask/pause", task=tasks[2])
    talk.event(tasks[1], lambda snapshot: snapshot.get("retry", {}).get("attempt") == 2)
    talk.ask("uploadTask/resume", task=tasks[2])
    talk.answer(waiting)
    for task in tasks[:5]:
        talk.event(task, lambda snapshot: snapshot["status"] == "success")
    talk.answer(talk.ask("uploadTask/wait", task=tasks[5]))
    talk.end()
    with trace.open("w") as file:
        for line in (folder / "all.trace").read_text().splitlines(keepends=True):
            message = json.loads(line).get("message", {})
            if not f"{message.get('id')} {message.get('method')}".startswith(("harness", "None harness")):
                file.write(line)
    return trace


def invent_question(folder):
    """A trace of a request that waits for a token, and for a request before it."""
    trace = folder / "question.trace"
    lines = [
        (1.0, "client", {"id": 1, "method": "uploadTask/wait", "params": {"task": "t"}}),
        (1.1, "client", {"id": 2, "method": "reference/getMetadata", "params": {"reference": "gs://b/a"}}),
        (1.2, "service", {"id": "token", "method": "auth/refreshToken", "params": {"kind": "idToken", "reason": "expired"}}),
        (3.2, "client", {"id": "token", "result": {"token": "(…)"}}),
        (3.4, "service", {"id": 2, "result": {"size": 5}}),
    ]
    with trace.open("w") as file:
        print('{"trace":1,"version":"1","at":1,"pid":7,"engine":"firebase"}', file=file)
        for at, sender, message in lines:
            print(json.dumps({"at": at, "pid": 7, "connection": 1, "from": sender, "bytes": 9, "message": message}), file=file)
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
        WebDriverWait(self.driver, 120, 0.05).until(lambda _: condition(), what)

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
    assert len(set(names)) == 6, f"names look alike: {names}"
    shown = [row.text for row in browser.rows() if "→" in row.text and "reference/putFile" in row.text]
    assert len(shown) == len({text.split("putFile")[1][:40] for text in shown}) == 6, f"rows look alike: {shown}"
    browser.picture("start")

    browser.click_shape("task")
    browser.until(lambda: browser.text("#chosen") in ("Upload", "Download"), "a click on a transfer shows nothing")
    assert "picture-" in browser.text("#message") and "#task-" in browser.run("location.hash")
    look_at_waits(browser)
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


def look_at_waits(browser):
    """A wait before a retry is drawn and told as what it is; what is written lies on no bar, and nothing is cut."""
    assert browser.find("#legend").is_displayed() and "waiting" in browser.text("#legend")
    browser.run("(chooseTask(tasks.find((task) => task.reference.endsWith('picture-1.jpg'))), 1)")
    text = browser.text("#message")
    assert re.search(r"waiting  .* attempt 1 of upload  .*The server is busy", text), text
    states = [line.split("  ")[1] for line in text.splitlines() if " s  " in line]
    assert "paused" not in states and states.index("waiting") < len(states) - 2, states
    browser.run("(chooseTask(tasks.find((task) => task.reference.endsWith('picture-5.jpg'))), 1)")
    unobserved = [line.split("  ")[1] for line in browser.text("#message").splitlines() if " s  " in line]
    told = [state for state, before in zip(unobserved, [None, *unobserved]) if state != before]
    assert told[0] == "asked for" and told[-6:] == ["running", "waiting", "running", "waiting", "running", "success"], told
    verdicts = [line.text for line in browser.driver.find_elements(By.CSS_SELECTOR, "#verdicts button")]
    assert 0 < len(verdicts) <= 5 and all("picture-" in verdict for verdict in verdicts), verdicts
    assert any(re.fullmatch(r"picture-[15]\.jpg waited \d+\.\d s of \d+\.\d s for a busy server", verdict) for verdict in verdicts), verdicts
    browser.find("#verdicts button").click()
    assert browser.text("#chosen") == "Upload" and verdicts[0] in browser.text("#message")
    browser.run("(choose(entries.find((entry) => entry.title === 'uploadTask/wait')), 1)")
    assert re.search(r"^//   the transfer, waiting: attempt 2 .*  \d", browser.text("#message"), re.M), browser.text("#message")
    written = browser.run("""(() => {
        const real = pen.fillText.bind(pen), texts = [];
        pen.fillText = (text, left, y) => { texts.push([text, left, left + pen.measureText(text).width, y]); real(text, left, y); };
        stage.scrollTop = layout.height;
        draw();
        pen.fillText = real;
        return { texts, width, bars: shapes.filter((shape) => shape.task).map(({ left, top, wide, high }) => [left, top, left + wide - 8, top + high]) };
    })()""")
    for text, left, right, y in written["texts"]:
        assert right <= written["width"], f"{text} is cut off"
        for bar in written["bars"] if ", " in text else []:
            assert not (bar[1] < y < bar[3] and left < bar[2] and right > bar[0]), f"{text} lies on a bar"
    ends = [text for text, *_ in written["texts"] if text.startswith("success, ")]
    assert len(ends) == len(written["bars"]), f"not each end is told: {ends}"


def share(browser, url):
    """A link to a moment, with what is chosen or without."""
    browser.open(url)
    browser.until(lambda: browser.rows(), "there are no rows")
    browser.run("(show(1000, 250000), 1)")
    browser.until(lambda: browser.run("location.hash") == "#@1000-250000", "the address has no moment")
    browser.run("(choose(entries.find((entry) => entry.at > 1000)), 1)")
    address = browser.run("location.href")
    assert address.endswith("@1000-250000") and "#row-" in address, address
    browser.open(address)
    browser.until(lambda: browser.rows() and browser.run("chosen !== null"), "a link to a moment leads nowhere")
    assert browser.run("[view.from, view.to]") == [1000, 250000]
    browser.find("#all").click()
    browser.until(lambda: "@" not in browser.run("location.hash"), "the address keeps the moment")


def ask(browser, url):
    browser.open(url)
    browser.until(lambda: browser.rows(), "there are no rows")
    browser.run("(choose(entries.find((entry) => entry.title === 'reference/getMetadata')), 1)")
    told = browser.text("#message").splitlines()[:3]
    assert told == [
        "// meanwhile:",
        "//   auth/refreshToken, which the client answered after 2.00 s",
        "//   1 earlier request under way",
    ], told


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
        real, question, many = page(record(folder)), page(invent_question(folder)), page(invent(folder, 100_000))
        for width, height, dark in [(1280, 800, False), (1280, 800, True), (800, 600, False), (390, 844, False)]:
            with Browser(width, height, dark) as browser:
                use(browser, real)
                print(f"ok: {browser.name}")
        with Browser(1280, 800) as browser:
            share(browser, real)
            ask(browser, question)
            print("ok: a moment, and a question")
            reach(browser, many, 100_001)
            print("ok: 100,000 messages")


if __name__ == "__main__":
    main()
