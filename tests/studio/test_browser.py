"""The studio as a person uses it, in a real browser."""

from __future__ import annotations

import csv
import io
import itertools
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

from tests.studio.live import Running, browser_page, chromium, find_chromium, settled, studio

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(find_chromium() is None, reason="needs Chromium"),
]

# Where pictures for the documentation go, if they are wanted:
# SMDECLUST_SHOTS=docs/images pytest tests/studio/test_browser.py
SHOTS = os.environ.get("SMDECLUST_SHOTS")


def shot(page: Any, name: str) -> None:
    if SHOTS:
        page.screenshot(path=str(Path(SHOTS) / f"{name}.png"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One Chromium; each test visits in a context of its own."""
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Iris with ids, one of them hostile."""
    iris = load_iris()
    path = tmp_path_factory.mktemp("flowers") / "flowers.csv"
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "sepal length", "sepal width", "petal length", "petal width"])
        for i, row in enumerate(iris.data):
            name = "<img src=x onerror=alert(1)>" if i == 7 else f"flower {i}"
            writer.writerow([name, *row])
    return path


@pytest.fixture(scope="module")
def flowers_studio(table: Path) -> Iterator[Running]:
    """A studio of the flowers, started once."""
    with studio(table, "-k", "3") as running:
        yield running


@pytest.fixture
def flowers(flowers_studio: Running) -> Running:
    """The studio of the flowers, in which nothing is said: what earlier tests said is undone."""
    while flowers_studio.call("api/state")["can_undo"]:
        flowers_studio.call("api/act", {"do": "undo"})
    flowers_studio.settle()
    return flowers_studio


def labels_of(running: Any) -> np.ndarray:
    return np.frombuffer(running.call("api/labels"), "<i4")


def select(page: Any, *names: str) -> None:
    """Select points by the search box, as the keyboard does."""
    page.keyboard.press("Escape")
    for name in names:
        page.fill("#find", name)
        page.locator("#found button", has_text=name).first.click()
    page.locator("#find").blur()
    page.wait_for_function(f"window.studio.selected.length === {len(names)}")


def test_see_say_see_again(flowers: Running, browser: Any) -> None:
    """Pairs, a contradiction and its way out, undo, sizes, export; nothing leaves the machine."""
    running = flowers
    with browser_page(running.url, browser) as page:
        settled(page)
        assert page.locator(".card").count() == 3
        shot(page, "studio-first")
        # together
        select(page, "flower 60", "flower 120")
        page.click("#together")
        page.wait_for_function("window.studio.state.n_pairs === 1")
        running.settle()
        settled(page)
        labels = labels_of(running)
        assert labels[60] == labels[120]
        assert "moved" in page.inner_text("#status")
        # apart, against a chain: refused, with the chain and the ways out
        select(page, "flower 120", "flower 119")
        page.keyboard.press("t")
        page.wait_for_function("window.studio.state.n_pairs === 2")
        select(page, "flower 60", "flower 119")
        page.keyboard.press("a")
        page.wait_for_selector("#conflict[open]")
        assert page.locator("#conflict-pairs li").count() == 3
        shot(page, "studio-conflict")
        page.locator("#conflict-ways button", has_text="Drop").first.click()
        page.wait_for_function(
            "!document.getElementById('conflict').open && "
            "window.studio.state.pairs.some(p => !p[2])"
        )
        running.settle()
        labels = labels_of(running)
        assert labels[60] != labels[119]
        # undo twice, redo once
        before = running.call("api/state")["pairs"]
        page.click("#undo")
        page.wait_for_function("!window.studio.state.pairs.some(p => !p[2])")
        page.click("#redo")
        page.wait_for_function("window.studio.state.pairs.some(p => !p[2])")
        assert running.call("api/state")["pairs"] == before
        # sizes
        page.click("#tab-settings")
        page.fill("#size_max", "55")
        page.keyboard.press("Tab")
        page.wait_for_function("window.studio.state.settings.size_max === 55")
        running.settle()
        assert np.bincount(labels_of(running)).max() <= 55
        # export
        with page.expect_download() as download:
            page.click("#export summary")
            page.click("text=Labels (CSV)")
        rows = list(csv.reader(io.StringIO(Path(download.value.path()).read_text())))
        assert [int(row[1]) for row in rows[1:]] == labels_of(running).tolist()


