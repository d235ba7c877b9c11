// Sending files.

import assert from "node:assert/strict";
import { story } from "../lib/world.mjs";
import { file } from "../lib/pdf.mjs";

// The browser itself writes a line for every answer of 400 or 413: that is no fault of the page.
const REFUSED = /Failed to load resource: the server responded with a status of 4(00|13) .*\/(api\/upload|upload\/unsent)/;

story("three files at once: one is taken, one is no PDF, one is too large", { MAX_UPLOAD_BYTES: "20000" }, async ({ person }) => {
    const ann = await person();
    ann.allowed.push(REFUSED);
    await ann.page.goto("/");
    assert.match(await ann.page.locator("#limits").innerText(), /PDF only, up to 20000 bytes each/);
    await ann.choose(
        file("good.pdf"),
        { name: "notes.pdf", mimeType: "application/pdf", buffer: Buffer.from("just some text") },
        file("huge.pdf", { padding: 30_000 }),
    );
    const line = (name) => ann.page.locator("#files li", { hasText: name });
    await line("good.pdf").getByText("Uploaded: follow it").waitFor();
    await line("notes.pdf").getByText(/Only PDF files are supported\. .+ NOT_PDF/).waitFor();
    await line("huge.pdf").getByText(/File exceeds the limit of 20000 bytes\. .+ TOO_LARGE/).waitFor();
    await ann.says("good.pdf", "Complete");
    // What was refused is a row like any other, also when it was not sent at all.
    for (const [name, why] of [["notes.pdf", "Only PDF files are supported."], ["huge.pdf", "File exceeds the limit of 20000 bytes."]]) {
        await ann.says(name, "Failed");
        await ann.row(name).getByText(why).waitFor();
        await ann.row(name).getByText("It was refused, so nothing of it was kept.").waitFor();
    }
    await ann.accessible("three files");
    await ann.picture("upload-three-files");
    await line("good.pdf").getByRole("link", { name: "follow it" }).click();
    await ann.page.locator("h1", { hasText: "good.pdf" }).waitFor();
    assert.match(await ann.page.title(), /^Complete: good\.pdf/);
});

story("the same file again leads to the earlier job", {}, async ({ person }) => {
    const ann = await person();
    const same = file("one.pdf");
    await ann.upload(same);
    await ann.says("one.pdf", "Complete");
    await ann.choose(same);
    const again = ann.page.locator("#files li", { hasText: "You have this already" });
    await again.getByRole("link", { name: "see the earlier job" }).click();
    await ann.page.locator("h1", { hasText: "one.pdf" }).waitFor();
});

story("forty files with bars, a few at a time", {}, async ({ person }) => {
    const ann = await person();
    const files = Array.from({ length: 40 }, (_, n) => file(`page ${n}.pdf`, { padding: 200_000 }));
    await ann.page.addInitScript(() => {
        const send = XMLHttpRequest.prototype.send;
        let now = 0;
        window.most = 0;
        XMLHttpRequest.prototype.send = function (body) {
            window.most = Math.max(window.most, (now += 1));
            this.addEventListener("readystatechange", () => this.readyState === 4 && (now -= 1));
            send.call(this, body);
        };
    });
    await ann.page.goto("/");
    await ann.choose(...files);
    await ann.page.locator("#folded").getByText("40 files uploaded").waitFor();
    await ann.picture("upload-forty-files");
    await ann.page.locator("#folded summary").click();
    assert.equal(await ann.page.locator("#folded li.is-good").getByRole("link", { name: "follow it" }).count(), 40);
    assert.equal(await ann.page.locator("#files > li").count(), 1);
    await ann.accessible("forty files");
    assert.equal(await ann.page.evaluate(() => window.most), 3);
    await ann.page.goto("/jobs");
    await ann.page.getByText("40 jobs: 40 complete").waitFor();
});

story("dropped files are sent", {}, async ({ person }) => {
    const ann = await person();
    await ann.page.goto("/");
    const bytes = file("dropped.pdf").buffer.toString("latin1");
    const carried = await ann.page.evaluateHandle((text) => {
        const data = new DataTransfer();
        data.items.add(new File([text], "dropped.pdf", { type: "application/pdf" }));
        return data;
    }, bytes);
    await ann.page.dispatchEvent("#drop", "dragover", { dataTransfer: carried });
    assert.equal(await ann.page.locator("#drop.is-over").count(), 1);
    await ann.page.dispatchEvent("#drop", "drop", { dataTransfer: carried });
    await ann.says("dropped.pdf", "Complete");
});
