"""How the chat behaves where layout matters: a real browser over recorded views."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.page import JS, OpenScene

pytestmark = pytest.mark.e2e

SCENES = (
    *("empty", "prose", "tools", "settled", "permission", "edit", "stream", "errors", "form"),
    "attachments",
)
AXE = JS / "node_modules" / "axe-core" / "axe.min.js"
LAST = "store.order().at(-1)"
SCROLLER = ".acp-scroller"


def append(page: Page, text: str) -> None:
    """One delta of the last item, and the frames in which it is drawn."""
    page.evaluate(
        f"""(text) => {{
            model.ops([{{op: "append", id: {LAST}, part: 0, text}}]);
            return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))));
        }}""",
        text,
    )


def stream(page: Page, chunks: int) -> None:
    for number in range(chunks):
        append(
            page, f"\n\nParagraph {number} with some words that fill a line or two of the panel. "
        )


def place(page: Page) -> dict[str, float]:
    """Where the conversation stands: `top`, and `left` to its end, in pixels."""
    found: dict[str, float] = page.evaluate(
        """() => { const s = document.querySelector(".acp-scroller");
        return {top: s.scrollTop, left: s.scrollHeight - s.scrollTop - s.clientHeight}; }"""
    )
    return found


def settle(page: Page) -> None:
    """Two frames: what was asked for is laid out."""
    page.evaluate(
        "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"
    )


def grave_faults(page: Page) -> list[dict[str, Any]]:
    """What axe calls serious or critical in the panel."""
    report: dict[str, Any] = page.evaluate(
        "() => axe.run('.acp-notebook', {resultTypes: ['violations']})"
    )
    return [
        {
            "id": fault["id"],
            "nodes": [
                node["html"][:160] + " " + node["failureSummary"][:200]
                for node in fault["nodes"][:3]
            ],
        }
        for fault in report["violations"]
        if fault["impact"] in {"serious", "critical"}
    ]


class TestFollowing:
    def test_the_end_is_kept_in_view_while_the_reader_is_there(self, open_scene: OpenScene) -> None:
        """A stream is followed from its first line, and a loaded session opens at its end."""
        page = open_scene("stream", height=400)
        stream(page, 20)
        assert 1 > place(page)["left"]
        assert 1 > place(open_scene("many", height=400))["left"]

    @pytest.mark.parametrize("way", ["wheel", "keys", "scrollbar"])
    def test_198_scroll_up_stays(self, open_scene: OpenScene, way: str) -> None:
        """Wheel, keys and scrollbar each let go of the end; the reader stays where they are; the end takes hold again."""
        page = open_scene("stream", height=400)
        stream(page, 20)
        if way == "wheel":
            page.locator(SCROLLER).hover()
            page.mouse.wheel(0, -600)
        elif way == "keys":
            page.locator(SCROLLER).focus()
            page.keyboard.press("PageUp")
            page.keyboard.press("PageUp")
        else:
            page.locator(SCROLLER).evaluate("(s) => s.scrollTop -= 600")
        page.wait_for_function("document.querySelector('.acp-to-end') !== null")
        # A wheel scrolls smoothly: wait until it has come to rest.
        page.wait_for_function(
            """() => { const s = document.querySelector(".acp-scroller"); const still = s.scrollTop === window.before;
            window.before = s.scrollTop; return still; }""",
            polling=100,
        )
        before = place(page)["top"]
        stream(page, 20)
        assert before == pytest.approx(place(page)["top"], abs=2)
        expect(page.locator(".acp-to-end")).to_have_text("New below")
        page.locator(SCROLLER).evaluate("(s) => s.scrollTop = s.scrollHeight")
        expect(page.locator(".acp-to-end")).to_have_count(0)
        stream(page, 5)
        assert 1 > place(page)["left"]

    def test_199_follow_when_row_grows(self, open_scene: OpenScene) -> None:
        """A card that grows, an image that loads, and a composer of five lines leave the end in view."""
        page = open_scene("stream", height=500)
        stream(page, 10)
        tool = {
            "id": "tool:grow", "kind": "tool-call", "toolCallId": "grow", "title": "Run", "name": None,
            "toolKind": "execute", "status": "in_progress", "agentStatus": None, "rawInput": None, "rawOutput": None,
            "outputParts": [{"kind": "markdown", "text": "line\n" * 20}], "locations": [], "error": None,
            "startedAt": None, "endedAt": None,
        }  # fmt: skip
        page.evaluate(
            f"""(item) => {{ const group = store.groups.value.at(-1).id;
            model.ops([{{op: "put", id: item.id, item, after: {LAST}}}, {{op: "group-add", id: group, itemIds: [item.id], attachments: []}}]); }}""",
            tool,
        )
        settle(page)
        assert 1 > place(page)["left"]
        picture = {
            "kind": "image", "blob": {"sha256": "picture", "size": 1, "mimeType": "image/png"},
            "source": None, "mimeType": "image/png", "alt": "plot",
        }  # fmt: skip
        page.evaluate(
            f"(part) => model.ops([{{op: 'set', id: {LAST}, part: 1, fields: part}}])", picture
        )
        page.wait_for_function("document.querySelector('.acp-picture img')?.complete")
        settle(page)
        assert 1 > place(page)["left"]
        page.locator("textarea").fill("1\n2\n3\n4\n5")
        settle(page)
        assert 1 > place(page)["left"]

    def test_201_notebook_not_scrolled(self, open_scene: OpenScene) -> None:
        """A stream in a panel that is out of view does not scroll the page around it."""
        page = open_scene("stream", height=400)
        page.evaluate("document.body.style.paddingTop = '3000px'; scrollTo(0, 0)")
        stream(page, 30)
        assert 0 == page.evaluate("scrollY")

    def test_opening_a_card_neither_jumps_nor_lets_go(self, open_scene: OpenScene) -> None:
        """A card opened at the end of a quiet chat stays under the pointer, and the next words are followed."""
        page = open_scene("settled", height=560)
        head = page.locator("button.acp-tool-head").last
        page.wait_for_function("store.order().length > 0")
        settle(page)
        before = head.bounding_box()
        head.evaluate("(button) => button.click()")
        settle(page)
        after = head.bounding_box()
        assert before is not None
        assert after is not None
        assert before["y"] == pytest.approx(after["y"], abs=2)
        assert page.evaluate("document.querySelector('.acp-to-end') === null")


class TestLooks:
    @pytest.mark.parametrize("width", [320, 900])
    @pytest.mark.parametrize("scene", SCENES)
    def test_nothing_is_wider_than_the_panel(
        self, open_scene: OpenScene, scene: str, width: int
    ) -> None:
        """At 320 and 900 pixels no part of a scene reaches over the panel's edge."""
        page = open_scene(scene, width=width)
        settle(page)
        wide = page.evaluate(
            """() => { const panel = document.querySelector(".acp-notebook"); const edge = panel.getBoundingClientRect().right + 1;
            const clipped = (e) => { for (let p = e.parentElement; p && p !== panel; p = p.parentElement) if (getComputedStyle(p).overflowX !== "visible") return p.getBoundingClientRect().right <= edge; return false; };
            return [...panel.querySelectorAll("*")].filter((e) => e.getBoundingClientRect().right > edge && !clipped(e)).map((e) => e.outerHTML.slice(0, 120)); }"""
        )
        assert [] == wide
        assert (
            page.evaluate(
                "(s => s.scrollWidth - s.clientWidth)(document.querySelector('.acp-scroller'))"
            )
            == 0
        )

    @pytest.mark.parametrize(("theme", "width"), [("light", 900), ("dark", 900), ("light", 320)])
    @pytest.mark.parametrize("scene", SCENES)
    def test_axe_finds_nothing_serious(
        self, open_scene: OpenScene, scene: str, theme: str, width: int
    ) -> None:
        """In every state, light, dark and narrow, axe finds no serious or critical fault."""
        page = open_scene(scene, theme=theme, width=width, reduced_motion=True)
        page.add_script_tag(path=str(AXE))
        settle(page)
        grave = grave_faults(page)
        assert [] == grave, json.dumps(grave, indent=1)

    @pytest.mark.parametrize("width", [320, 900])
    @pytest.mark.parametrize("button", ["Sessions", "Menu", "Search", "Questions", "Mode: Build"])
    def test_axe_finds_nothing_serious_in_what_opens(
        self, open_scene: OpenScene, button: str, width: int
    ) -> None:
        """Drawer, menus and search are sound too, and stay inside the panel."""
        page = open_scene("settled", width=width, reduced_motion=True)
        page.locator(f"button[aria-label='{button}']").click()
        page.add_script_tag(path=str(AXE))
        settle(page)
        assert [] == grave_faults(page)
        inside = page.evaluate(
            """() => { const p = document.querySelector(".acp-notebook").getBoundingClientRect();
            return [...document.querySelectorAll(".acp-popover, .acp-drawer, .acp-search")].every((e) => { const r = e.getBoundingClientRect();
            return r.left >= p.left - 1 && r.right <= p.right + 1 && r.bottom <= p.bottom + 1; }); }"""
        )
        assert inside

    def test_177_rtl_prose_ltr_code(self, open_scene: OpenScene) -> None:
        """Right-to-left paragraphs and bubbles run right to left, code and English left to right."""
        page = open_scene("rtl")
        directions = page.locator(".acp-markdown p").evaluate_all(
            "(all) => all.map((p) => getComputedStyle(p).direction)"
        )
        assert ["rtl", "rtl", "ltr"] == directions
        codes = page.locator(".acp-markdown pre, .acp-markdown p code").evaluate_all(
            "(all) => all.map((p) => getComputedStyle(p).direction)"
        )
        assert {"ltr"} == set(codes)
        assert "rtl" == page.locator(".acp-bubble > div").evaluate(
            "(e) => getComputedStyle(e).direction"
        )

    def test_reduced_motion_stands_still(self, open_scene: OpenScene) -> None:
        """With reduced motion nothing in a running chat is animated."""
        page = open_scene("tools", reduced_motion=True)
        assert 0 == page.evaluate("document.getAnimations().length")

    def test_the_theme_follows_the_page(self, open_scene: OpenScene) -> None:
        """A page that turns dark turns the chat dark."""
        page = open_scene("prose", theme="")
        root = page.locator(".acp-notebook")
        page.evaluate("document.body.dataset.jpThemeLight = 'false'")
        expect(root).to_have_attribute("data-theme", "dark")
        page.evaluate("document.body.dataset.jpThemeLight = 'true'")
        expect(root).to_have_attribute("data-theme", "light")


