// The operators' pages on `redrive demo`: there is something on each of them. Readable by all, on a phone and in the dark.

import { after, before, test } from "node:test";
import { Person, launch } from "../lib/browser.mjs";
import { Demo } from "../lib/demo.mjs";

const PAGES = ["/dead", "/replays", "/breakers", "/workers", "/intake", "/audit", "/settings"];

let browser;
let demo;

before(async () => {
    [browser, demo] = await Promise.all([launch(), Demo.start("--speed", "3")]);
    await demo.says(/a replay of/);
});

after(async () => {
    await browser?.close();
    await demo?.stop();
});

test("every page of the demo's operator is accessible, fits on a phone, and the doctor looks without script too", async () => {
    const ann = await Person.visit(browser, demo, { javaScriptEnabled: true });
    await ann.page.goto(demo.door);
    await ann.page.getByRole("button").first().click();
    await ann.page.waitForURL((url) => !url.pathname.startsWith("/sign-in"));
    await ann.page.goto("/settings");
    await ann.page.getByRole("button", { name: "Look at everything now" }).click();
    await ann.page.getByText(/Looked at/).waitFor();
    for (const path of PAGES) {
        await ann.page.goto(path);
        await ann.accessible(`${path} of the demo`);
        await ann.picture(`demo${path.replaceAll("/", "-")}`);
    }
    await ann.page.setViewportSize({ width: 320, height: 640 });
    await ann.page.emulateMedia({ colorScheme: "dark" });
    for (const path of PAGES) {
        await ann.page.goto(path);
        await ann.fits(`${path} of the demo`);
        await ann.accessible(`${path} of the demo, narrow and dark`);
        await ann.picture(`demo${path.replaceAll("/", "-")}-narrow-dark`);
    }
    const state = await ann.context.storageState();
    await ann.leave();
    const bob = await Person.visit(browser, demo, { javaScriptEnabled: false, storageState: state });
    await bob.page.goto("/settings");
    await bob.page.getByRole("button", { name: "Look at everything now" }).click();
    await bob.page.getByText(/Looked at/).waitFor();
    await bob.leave();
});
