// Fetch: addresses are handed in, followed to their end, retried, stopped; what is missing is taken along.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { story } from "../lib/world.mjs";
import { until } from "../lib/browser.mjs";
import { Origin } from "../lib/origin.mjs";

// The origin is on this machine. No breaker opens, and waits are short.
const FETCH = { FETCH_ALLOW_PRIVATE: "true", RETRY_BASE_DELAY_MS: "50", RETRY_JITTER_MAX_MS: "0", CIRCUIT_CONSECUTIVE: "0", CIRCUIT_FAIL_THRESHOLD: "2" };

/** A story with an origin of its own. */
function fetching(name, settings, run) {
    story(name, { ...FETCH, ...settings }, async (world) => {
        const origin = await Origin.start();
        try {
            await run({ ...world, origin });
        } finally {
            await origin.stop();
        }
    });
}

/** Hands addresses in by the form and waits for the batch's page. */
async function handIn(person, addresses) {
    await person.page.goto("/fetch");
    await person.page.getByLabel("Addresses, one a line").fill(addresses.join("\n"));
    await person.page.getByRole("button", { name: "Fetch", exact: true }).click();
    await person.page.waitForURL(/\/fetch\/[0-9a-f-]{36}$/);
    return new URL(person.page.url()).pathname;
}

const state = (person, word) => person.page.locator("#batch .head .state", { hasText: word }).waitFor();
const resource = (person, name) => person.page.locator("table.jobs tbody tr", { has: person.page.locator("a.name", { hasText: name }) });

fetching("a batch is followed live to its end, and says what failed, where and why", {}, async ({ person, origin }) => {
    const ann = await person({ acceptDownloads: true });
    const [right, gone, circle, slow] = [origin.urls("right", 12), origin.urls("gone", 3), origin.urls("circle", 1), origin.urls("slow", 2)];
    const path = await handIn(ann, [...slow, ...right, ...gone, ...circle]);
    const { page } = ann;
    await page.evaluate(() => (window.sameDocument = true));
    assert.equal(await page.locator("h1").innerText(), "18 resources");
    await page.locator("#batch .head", { hasText: /12 of 18 stored .*, 4 failed, 2 to go/ }).waitFor();
    await state(ann, "Processing");
    assert.equal(await page.title(), "12 of 18 stored · Fetch · Redrive");
    // The bar has the same parts as the words.
    const widths = await page.locator("#batch > svg.bar rect").evaluateAll((all) => all.map((one) => [one.getAttribute("class"), Number(one.getAttribute("width"))]));
    assert.deepEqual(widths, [["track", 1000], ["good", 666], ["bad", 222]]);
    const failed = page.locator("table.plain-table", { hasText: "What happened" });
    await failed.locator("tr", { hasText: "DOWNLOAD_HTTP_4XX" }).getByRole("link", { name: "3", exact: true }).waitFor();
    await failed.locator("tr", { hasText: "DOWNLOAD_REDIRECT_LOOP" }).getByText("The server sends us on again and again.").waitFor();
    const hosts = page.locator("table.plain-table", { hasText: "How it is" });
    await hosts.locator("tr", { hasText: `127.0.0.1:${origin.port}` }).getByText("answers").waitFor();
    await ann.accessible("a batch that runs");
    await ann.picture("fetch-batch-running");
    origin.release("slow");
    await state(ann, "Failed");
    await page.locator("#batch .head", { hasText: /14 of 18 stored .*, 4 failed/ }).waitFor();
    assert.ok(await page.evaluate(() => window.sameDocument), "nothing was reloaded");
    assert.equal(await hosts.count(), 0, "nobody is waited for any more");
    await until("the title says it too", async () => (await page.title()) === "Failed: 18 resources · Redrive");

    // What is missing, as a manifest that can be sent again as it is.
    const download = page.waitForEvent("download");
    await page.getByRole("link", { name: "Manifest of the 4 missing" }).click();
    const file = await download;
    assert.match(file.suggestedFilename(), /^missing-[0-9a-f-]{36}\.json$/);
    const manifest = JSON.parse(await readFile(await file.path(), "utf8"));
    assert.equal(manifest.manifest_version, 1);
    assert.deepEqual(manifest.resources.map(({ url }) => url).sort(), [...gone, ...circle].sort());

    // The list knows it too, and leads there.
    await page.getByRole("link", { name: "All batches" }).click();
    const row = page.locator("#batches tbody tr");
    await row.getByText("14 of 18 stored").waitFor();
    await row.getByRole("link", { name: "18 resources" }).click();
    await page.waitForURL(`**${path}`);
});

