// The folder of people, as operators see it: the board, a document, what failed, the digest, and whom it goes to.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { story } from "../lib/world.mjs";
import { pdf } from "../lib/pdf.mjs";
import { Office, signIn } from "../lib/office.mjs";
import { until } from "../lib/browser.mjs";
import { looks } from "../lib/looks.mjs";

const column = (one, title) => one.page.getByRole("region", { name: title, exact: true });
const card = (one, title, name) => column(one, title).getByRole("listitem").filter({ hasText: name });

const first = new Office();
story("a PDF that is put into the folder goes through the columns, and nobody reloads", first.settings, async ({ gateway, person }) => {
    const olga = await person();
    await signIn(olga);
    await olga.page.getByRole("link", { name: "Intake" }).click();
    await olga.page.getByRole("button", { name: "Pause intake" }).click();
    await olga.page.getByText("Paused: nothing is taken").waitFor();
    await first.put("team/slow.pdf", pdf({ mood: "silent" }));
    await column(olga, "Queue").getByText("1 PDF was not taken yet.").waitFor();
    await olga.picture("intake-paused");
    await olga.page.getByRole("button", { name: "Go on" }).click();
    await olga.page.evaluate(() => (window.sameOne = true));
    await card(olga, "Processing", "team/slow.pdf").waitFor();
    await column(olga, "Queue").getByRole("heading", { name: "Queue 0" }).waitFor();
    await olga.picture("intake-processing");
    gateway.become("fine");
    await card(olga, "Result", "team/slow.pdf").waitFor();
    await column(olga, "Processing").getByRole("heading", { name: "Processing 0" }).waitFor();
    assert.ok(await olga.page.evaluate(() => window.sameOne), "it is still the same page");
    assert.ok(first.has("result/team/slow.pdf") && first.has("result/team/slow.xml"));
    // One who is no operator sees none of it.
    const ann = await person();
    ann.allowed.push(/status of 401/);
    assert.equal((await ann.page.goto("/intake")).status(), 401);
    assert.equal(await ann.page.getByRole("navigation", { name: "Operators" }).count(), 0);
});

const second = new Office();
story("a broken PDF says why, its report can be asked for and downloaded, and its failures are found", second.settings, async ({ person }) => {
    const olga = await person({ acceptDownloads: true });
    await signIn(olga);
    await olga.page.goto("/intake");
    await second.put("team/Contract <b>.pdf", pdf({ mood: "refuse" }));
    await second.put("fine.pdf", pdf());
    await card(olga, "Failed", "Contract <b>.pdf").waitFor();
    await card(olga, "Result", "fine.pdf").waitFor();
    await olga.follow(card(olga, "Failed", "Contract <b>.pdf").getByRole("link"));
    const page = olga.page.url();
    assert.equal(await olga.page.locator("h1").innerText(), "team/Contract <b>.pdf");
    await olga.page.getByText("It was given up. The PDF is kept in failed/.").waitFor();
    await olga.page.getByRole("region", { name: "Why" }).getByText("We tried 2 times and gave up.").waitFor();
    await olga.page.getByRole("cell", { name: "failed/team/Contract <b>.pdf", exact: true }).waitFor();
    await olga.page.getByRole("button", { name: /report/ }).click();
    await olga.page.getByRole("status").getByText("The report is written.").waitFor();
    const download = olga.page.waitForEvent("download");
    await olga.page.getByRole("link", { name: "Download the report" }).click();
    const got = await download;
    assert.match(got.suggestedFilename(), /^Contract .b._analysis_\w+\.docx$/);
    assert.equal((await readFile(await got.path())).subarray(0, 2).toString(), "PK");
    await olga.page.getByRole("link", { name: "Failures", exact: true }).click();
    const rows = olga.page.locator("tbody tr");
    assert.equal(await rows.count(), 2);
    await olga.page.getByLabel("File name or reason").fill("contract");
    await olga.page.getByLabel("Owner").fill("default");
    await olga.page.getByLabel("From").fill("2020-01-01");
    await olga.page.getByRole("button", { name: "Show" }).click();
    await until("the question is in the address", () => /q=contract/.test(olga.page.url()));
    assert.equal(await rows.count(), 2);
    assert.equal(await olga.page.getByLabel("From").inputValue(), "2020-01-01", "the form keeps what was asked");
    await olga.page.getByLabel("To (UTC)").fill("2020-01-02");
    await olga.page.getByRole("button", { name: "Show" }).click();
    await olga.page.getByText("Nothing failed that matches.").waitFor();
    await olga.page.getByRole("link", { name: "Clear" }).click();
    await olga.follow(rows.first().getByRole("link", { name: /Contract/ }));
    assert.equal(olga.page.url(), page);
    await looks(olga, { intake: "/intake", "intake-document": page, "failure-records": "/failure-records", "failure-records-none": "/failure-records?owner=nobody" });
});