def test_picture_by_mouse(flowers: Running, browser: Any) -> None:
    """A lasso on the picture selects points; hostile ids are shown as text."""
    running = flowers
    with browser_page(running.url, browser) as page:
        settled(page)
        page.click("#mode-lasso")
        box = page.locator("#picture .over").first.bounding_box()
        x, y, w, h = box["x"], box["y"], box["width"], box["height"]
        corners = [(0.02, 0.05), (0.3, 0.05), (0.3, 0.95), (0.02, 0.95), (0.02, 0.06)]
        page.mouse.move(x + corners[0][0] * w, y + corners[0][1] * h)
        page.mouse.down()
        for right, down in corners[1:]:
            page.mouse.move(x + right * w, y + down * h, steps=8)
        page.mouse.up()
        page.wait_for_function("window.studio.selected.length > 10")
        page.wait_for_function(
            "document.getElementById('selection').innerText.includes('selected')"
        )
        shot(page, "studio-lasso")
        page.keyboard.press("Escape")
        page.fill("#find", "onerror")
        assert "<img src=x" in page.locator("#found button").first.inner_text()
        page.locator("#found button").first.click()
        page.wait_for_function("document.getElementById('selection').innerText.includes('<img')")
        assert page.locator("img").count() == 0
        assert page.evaluate("window.studio.picture.kind") == "WebGL"


def test_ask_by_keyboard(flowers: Running, browser: Any) -> None:
    """Suggest a pair, answer it by the keyboard: the pair is kept and the next question comes."""
    running = flowers
    with browser_page(running.url, browser) as page:
        settled(page)
        page.keyboard.press("s")
        page.wait_for_selector(".question")
        first = page.evaluate("window.studio.question.asked")
        page.keyboard.press("n")
        page.wait_for_function("window.studio.state.n_pairs === 1")
        running.settle()
        page.wait_for_function(
            "window.studio.question?.asked && "
            f"window.studio.question.asked.join() !== '{first[0]},{first[1]}'"
        )
        labels = labels_of(running)
        assert labels[first[0]] != labels[first[1]]


def test_ask_for_a_cluster(flowers: Running, browser: Any) -> None:
    """A point and an example of each cluster: answered by a number, by none, by don't know."""
    running = flowers
    with browser_page(running.url, browser) as page:
        settled(page)
        page.keyboard.press("q")
        page.wait_for_selector(".question")
        shot(page, "studio-label")
        row, *others = page.evaluate("window.studio.question.asked")
        assert len(others) >= 2
        page.keyboard.press("2")
        page.wait_for_function("window.studio.state.n_pairs === 1")
        running.settle()
        labels = labels_of(running)
        assert labels[row] == labels[others[1]]
        page.wait_for_function(
            f"window.studio.question?.asked && window.studio.question.asked[0] !== {row}"
        )
        row, *others = page.evaluate("window.studio.question.asked")
        page.keyboard.press("?")
        page.wait_for_function(
            "([...asked]) => window.studio.question"
            " && window.studio.question.asked?.join() !== asked.join()",
            arg=[row, *others],
        )
        assert running.call("api/state")["n_pairs"] == 1


def test_a_quota(tmp_path: Path, browser: Any) -> None:
    """A quota said by hand holds in every cluster; an impossible one is refused in words."""
    rng = np.random.default_rng(0)
    path = tmp_path / "people.csv"
    rows = [
        f"p{i},{'fm'[i % 2]},{x:.3f},{y:.3f}" for i, (x, y) in enumerate(rng.normal(size=(60, 2)))
    ]
    path.write_text("id,gender,x,y\n" + "\n".join(rows) + "\n")
    with studio(path, "-k", "3") as running, browser_page(running.url, browser) as page:
        settled(page)
        page.click("#tab-settings")
        page.select_option("#quota-column", "gender")
        page.select_option("#quota-value", "f")
        page.wait_for_selector("text=can be 50 or less, and “at most” can be 50 or more (% of its")
        slider = page.get_by_label("Quota at least, by a slider")
        assert (slider.get_attribute("min"), slider.get_attribute("max")) == ("0", "50")
        slider.fill("40")
        assert page.input_value("#quota-low") == "40"
        page.fill("#quota-high", "60")
        page.locator("fieldset form button").click()
        page.wait_for_function("window.studio.state.settings.quotas.length === 1")
        page.wait_for_selector("text=gender f: 40 to 60% of its points")
        shot(page, "studio-quota")
        running.settle()
        labels = labels_of(running)
        for k in range(3):
            assert 0.4 <= np.mean(np.flatnonzero(labels == k) % 2 == 0) <= 0.6
        lines = running.call("api/export/recipe.py").decode()
        assert "sheet.entries('gender'), {'f': 0.4}, {'f': 0.6}, of='share'" in lines
        page.fill("#quota-low", "90")
        page.fill("#quota-high", "")
        page.locator("fieldset form button").click()
        page.wait_for_selector("dialog[open], .message")
        assert len(running.call("api/state")["settings"]["quotas"]) == 1


