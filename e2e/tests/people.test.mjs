// What people do: retry by keyboard, look for a file, take many results, and work without script.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { story } from "../lib/world.mjs";
import { file, pdf } from "../lib/pdf.mjs";

story("a retry by keyboard keeps the focus in its row", {}, async ({ gateway, person }) => {
    const ann = await person();
    gateway.mood = "refuse";
    await ann.upload(file("one.pdf"), file("two.pdf"), file("three.pdf"));
    for (const name of ["one.pdf", "two.pdf", "three.pdf"]) await ann.says(name, "Failed");
    await ann.page.goto("/jobs");
    gateway.mood = "silent";
    const row = ann.row("two.pdf");
    const retry = row.getByRole("button", { name: "Retry two.pdf" });
    await retry.focus();
    await ann.page.keyboard.press("Enter");
    await ann.says("two.pdf", /Queued|Processing/);
    const inside = () => row.evaluate((element) => element.contains(document.activeElement));
    assert.ok(await inside(), "the focus is where it was");
    await ann.says("two.pdf", "Processing");
    assert.ok(await inside(), "also after the table was refreshed");
    gateway.become("fine");
    await ann.says("two.pdf", "Complete");
    assert.ok(await inside(), "and at the end");
    // From there it goes on with the keyboard: Download is next.
    await ann.page.keyboard.press("Tab");
    assert.equal(await ann.page.evaluate(() => document.activeElement.textContent), "Download two.pdf");
});

story("a retry that is refused says why", {}, async ({ gateway, person }) => {
    const ann = await person();
    ann.allowed.push(/status of 409/, /htmx:response:error/);
    gateway.mood = "refuse";
    const same = file("twin.pdf");
    await ann.upload(same);
    await ann.says("twin.pdf", "Failed");
    gateway.mood = "silent";
    // The same file again is a new job, because the first one has failed; now both would do the same.
    await ann.choose(same);
    await ann.page.locator("tr[data-job]").nth(1).waitFor();
    await ann.page.getByRole("button", { name: "Retry twin.pdf" }).click();
    await ann.page.getByRole("alert").getByText(/does the same already/).waitFor();
    gateway.become("fine");
});

story("two browsers do not see each other's jobs", {}, async ({ person }) => {
    const [ann, bob] = [await person(), await person()];
    await ann.upload(file("ann's secret.pdf"));
    await ann.says("ann's secret.pdf", "Complete");
    await bob.upload(file("bob's.pdf"));
    await bob.says("bob's.pdf", "Complete");
    await bob.page.goto("/jobs");
    assert.equal(await bob.page.locator("tr[data-job]").count(), 1);
    const link = await ann.row("ann's secret.pdf").locator("a.name").getAttribute("href");
    bob.allowed.push(/status of 403/);
    const answer = await bob.page.goto(link);
    assert.equal(answer.status(), 403);
    assert.equal(await bob.page.locator("h1").innerText(), "This file isn’t yours.");
    assert.ok(!(await bob.page.content()).includes("secret"));
    await bob.accessible("a refusal");
    await bob.picture("refusal");
    assert.equal((await bob.page.goto(`/api${link}/download`)).status(), 403);
});

story("without script: upload, read, retry, download", {}, async ({ gateway, person }) => {
    const ann = await person({ javaScriptEnabled: false, acceptDownloads: true });
    gateway.mood = "refuse";
    await ann.page.goto("/");
    await ann.picture("upload-without-script");
    await ann.page.locator("#mapping").selectOption("alto");
    await ann.page.locator("#file").setInputFiles([file("a.pdf"), file("b.pdf")]);
    await ann.follow(ann.page.getByRole("button", { name: "Upload" }));
    assert.match(ann.page.url(), /\/jobs$/);
    const reload = (name, text) => ann.reload(`${name} says ${text}`, async () => text.test(await ann.row(name).innerText()));
    await reload("a.pdf", /Failed/);
    assert.match(await ann.row("a.pdf").innerText(), /\d{4}-\d\d-\d\d \d\d:\d\d UTC/);
    await reload("b.pdf", /Failed/);
    gateway.mood = "fine";
    await ann.page.getByRole("button", { name: "Retry a.pdf" }).click();
    await ann.page.locator("h1", { hasText: "a.pdf" }).waitFor();
    assert.match(ann.page.url(), /\/jobs\/[0-9a-f-]{36}$/);
    await ann.follow(ann.page.getByRole("link", { name: "All jobs" }));
    await reload("a.pdf", /Complete/);
    const download = ann.page.waitForEvent("download");
    await ann.page.getByRole("link", { name: "Download a.pdf" }).click();
    const got = await download;
    assert.equal(got.suggestedFilename(), "a.xml");
    assert.match(await readFile(await got.path(), "utf8"), /Quarterly/);
    // What is refused is told in a page.
    await ann.page.goto("/");
    const text = { name: "text.pdf", mimeType: "application/pdf", buffer: Buffer.from("text") };
    await ann.page.locator("#file").setInputFiles([text, file("c.pdf")]);
    await ann.page.getByRole("button", { name: "Upload" }).click();
    await ann.page.getByText(/Only PDF files are supported/).waitFor();
    assert.equal(await ann.page.locator("h1").innerText(), "1 of 2 files taken");
    await ann.picture("upload-without-script-report");
});

