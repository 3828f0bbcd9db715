"""A headless Chromium for tests of pages, where one is installed."""

from __future__ import annotations

import shutil
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.chrome.webdriver import WebDriver

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1400,1000",
)
WAIT_SECONDS = 20


@contextmanager
def chromium(folder: Path) -> Generator[WebDriver]:
    """A browser with an empty profile in `folder`. Skips the test where the Debian
    packages chromium and chromium-driver, or others like them, are missing."""
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if binary is None or driver is None:
        pytest.skip("no browser: install chromium and chromium-driver to test the page")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in (*FLAGS, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield browser
    finally:
        browser.quit()


def set_theme(browser: WebDriver, theme: str) -> None:
    """Let the page believe that the system is `light` or `dark`."""
    feature = {"name": "prefers-color-scheme", "value": theme}
    command = "Emulation.setEmulatedMedia"
    cast(Any, browser).execute_cdp_cmd(command, {"features": [feature]})
    # the page hears of it before the frame after next
    frames = "requestAnimationFrame(() => requestAnimationFrame(done))"
    cast(Any, browser).execute_async_script(f"const [done] = arguments; {frames}")


def script(browser: WebDriver, text: str, *arguments: object) -> Any:
    """What a script gives that runs in the page."""
    return cast(Any, browser).execute_script(text, *arguments)


def wait_for(browser: WebDriver, condition: str) -> None:
    """Wait until an expression holds in the page."""
    end = time.monotonic() + WAIT_SECONDS
    while not script(browser, f"return Boolean({condition})"):
        assert time.monotonic() < end, f"never true: {condition}"
        time.sleep(0.02)


def complaints(browser: WebDriver) -> list[str]:
    """What the page wrote to the console since the last call."""
    entries: list[dict[str, Any]] = cast(Any, browser).get_log("browser")
    return [f"{entry['level']}: {entry['message']}" for entry in entries]