def test_kill_and_reopen(table: Path, tmp_path: Path, browser: Any) -> None:
    """A kill in the middle of the work loses nothing that was said."""
    table = Path(shutil.copy(table, tmp_path))
    with studio(table, "-k", "3") as running:
        running.settle()
        for j in (1, 2, 3):
            running.call("api/act", {"do": "pairs", "pairs": [[0, j]], "together": True})
        running.call("api/act", {"do": "name", "cluster": 0, "name": "zero"})
        said = running.call("api/state")
        running.kill()
    with studio(table) as again, browser_page(again.url, browser) as page:
        settled(page)
        state = again.call("api/state")
        assert state["pairs"] == said["pairs"]
        assert state["settings"] == said["settings"]
        page.reload()
        settled(page)
        assert page.locator(".card input").first.input_value() == "zero"


def test_nothing_sticks_out(flowers: Running, browser: Any) -> None:
    """No panel is wider than the screen, in light and dark, narrow and wide."""
    running = flowers
    with browser_page(running.url, browser) as page:
        settled(page)
        for scheme, width in itertools.product(("light", "dark"), (400, 1280)):
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": 800})
            for name in ("columns", "pairs", "points", "ask", "settings", "clusters"):
                page.click(f"#tab-{name}")
                page.wait_for_timeout(50)
                wide = page.evaluate("document.documentElement.scrollWidth")
                assert wide <= width + 1, f"{name}: {wide} > {width}, {scheme}"
            shot(page, f"studio-{scheme}-{width}")


def test_two_pages_share(flowers: Running, browser: Any) -> None:
    """Pairs said on one page appear on the other; neither loses any."""
    running = flowers
    with browser_page(running.url, browser) as page:
        settled(page)
        other = page.context.new_page()
        other.goto(running.url)
        settled(other)
        running.call("api/act", {"do": "pairs", "pairs": [[0, 1]], "together": True})
        page.wait_for_function("window.studio.state.n_pairs === 1")
        select(other, "flower 3", "flower 4")
        other.click("#together")
        page.wait_for_function("window.studio.state.n_pairs === 2")
        other.wait_for_function("window.studio.state.n_pairs === 2")


def test_errors_are_shown_until_they_are_read(tmp_path: Path, browser: Any) -> None:
    """A table that cannot be read, on the start page: a sentence that stays until it is closed."""
    bad, good = tmp_path / "bad.npy", tmp_path / "good.csv"
    bad.write_bytes(b"\x93NUMPY\x01\x00garbage")
    good.write_text("id,a,b\n" + "".join(f"r{i},{i % 5},{i % 3}\n" for i in range(30)))

    def bring(page: Any, path: Path) -> None:
        with page.expect_file_chooser() as chooser:
            page.click("#open-file")
        chooser.value.set_files(str(path))

    with (
        studio("--folder", tmp_path / "work") as running,
        browser_page(running.url, browser) as page,
    ):
        bring(page, bad)
        message = page.locator("#messages .message")
        message.wait_for()
        assert "bad.npy" in message.inner_text()
        bring(page, good)
        settled(page)
        page.wait_for_timeout(1500)
        assert message.is_visible()
        message.locator("button").click()
        assert message.count() == 0