const third = new Office();
story("who gets the digest is kept by clicks, and what each would be told can be read before it is sent", third.settings, async ({ person }) => {
    const olga = await person();
    await signIn(olga);
    await olga.page.goto("/intake");
    await olga.page.getByRole("link", { name: "Addresses" }).click();
    for (const [owner, address] of [["jane", "jane@example.org"], ["default", "desk@example.org"]]) {
        await olga.page.getByLabel("Owner").fill(owner);
        await olga.page.getByLabel("Address").fill(address);
        await olga.page.getByRole("button", { name: "Add" }).click();
        await olga.page.getByRole("rowheader", { name: owner }).waitFor();
    }
    const row = olga.page.getByRole("row").filter({ hasText: "jane@example.org" });
    await row.getByRole("button", { name: "Switch off" }).click();
    await row.getByText("switched off").waitFor();
    await row.getByRole("button", { name: "Switch on" }).click();
    await row.getByRole("button", { name: "Switch off" }).waitFor();
    await olga.page.getByRole("button", { name: "Remove desk@example.org of default" }).click();
    await olga.page.getByRole("rowheader", { name: "default" }).waitFor({ state: "detached" });
    await third.put("jane/Invoice.pdf", pdf({ mood: "refuse" }));
    await until("it was given up", () => third.has("failed/jane/Invoice.pdf"));
    await olga.follow(olga.page.getByRole("link", { name: "Digest", exact: true }));
    await olga.reload("jane would be told", async () => (await olga.page.getByRole("heading", { name: "jane" }).count()) === 1);
    await olga.page.getByText("Invoice.pdf").waitFor();
    await looks(olga, { digest: "/digest", notifications: "/notifications" });
    await olga.page.goto("/digest");
    await olga.page.getByRole("link", { name: "As the mail looks" }).click();
    await olga.page.getByText("Invoice.pdf").first().waitFor();
    await olga.page.goBack();
    await olga.follow(olga.page.getByRole("button", { name: "Send to 1 owner now" }));
    await until("it is told how it went", async () => {
        await olga.page.goto("/digest");
        return (await olga.page.getByText("Written to a file").count()) === 1;
    });
    await olga.page.getByText("Nothing changed since the last digest").waitFor();
});

const fourth = new Office();
story("without script the board, a document and its report are there all the same", fourth.settings, async ({ person }) => {
    const olga = await person({ javaScriptEnabled: false });
    await signIn(olga);
    await fourth.put("broken.pdf", pdf({ mood: "refuse" }));
    const reload = (what, there) => olga.reload(what, async () => (await there.count()) === 1);
    await olga.page.goto("/intake");
    await reload("it is given up", card(olga, "Failed", "broken.pdf"));
    await olga.picture("intake-without-script");
    await olga.follow(card(olga, "Failed", "broken.pdf").getByRole("link"));
    await olga.follow(olga.page.getByRole("button", { name: /report/ }));
    await reload("the report is written", olga.page.getByText("The report is written."));
    assert.equal(await olga.page.getByRole("link", { name: "Download the report" }).count(), 1);
    await olga.follow(olga.page.getByRole("button", { name: "Sign out" }));
    assert.equal(await olga.page.getByRole("navigation", { name: "Operators" }).count(), 0);
});
