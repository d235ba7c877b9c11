// Chromium, watched: what asks elsewhere or complains on the console fails the test.

import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import axe from "axe-core";
import { chromium } from "playwright-core";

export const pictures = process.env.REDRIVE_E2E_PICTURES ?? fileURLToPath(new URL("../../target/e2e", import.meta.url));
const PATIENCE = 30_000;

/** The browser. Close it when the tests of a file are done. */
export function launch() {
    const path = process.env.CHROMIUM ?? "/usr/bin/chromium";
    const args = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"];
    return chromium.launch({ executablePath: path, args });
}

/** One person's browser: its own cookies, and a list of what went wrong in it. */
export class Person {
    /** Complaints that a test expects. */
    allowed = [];
    #complaints = [];

    static async visit(browser, server, options = {}) {
        const person = new Person();
        person.server = server;
        person.context = await browser.newContext({ baseURL: server.url, viewport: { width: 1100, height: 800 }, ...options });
        person.context.setDefaultTimeout(PATIENCE);
        person.context.on("request", (request) => {
            if (!request.url().startsWith(server.url)) person.#complaints.push(`asked for ${request.url()}`);
        });
        person.page = await person.context.newPage();
        person.page.on("pageerror", (error) => person.#complaints.push(`threw ${error.stack}`));
        person.page.on("console", (message) => {
            if (["error", "warning"].includes(message.type())) {
                person.#complaints.push(`${message.type()}: ${message.text()} (${message.location().url})`);
            }
        });
        return person;
    }

    /** Chooses files on the upload page, as a person would, and waits until each is sent or refused. */
    async upload(...files) {
        await this.page.goto("/");
        await this.choose(...files);
    }

    async choose(...files) {
        const chooser = this.page.waitForEvent("filechooser");
        await this.page.getByRole("button", { name: "Choose files" }).click();
        await (await chooser).setFiles(files);
        // Whoever leaves the page before that sends less than was chosen.
        await this.page.locator("#files li").first().waitFor();
        await this.page.locator("#files progress").first().waitFor({ state: "detached" });
    }

    /** The row of a file in the table. */
    row(name) {
        return this.page.locator("tr[data-job]", { has: this.page.locator("a.name", { hasText: name }) });
    }

    /** Waits until the row of a file says this. */
    async says(name, text) {
        await this.row(name).filter({ hasText: text }).waitFor();
    }

    /** Clicks what leads to another page and waits until that is there: whoever looks sooner sees the old one, and a reload meets both. */
    async follow(link) {
        const there = this.page.waitForEvent("load");
        await link.click();
        await there;
    }

    /** Loads the page again and again until something is so on it. */
    async reload(what, condition) {
        await until(what, async () => {
            await this.page.reload();
            return condition();
        });
    }

    async picture(name) {
        await mkdir(pictures, { recursive: true });
        await this.page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true, animations: "disabled" });
    }

    /** What axe finds on the page as it is now. */
    async accessible(where) {
        await this.page.evaluate(axe.source);
        const found = await this.page.evaluate(async () => {
            const { violations } = await window.axe.run(document, { runOnly: { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] } });
            return violations.map((one) => `${one.id}: ${one.help}: ${one.nodes.map((node) => `${node.html} ${node.failureSummary}`).join(" | ")}`);
        });
        assert.deepEqual(found, [], `${where} at ${this.page.url()}`);
    }

    /** Nothing sticks out at the side. */
    async fits(where) {
        const [needed, given] = await this.page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
        assert.ok(needed <= given, `${where} is ${needed} wide in a window of ${given}`);
    }

    /** Ends the visit. Everything that went wrong and was not expected is told. */
    async leave() {
        await this.context.close();
        const expected = (text) => this.allowed.some((pattern) => pattern.test(text));
        assert.deepEqual(this.#complaints.filter((text) => !expected(text)), []);
    }
}

/** Waits until something is so. */
export async function until(what, condition) {
    const end = Date.now() + PATIENCE;
    while (Date.now() < end) {
        if (await condition()) return;
        await new Promise((wake) => setTimeout(wake, 20));
    }
    assert.fail(`it never came true: ${what}`);
}