class TestHostile:
    def test_nothing_of_a_hostile_agent_runs_or_calls_home(self, open_scene: OpenScene) -> None:
        """Every payload in every field of every item, opened: no script ran, no request left, no link leads to code."""
        page = open_scene("hostile")
        page.wait_for_function(
            "document.querySelectorAll('.acp-group').length >= store.groups.value.length",
            timeout=60_000,
        )
        page.evaluate(
            "for (const b of document.querySelectorAll('.acp-timeline [aria-expanded=false]')) b.click()"
        )
        settle(page)
        assert page.evaluate("window.__pwned === undefined")
        assert [] == page.evaluate(
            """() => [...document.querySelectorAll(".acp-notebook *")].flatMap((e) => [...e.attributes].filter(({name, value}) =>
            /^on/i.test(name) || (["href", "src", "action", "formaction", "xlink:href"].includes(name) && !/^(https?:|mailto:|blob:|data:image\\/(png|jpeg|gif|webp);base64,)/.test(value))).map(({name, value}) => name + "=" + value))"""
        )
        assert (
            0
            == page.locator(
                ".acp-notebook :is(script, iframe, object, embed, style, link, base, meta)"
            ).count()
        )


class TestKeyboard:
    def test_a_whole_conversation_by_keyboard(self, open_scene: OpenScene) -> None:
        """One can write, choose a command, open a card, answer a permission and leave, without a mouse."""
        page = open_scene("permission")
        page.locator("textarea").focus()
        page.keyboard.type("/rev")
        page.keyboard.press("Tab")
        page.keyboard.type("src/")
        page.keyboard.press("Enter")
        assert {"kind": "send", "text": "/review src/", "queue": True}.items() <= page.evaluate(
            "model.sent.at(-1)"
        ).items()
        for _ in range(40):
            page.keyboard.press("Shift+Tab")
            if page.evaluate("document.activeElement.dataset.option") == "always":
                break
        page.keyboard.press("Enter")
        sent = page.evaluate("model.sent.at(-1)")
        assert ("answer", "always") == (sent["kind"], sent["optionId"])
        page.locator("textarea").focus()
        page.keyboard.press("Escape")
        assert page.evaluate("document.activeElement === document.body")

    def test_focus_can_be_seen_on_every_control(self, open_scene: OpenScene) -> None:
        """Each stop of the Tab key shows an outline or a ring."""
        page = open_scene("settled")
        page.locator(".acp-picker").first.focus()
        for _ in range(12):
            page.keyboard.press("Tab")
            ring = page.evaluate(
                """() => { const e = document.activeElement; if (e === document.body) return "body";
                const s = getComputedStyle(e); const box = e.closest(".acp-composer-box");
                return s.outlineStyle !== "none" || (box && getComputedStyle(box).boxShadow !== "none") ? "seen" : e.outerHTML.slice(0, 100); }"""
            )
            assert ring in {"seen", "body"}


