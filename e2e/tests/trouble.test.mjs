// When things go wrong: the converter is away, a job waits for its next try, the server itself is killed.

import assert from "node:assert/strict";
import { story } from "../lib/world.mjs";
import { until } from "../lib/browser.mjs";
import { file } from "../lib/pdf.mjs";

const QUICK = { RETRY_BASE_DELAY_MS: "200", RETRY_JITTER_MAX_MS: "0", CIRCUIT_COOLDOWN_MS: "1500", CIRCUIT_CONSECUTIVE: "2" };

story("the converter goes down and comes back: the banner comes and goes without a reload", QUICK, async ({ gateway, person }) => {
    const ann = await person();
    await ann.upload(file("before.pdf"));
    await ann.says("before.pdf", "Complete");
    await ann.page.goto("/jobs");
    await ann.page.evaluate(() => (window.sameDocument = true));
    await gateway.down();
    const bob = await person();
    await bob.upload(file("theirs.pdf"), file("theirs too.pdf"));
    const banner = (who) => who.page.locator(".banner", { hasText: "Converter busy, jobs will resume automatically" });
    await banner(ann).waitFor();
    await banner(ann).getByText(/Since .+ next try|trying one job now/).waitFor();
    await banner(bob).waitFor();
    await bob.says("theirs.pdf", "Held");
    await ann.accessible("banner");
    await bob.picture("upload-banner");
    await ann.picture("jobs-banner");
    await gateway.up();
    await banner(ann).waitFor({ state: "detached" });
    await bob.says("theirs.pdf", "Complete");
    await bob.says("theirs too.pdf", "Complete");
    assert.equal(await ann.page.locator("tr[data-job]").count(), 1, "other people's jobs are not shown");
    assert.ok(await ann.page.evaluate(() => window.sameDocument), "nothing was reloaded");
});

story("a job that waits for its next try counts down, and is tried by itself", { RETRY_BASE_DELAY_MS: "7000", RETRY_JITTER_MAX_MS: "0" }, async ({ gateway, person }) => {
    gateway.next = ["break"];
    const ann = await person();
    await ann.upload(file("patient.pdf"));
    await ann.page.goto("/jobs");
    await ann.says("patient.pdf", /Waiting to retry\s*attempt 2 of 3, next try in \d s/);
    const left = async () => Number(/in (\d+) s/.exec(await ann.row("patient.pdf").innerText())?.[1] ?? 0);
    const first = await left();
    assert.ok(first > 2, `${first} s are left`);
    assert.match(await ann.page.title(), /^1 active · Jobs/);
    await until("the countdown goes on", async () => {
        const now = await left();
        return now > 0 && now < first;
    });
    await ann.picture("jobs-countdown");
    await ann.accessible("countdown");
    await ann.says("patient.pdf", "Complete");
    await until("the title says it too", async () => /^Jobs/.test(await ann.page.title()));
    assert.equal(gateway.calls, 2);
});

story("a start is seen, although it writes no event", { RETRY_BASE_DELAY_MS: "4000", RETRY_JITTER_MAX_MS: "0" }, async ({ gateway, person }) => {
    gateway.next = ["break"];
    gateway.mood = "silent";
    const ann = await person();
    await ann.upload(file("long.pdf"));
    await ann.says("long.pdf", "Waiting to retry");
    await ann.says("long.pdf", /Processing\s*attempt 2 of 3/);
    await ann.row("long.pdf").locator("a.name").click();
    await ann.page.locator(".head .state", { hasText: "Processing" }).waitFor();
    await ann.picture("job-processing");
    gateway.become("fine");
    await ann.page.locator(".head .state", { hasText: "Complete" }).waitFor();
    await ann.page.locator("pre.xml", { hasText: "Quarterly" }).waitFor();
});

story("the server is killed and comes back while a page is open", QUICK, async ({ gateway, server, person }) => {
    const ann = await person();
    ann.allowed.push(/ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET/, /htmx:sse:error/, /htmx:error: Failed to fetch/);
    gateway.mood = "silent";
    await ann.upload(file("survivor.pdf"));
    await ann.page.goto("/jobs");
    await ann.says("survivor.pdf", "Processing");
    await ann.page.evaluate(() => (window.sameDocument = true));
    await server.kill();
    const lost = ann.page.locator("#lost");
    await lost.getByText("The connection to the server is lost").waitFor();
    await ann.picture("jobs-connection-lost");
    gateway.become("fine");
    await server.up();
    await until("the notice goes by itself", async () => (await lost.innerText()) === "");
    await ann.says("survivor.pdf", "Complete");
    assert.ok(await ann.page.evaluate(() => window.sameDocument), "nothing was reloaded");
});
