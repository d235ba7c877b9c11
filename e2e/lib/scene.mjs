// A desk in the middle of a day: one job in each state, for eyes and for axe.

import { file } from "./pdf.mjs";

export const SCENE = { RETRY_BASE_DELAY_MS: "45000", RETRY_JITTER_MAX_MS: "0", WORKER_CONCURRENCY: "1", CIRCUIT_CONSECUTIVE: "0" };

/** Uploads everything and waits until each job is in its state. */
export async function scene(ann) {
    const { page } = ann;
    await ann.upload(file("Annual report 2025.pdf", { padding: 1_800_000 }), file("Invoice 10423.pdf", { padding: 90_000 }), file("Minutes of the meeting.pdf", { padding: 210_000 }));
    for (const name of ["Annual report", "Invoice 10423", "Minutes"]) await ann.says(name, "Complete");
    await ann.choose(file("Contract (signed).pdf", { mood: "password", padding: 340_000 }), file("Scan of page 7.pdf", { mood: "break", padding: 700_000 }));
    await ann.says("Contract", "Failed");
    await ann.says("Scan of page 7", "Waiting to retry");
    await ann.choose({ name: "Shopping list.pdf", mimeType: "application/pdf", buffer: Buffer.from("milk") });
    await ann.says("Shopping list", "Failed");
    await ann.choose(file("Handbook, second edition.pdf", { mood: "silent", padding: 3_000_000 }));
    await ann.says("Handbook", "Processing");
    await ann.choose(file("Old draft.pdf", { padding: 50_000 }));
    await ann.says("Old draft", /Queued|Processing/);
    await ann.row("Old draft").locator("a.name").click();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.locator(".head .state", { hasText: "Cancelled" }).waitFor();
    await page.goto("/");
    await ann.choose(file("Letter to the bank.pdf", { padding: 120_000 }), file("Letter from the bank.pdf", { padding: 80_000 }));
    await ann.says("Letter from", /Queued|Processing/);
    await ann.says("Letter to", /Queued|Processing/);
}

/** The page of a job, by the name of its file. */
export async function jobPage(ann, name) {
    await ann.page.goto(`/jobs?q=${encodeURIComponent(name)}`);
    return ann.row(name).locator("a.name").getAttribute("href");
}