def test_looks_of_clusters_do_not_repeat(flowers: Running, browser: Any) -> None:
    """24 clusters have 24 colors, 200 clusters 200 looks."""
    script = """import("./static/picture.js").then(({ color, symbol }) =>
        Array.from({ length: 200 }, (_, k) => [color(k), symbol(k)]))"""
    for scheme in ("light", "dark"):
        with browser_page(flowers.url, browser, color_scheme=scheme) as page:
            looks = page.evaluate(script)
            assert len({look[0] for look in looks[:24]}) == 24
            assert len(set(map(tuple, looks))) == 200


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Customers with dates, categories, text, links and pictures."""
    image = pytest.importorskip("PIL.Image")
    folder = tmp_path_factory.mktemp("studio") / "people"
    (folder / "faces").mkdir(parents=True)
    rows = [["id", "joined", "city", "age", "notes", "photo", "site"]]
    for i in range(90):
        kind = i % 3
        image.new("RGB", (64, 48), ("red", "green", "blue")[kind]).save(folder / f"faces/{i}.png")
        city = ("Paris", "Köln", "Oslo")[kind]
        text = f"Likes {('low prices', 'long walks', 'old books')[kind]} and visit {i}"
        age = 20 + 15 * kind + i % 7
        day = f"20{18 + kind}-0{1 + i % 9}-11"
        site = f"https://example.com/{i}"
        rows.append([f"c{i}", day, city, age, text, f"faces/{i}.png", site])
    path = folder / "people.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows(rows)
    return path


@pytest.fixture(scope="module")
def people_studio(people: Path) -> Iterator[Running]:
    """A studio of the customers, started once."""
    with studio(people, "-k", "3") as running:
        yield running


def test_everything_a_person_judges_by(people: Path, people_studio: Running, browser: Any) -> None:
    """Columns and roles, labels, why, text and pictures in questions, the map, pictures saved."""
    size = {"width": 1280, "height": 900}
    with browser_page(people_studio.url, browser, viewport=size) as page:
        settled(page)
        shot(page, "studio-people")
        # columns: a role by one click
        page.click("#tab-columns")
        assert page.locator(".sheet li").count() == 7
        shot(page, "studio-columns")
        page.get_by_label("Role of age").select_option("category")
        page.wait_for_function("window.studio.state.settings.roles.age === 'category'")
        page.click("#undo")
        page.wait_for_function("!window.studio.state.settings.roles.age")
        # a label for several points at once
        select(page, "c0", "c3")
        page.click("#label")
        page.fill("#answer-body input", "readers")
        page.keyboard.press("Enter")
        page.wait_for_function("window.studio.state.labelled.length === 2")
        # why
        select(page, "c0")
        page.keyboard.press("w")
        page.wait_for_selector("#answer[open]")
        page.wait_for_function(
            "document.getElementById('answer-body').innerText.includes('with c3')"
        )
        shot(page, "studio-why")
        page.keyboard.press("Escape")
        # a question with pictures, text and links
        page.keyboard.press("Escape")
        page.keyboard.press("s")
        page.wait_for_selector(".question .thumb")
        assert page.locator(".question a[href^='https://example.com/']").count() == 2
        page.wait_for_function(
            "[...document.querySelectorAll('.question img')].every((i) => i.naturalWidth > 0)"
        )
        assert page.locator(".question mark").count() > 0
        shot(page, "studio-ask")
        # a cluster brought forward, the map, any two columns
        page.locator(".legend button").first.click()
        page.wait_for_function("window.studio.picture.forward === 0")
        page.locator(".legend button").first.click()
        before = page.evaluate("Array.from(window.studio.picture.place.x.slice(0, 5))")
        page.select_option("#kind", "map")
        page.wait_for_function(f"window.studio.picture.place.x[0] !== {before[0]}", timeout=240_000)
        assert (people.parent / "people-studio" / "map.npz").exists()
        page.select_option("#kind", "columns")
        page.select_option("#x-column", "city")
        page.wait_for_function("window.studio.picture.axes[0].levels?.length === 3")
        # pictures to take away
        for kind in ("png", "svg"):
            with page.expect_download() as download:
                page.click("#export summary")
                page.click(f"#save-{kind}")
            assert len(Path(download.value.path()).read_bytes()) > 1000


def test_the_page_keeps_its_own_rules(people_studio: Running, browser: Any) -> None:
    """Under its own policy (no eval, nothing inline) the page works without a complaint."""
    said: list[str] = []
    with browser_page("about:blank", browser, bypass_csp=False) as page:
        page.on("console", lambda message: said.append(message.text))
        page.goto(people_studio.url)
        page.locator(".card").nth(2).wait_for(timeout=240_000)
        page.locator(".legend button").nth(2).wait_for()
    assert said == []
