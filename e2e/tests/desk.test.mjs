// The operators' desk: from "something is wrong" to a replay, with clicks counted; and how its pages look.

import assert from "node:assert/strict";
import { story } from "../lib/world.mjs";
import { file } from "../lib/pdf.mjs";
import { signIn } from "../lib/office.mjs";
import { until } from "../lib/browser.mjs";
import { looks } from "../lib/looks.mjs";

const DESK = { RETRY_BASE_DELAY_MS: "100", RETRY_JITTER_MAX_MS: "0", CIRCUIT_COOLDOWN_MS: "60000", OPERATOR_TOKEN: "token-of-the-operators" };

/** Somebody whose PDFs all fail. */
async function unlucky(person, gateway, count) {
    gateway.mood = "refuse";
    const ann = await person();
    const names = [...Array(count).keys()].map((n) => `Report ${n + 1}.pdf`);
    await ann.upload(...names.map((name) => file(name)));
    await ann.page.goto("/jobs");
    for (const name of names) await ann.says(name, "Failed");
    return ann;
}

/** An operator at the overview, once it says this. */
async function operator(person, words, options) {
    const olga = await person(options);
    await signIn(olga);
    await olga.page.getByRole("link", { name: "Overview" }).click();
    await olga.page.locator(".verdict", { hasText: words }).waitFor();
    return olga;
}

story("from 'something is wrong' to a canary replay in five clicks", DESK, async ({ gateway, person }) => {
    const olga = await operator(person, "All is well.");
    await olga.page.evaluate(() => (window.sameDocument = true));
    await unlucky(person, gateway, 6);
    // Nobody reloads: the sentence changes by itself, and the chart follows.
    const verdict = olga.page.locator(".verdict");
    await verdict.getByText("Something is wrong:").waitFor();
    await olga.page.locator(".panel[aria-label=Throughput] svg rect.bad").first().waitFor();
    await until("the tab says it too", async () => /^1 wrong · Overview/.test(await olga.page.title()));
    assert.ok(await olga.page.evaluate(() => window.sameDocument), "it is still the same page");
    await olga.picture("overview-wrong");
    // The gateway is mended, but slow for now.
    gateway.mood = "silent";
    let clicks = 0;
    const click = async (what) => {
        clicks += 1;
        await what.click();
    };
    await click(verdict.getByRole("link", { name: /The PDF is damaged/ }));
    await click(olga.page.getByRole("button", { name: "Replay 6 jobs" }));
    await olga.page.getByText("Trying a few").waitFor();
    assert.ok(clicks <= 5, `${clicks} clicks`);
    await until("the canary runs, and no more", () => gateway.calls === 6 + 3);
    await olga.picture("replay-canary");
    gateway.become("fine");
    await olga.page.getByText("Done", { exact: true }).waitFor();
    assert.equal(gateway.calls, 12);
    await olga.page.goto("/overview");
    await olga.page.getByRole("link", { name: /^0\s+dead letters wait/ }).waitFor();
    await verdict.getByText("Nothing is broken, but you should know:").waitFor();
});

story("a target that does not answer is told first, with what its breaker did", { ...DESK, CIRCUIT_CONSECUTIVE: "2" }, async ({ gateway, person }) => {
    const olga = await operator(person, "All is well.");
    await gateway.down();
    const ann = await person();
    await ann.upload(file("a.pdf"), file("b.pdf"), file("c.pdf"));
    await olga.page.locator(".verdict").getByRole("link", { name: /gateway does not answer well; \d jobs? waits? for it/ }).click();
    const turns = olga.page.getByRole("region", { name: "What they did" });
    await turns.getByText("Opened: its jobs wait").waitFor();
    await olga.picture("breakers-open");
    await gateway.up();
    await olga.page.getByRole("button", { name: "Let go gateway" }).click();
    await turns.getByText("Let go").first().waitFor();
    await ann.page.goto("/jobs");
    for (const name of ["a.pdf", "b.pdf", "c.pdf"]) await ann.says(name, "Complete");
});

story("the pages of the desk are accessible in light and dark, and fit into 320 pixels", DESK, async ({ gateway, person }) => {
    const ann = await unlucky(person, gateway, 3);
    gateway.mood = "fine";
    await ann.upload(file("good.pdf"), file("better.pdf"));
    await ann.says("better.pdf", "Complete");
    await ann.says("good.pdf", "Complete");
    const olga = await operator(person, "Something is wrong:");
    await olga.page.locator(".panel[aria-label=Throughput] svg rect.good").first().waitFor();
    await olga.page.goto("/breakers");
    await olga.page.getByLabel("Target", { exact: true }).fill("host:example.org:443");
    await olga.page.getByLabel("Reason", { exact: true }).fill("They move house");
    await olga.page.getByRole("button", { name: "Hold", exact: true }).click();
    await olga.page.getByText("Held by an operator").waitFor();
    await olga.page.goto("/jobs?status=failed&workload=convert");
    await olga.page.getByRole("link", { name: "Replay all 3 that wait …" }).click();
    await olga.page.getByRole("button", { name: "Replay 3 jobs" }).waitFor();
    await looks(olga, { "desk-jobs-some": "/jobs?status=failed&workload=convert", "desk-jobs-replay": new URL(olga.page.url()).pathname + new URL(olga.page.url()).search });
    await olga.page.goto("/dead");
    const cause = await olga.page.locator("tbody th a").first().getAttribute("href");
    const letter = await olga.page.goto(cause).then(() => olga.page.locator("tbody a").first().getAttribute("href"));
    await olga.page.getByRole("button", { name: "Replay 3 jobs" }).click();
    await olga.page.getByText("Done", { exact: true }).waitFor();
    const replay = new URL(olga.page.url()).pathname;
    await looks(olga, {
        overview: "/overview",
        "overview-day": "/overview?window=24h",
        "desk-jobs": "/jobs",
        "desk-jobs-failed": "/jobs?status=failed&workload=convert",
        "desk-jobs-cancel": "/jobs/cancel?status=queued&workload=convert",
        dead: "/dead",
        cause,
        letter,
        replays: "/replays",
        replay,
        breakers: "/breakers",
        workers: "/workers",
        audit: "/audit",
    });
});

story("without script the overview can be read, and leads on", DESK, async ({ gateway, person }) => {
    await unlucky(person, gateway, 2);
    const olga = await person({ javaScriptEnabled: false });
    await signIn(olga);
    await until("it says what is wrong", async () => {
        await olga.page.goto("/overview");
        return (await olga.page.locator(".verdict", { hasText: "Something is wrong:" }).count()) === 1;
    });
    const counted = olga.page.locator(".table-failures tbody tr", { hasText: "GW_4XX" });
    await olga.reload("the failures are counted", async () => (await counted.count()) === 1);
    await olga.page.locator(".table-failures summary").click();
    await olga.picture("overview-without-script");
    await olga.follow(olga.page.locator(".table-failures tbody a[href^='/dead']"));
    assert.equal(await olga.page.locator("tbody tr").count(), 1);
    await olga.follow(olga.page.locator("tbody th a"));
    gateway.become("fine");
    await olga.follow(olga.page.getByRole("button", { name: "Replay 2 jobs" }));
    assert.match(olga.page.url(), /\/replays\//);
});