fetching("resources are looked for by what became of them", {}, async ({ person, origin }) => {
    const ann = await person();
    const { page } = ann;
    await handIn(ann, [...origin.urls("right", 60), ...origin.urls("gone", 2), ...origin.urls("circle", 1)]);
    await state(ann, "Failed");
    const shown = () => page.locator("table.jobs tbody tr").count();
    assert.equal(await shown(), 50, "one page");
    await page.getByRole("link", { name: "Next" }).click();
    await page.locator("nav.pages").getByRole("link", { name: "First" }).waitFor();
    assert.equal(await shown(), 13);
    const tabs = page.getByRole("navigation", { name: "Which resources" });
    await tabs.getByRole("link", { name: "Failed" }).click();
    await page.waitForURL(/status=failed/);
    assert.equal(await tabs.locator("[aria-current=page]").innerText(), "Failed");
    assert.equal(await shown(), 3);
    await resource(ann, "gone/1.pdf").getByText("404").waitFor();
    // By the number beside a code, only those.
    await page.locator("table.plain-table tr", { hasText: "DOWNLOAD_HTTP_4XX" }).getByRole("link", { name: "2", exact: true }).click();
    await page.waitForURL(/code=DOWNLOAD_HTTP_4XX/);
    assert.equal(await shown(), 2);
    await page.getByText("only DOWNLOAD_HTTP_4XX").waitFor();
    await tabs.getByRole("link", { name: "Cancelled" }).click();
    await page.getByText("There are none.").waitFor();
    await tabs.getByRole("link", { name: "Stored" }).click();
    await page.waitForURL(/status=complete/);
    await resource(ann, "right/60.pdf").getByText("application/pdf").waitFor();
    // One resource has a page like every job.
    await resource(ann, "right/60.pdf").locator("a.name").click();
    await page.locator(".head .state", { hasText: "Complete" }).waitFor();
    await ann.accessible("a resource");
    await ann.picture("fetch-resource");
    await page.getByRole("link", { name: "Its batch" }).click();
    await page.locator("h1", { hasText: "63 resources" }).waitFor();
});

fetching("what failed is tried again by keyboard, and what waits is stopped", {}, async ({ person, origin }) => {
    const ann = await person();
    const { page } = ann;
    await handIn(ann, [...origin.urls("right", 2), ...origin.urls("gone", 3)]);
    await state(ann, "Failed");
    origin.heal();
    await page.getByRole("button", { name: "Retry 3 failed" }).focus();
    await page.keyboard.press("Enter");
    await state(ann, "Complete");
    await page.locator("#batch .head", { hasText: /5 of 5 stored/ }).waitFor();
    assert.equal(await page.getByRole("button").count(), 0, "there is nothing left to do");
});

fetching("a batch is cancelled, and what it has is kept", {}, async ({ person, origin }) => {
    const ann = await person();
    const { page } = ann;
    await handIn(ann, [...origin.urls("right", 2), ...origin.urls("slow", 30)]);
    await page.locator("#batch .head", { hasText: /2 of 32 stored/ }).waitFor();
    await page.getByRole("button", { name: "Cancel 30 that are not done" }).click();
    await state(ann, "Partly complete");
    await page.locator("#batch .head", { hasText: /2 of 32 stored .*, 30 cancelled/ }).waitFor();
    assert.equal(await page.getByRole("button", { name: /Cancel/ }).count(), 0);
    await page.getByRole("link", { name: "Manifest of the 30 missing" }).waitFor();
    await ann.accessible("a cancelled batch");
    await ann.picture("fetch-batch-cancelled");
});