story("many results come as one ZIP, and a filter finds a file", {}, async ({ person }) => {
    const ann = await person({ acceptDownloads: true });
    await ann.upload(file("alpha.pdf"), file("beta.pdf"), file("gamma.pdf"));
    for (const name of ["alpha.pdf", "beta.pdf", "gamma.pdf"]) await ann.says(name, "Complete");
    await ann.page.goto("/jobs");
    await ann.page.setViewportSize({ width: 1100, height: 320 });
    await ann.page.getByRole("button", { name: "Download chosen as ZIP" }).click();
    const notice = ann.page.getByRole("alert").getByText("Tick the results");
    await notice.waitFor();
    // The button is far below the top of the page: its answer is in sight all the same.
    const seen = ({ top, bottom }) => top >= 0 && bottom <= 320;
    assert.ok(seen(await notice.evaluate((one) => one.getBoundingClientRect().toJSON())));
    await ann.page.setViewportSize({ width: 1100, height: 800 });
    await ann.page.getByLabel("Choose alpha.pdf").check();
    // A refresh of the table keeps what was ticked.
    await ann.page.evaluate(() => window.htmx.trigger("#live", "jobs"));
    await ann.page.waitForResponse((response) => response.url().endsWith("/jobs"));
    assert.ok(await ann.page.getByLabel("Choose alpha.pdf").isChecked());
    await ann.page.getByLabel("Choose gamma.pdf").check();
    const download = ann.page.waitForEvent("download");
    await ann.page.getByRole("button", { name: "Download chosen as ZIP" }).click();
    const bytes = await readFile(await (await download).path(), "latin1");
    assert.ok(bytes.startsWith("PK") && bytes.includes("alpha.xml") && bytes.includes("gamma.xml"));
    assert.ok(!bytes.includes("beta.xml"));
    await ann.page.getByLabel("File name").fill("bet");
    await ann.follow(ann.page.getByRole("button", { name: "Show" }));
    assert.deepEqual(await ann.page.locator("a.name").allInnerTexts(), ["beta.pdf"]);
});

story("hostile names are shown and do nothing", {}, async ({ person }) => {
    const ann = await person();
    const names = ["<img src=x onerror=alert(1)>.pdf", "فاتورة ١٢.pdf", "👩🏽‍🚀🎉.pdf", `${"long name ".repeat(24)}.pdf`, `${"x".repeat(240)}.pdf`];
    await ann.upload(...names.map((name) => ({ name, mimeType: "application/pdf", buffer: pdf() })));
    await ann.page.goto("/jobs");
    await ann.page.getByText("5 jobs: 5 complete").waitFor();
    assert.equal(await ann.page.locator("img").count(), 0);
    await ann.fits("hostile names");
    await ann.picture("jobs-hostile-names");
});

story("a scan without text is complete, and says that it is empty", {}, async ({ person }) => {
    const ann = await person();
    await ann.upload(file("scan.pdf", { mood: "empty" }));
    await ann.says("scan.pdf", /Complete\s*It holds pictures and no text, so the XML is empty\./);
    await ann.row("scan.pdf").locator("a.name").click();
    await ann.page.locator(".head .remark", { hasText: "no text" }).waitFor();
});