class TestSize:
    def test_175_thirty_thousand_lines(self, open_scene: OpenScene) -> None:
        """Thirty thousand lines are painted at once as their tail, and the page goes on answering."""
        page = open_scene("lines")
        page.wait_for_function("document.querySelector('.acp-lines pre') !== null", timeout=2000)
        assert 2000 == page.evaluate(
            "document.querySelector('.acp-lines pre').textContent.split('\\n').length"
        )
        longest = page.evaluate(
            """async () => { let longest = 0, last = performance.now();
            for (let n = 0; n < 30; n += 1) { model.ops([{op: "append", id: store.order().at(-1), part: 0, text: "\\nline " + n}]);
              await new Promise((done) => requestAnimationFrame(done)); const now = performance.now(); longest = Math.max(longest, now - last); last = now; }
            return longest; }"""
        )
        assert 3000 > longest  # a frame that takes seconds is a page that hangs

    def test_untouched_nodes_stay_when_a_delta_comes(self, open_scene: OpenScene) -> None:
        """One delta at 800 items changes the last message; every other node is the same, and a selection stays."""
        page = open_scene("many")
        kept = page.evaluate(
            """async () => { const nodes = [...document.querySelectorAll(".acp-timeline *")]; const last = store.order().at(-1);
            const other = document.querySelectorAll(".acp-message p")[3]; getSelection().selectAllChildren(other);
            model.ops([{op: "append", id: last, part: 0, text: " and more"}]);
            await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
            const now = new Set(document.querySelectorAll(".acp-timeline *"));
            return {gone: nodes.filter((node) => !now.has(node)).length, selected: getSelection().toString() === other.textContent}; }"""
        )
        assert {"gone": 0, "selected": True} == kept