fetching("failures of many minutes are drawn over time, and said as a table", {}, async ({ person, server, origin }) => {
    const ann = await person();
    ann.allowed.push(/ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET/, /htmx:sse:error/, /htmx:error: Failed to fetch/);
    const { page } = ann;
    const path = await handIn(ann, [...origin.urls("gone", 5), ...origin.urls("circle", 2), ...origin.urls("slowly-gone", 2), ...origin.urls("slow", 1), ...origin.urls("right", 6)]);
    await page.locator("#batch .head", { hasText: /6 of 16 stored .*, 7 failed, 3 to go/ }).waitFor();
    assert.equal(await page.getByRole("heading", { name: "Over time" }).count(), 0, "one minute is no line");
    await server.kill();
    origin.release("slowly-gone");
    await server.later("+20m");
    await page.goto(path);
    await page.getByRole("heading", { name: "Over time" }).waitFor();
    await page.getByText(/Each bar is .+; the tallest has 7\./).waitFor();
    await page.getByText("The same as a table").click();
    const table = page.getByRole("region", { name: "Failures over time" });
    await table.locator("tbody tr").nth(1).waitFor();
    // What was opened stays open while the page is kept fresh.
    for (let n = 0; n < 2; n += 1) await page.waitForResponse((response) => response.url().endsWith(path));
    origin.release("slow");
    await state(ann, "Failed");
    assert.ok(await table.isVisible());
    assert.equal(await table.locator("tbody tr").count(), 2);
    await page.locator("#said", { hasText: "The batch has ended" }).waitFor({ state: "attached" });
    await ann.accessible("over time");
    await ann.picture("fetch-over-time");
});

fetching("without script: hand in, follow, retry, take what is missing", {}, async ({ person, origin }) => {
    const ann = await person({ javaScriptEnabled: false, acceptDownloads: true });
    ann.allowed.push(/status of 400/);
    const { page } = ann;
    const path = await handIn(ann, [...origin.urls("right", 3), ...origin.urls("gone", 1)]);
    const reload = (text) => ann.reload(`it says ${text}`, async () => text.test(await page.locator("#batch .head").innerText()));
    await reload(/Failed\s*3 of 4 stored/);
    await ann.picture("fetch-batch-without-script");
    const download = page.waitForEvent("download");
    await page.getByRole("link", { name: "Manifest of the 1 missing" }).click();
    assert.match(await readFile(await (await download).path(), "utf8"), /gone\/1\.pdf/);
    origin.heal();
    await ann.follow(page.getByRole("button", { name: "Retry 1 failed" }));
    await reload(/Complete\s*4 of 4 stored/);
    // What is wrong is said beside what was typed, and what was typed is still there.
    await page.goto("/fetch");
    await page.getByLabel("Addresses, one a line").fill(`${origin.url("right/9.pdf")}\nftp://example.com/x`);
    await page.getByRole("button", { name: "Fetch", exact: true }).click();
    await page.getByRole("alert").getByText(/Nothing was handed in: line 2/).waitFor();
    assert.match(await page.getByLabel("Addresses, one a line").inputValue(), /ftp:\/\/example\.com\/x/);
    await ann.picture("fetch-flaw");
});

fetching("a stranger sees nothing of it, an operator everything", { OPERATOR_TOKEN: "of-the-operator-of-this-test" }, async ({ person, origin }) => {
    const [ann, bob, op] = [await person(), await person(), await person()];
    const path = await handIn(ann, [origin.url("right/secret-plan.pdf"), origin.url("gone/secret-plan.pdf")]);
    await state(ann, "Failed");
    const job = await resource(ann, "right/secret-plan.pdf").locator("a.name").getAttribute("href");
    await bob.page.goto("/fetch");
    await bob.page.getByText("Nothing was fetched yet.").waitFor();
    bob.allowed.push(/status of 403/);
    const id = path.split("/").at(-1);
    for (const address of [path, job, `/api/fetch/${id}`, `/api/fetch/${id}/missing`, `/api/fetch/${id}/resources`]) {
        const answer = await bob.page.goto(address);
        assert.equal(answer.status(), 403, address);
        assert.ok(!(await bob.page.content()).includes("secret-plan"), address);
    }
    // Whoever is asked to sign in comes to the page that was wanted.
    op.allowed.push(/status of 401/);
    await op.page.goto("/dead");
    await op.page.getByRole("link", { name: "Sign in as an operator" }).click();
    await op.page.locator("input[type=password]").fill("of-the-operator-of-this-test");
    await op.page.keyboard.press("Enter");
    await op.page.waitForURL(/\/dead$/);
    await op.page.goto("/fetch");
    await op.page.locator("#batches tbody tr", { hasText: "1 of 2 stored" }).getByRole("link").click();
    await op.page.waitForURL(`**${path}`);
    await resource(op, "gone/secret-plan.pdf").waitFor();
    await op.picture("fetch-operator");
});

fetching("the pages of fetch are accessible in light and dark, and fit into 320 pixels", {}, async ({ person, origin }) => {
    const ann = await person();
    const { page } = ann;
    const long = origin.url(`gone/${"a-very-long-name-without-any-break-".repeat(8)}.pdf?token=${"0123456789abcdef".repeat(8)}`);
    const ended = await handIn(ann, [...origin.urls("right", 8), ...origin.urls("gone", 2), ...origin.urls("circle", 1), origin.url("right/1.pdf", "nobody.invalid"), long]);
    await state(ann, "Failed");
    const running = await handIn(ann, [...origin.urls("right", 3), ...origin.urls("gone", 1), ...origin.urls("slow", 6)]);
    await page.locator("#batch .head", { hasText: /3 of 10 stored .*, 1 failed, 6 to go/ }).waitFor();
    const pages = { "fetch-list": "/fetch", "fetch-batch": ended, "fetch-running": running, "fetch-failed-only": `${ended}?status=failed` };
    for (const [name, path] of Object.entries(pages)) {
        for (const colorScheme of ["light", "dark"]) {
            await page.emulateMedia({ colorScheme });
            await page.goto(path);
            for (const details of await page.locator("details").all()) await details.evaluate((one) => (one.open = true));
            await ann.accessible(`${name} ${colorScheme}`);
            await ann.fits(name);
            await ann.picture(`${name}-${colorScheme}`);
        }
        await page.setViewportSize({ width: 320, height: 640 });
        await ann.fits(`${name} narrow`);
        await ann.accessible(`${name} narrow`);
        await ann.picture(`${name}-320`);
        await page.setViewportSize({ width: 1100, height: 800 });
    }
});

fetching("fetch is used by keyboard alone, and the focus is seen and stays", {}, async ({ person, origin }) => {
    const ann = await person();
    const { page } = ann;
    await page.goto("/fetch");
    const focus = () => page.evaluate(() => {
        const element = document.activeElement;
        return [(element.innerText || element.name || element.id).trim().split("\n")[0], getComputedStyle(element).outlineStyle];
    });
    const tabTo = async (name) => {
        for (let n = 0; n < 40; n += 1) {
            await page.keyboard.press("Tab");
            const [text, outline] = await focus();
            assert.notEqual(outline, "none", `the focus on ${text} is not seen`);
            if (text === name) return;
        }
        assert.fail(`${name} is not reached`);
    };
    await tabTo("urls");
    await page.keyboard.type(`${origin.url("right/1.pdf")}\n${origin.url("slow/1.pdf")}\n`);
    await tabTo("Fetch");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/fetch\/[0-9a-f-]{36}$/);
    await page.locator("#batch .head", { hasText: /1 of 2 stored/ }).waitFor();
    await tabTo("Stored");
    // The page is kept fresh meanwhile: whoever is in it stays where he is.
    const fresh = page.waitForResponse((response) => /\/fetch\/[0-9a-f-]{36}$/.test(response.url()));
    origin.release("slow");
    await fresh;
    await state(ann, "Complete");
    assert.equal((await focus())[0], "Stored");
    await page.keyboard.press("Enter");
    await page.waitForURL(/status=complete/);
});
