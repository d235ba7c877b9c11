// A result in a browser: whatever it holds, it runs nothing.

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { until } from "../lib/browser.mjs";
import { file, readable } from "../lib/pdf.mjs";
import { story } from "../lib/world.mjs";

/** What a person's browser was given because something ran. What the browser itself held back was not. */
function watch(person) {
    const ran = [];
    person.context.on("response", (response) => {
        if (response.url().includes("/ran-")) ran.push(response.url());
    });
    return ran;
}

/** Takes a result as a person does. */
async function take(person, name) {
    const saved = person.page.waitForEvent("download");
    await person.row(name).getByRole("link", { name: /Download/ }).click();
    return saved;
}

story("a result full of script and stylesheets is saved, and where it is shown it runs nothing", {}, async ({ gateway, person }) => {
    gateway.become("active");
    const ann = await person({ acceptDownloads: true });
    // The browser says that it let nothing run, and that nothing is where the script of the last visit looked.
    ann.allowed.push(/sandboxed/, /XSLT/, /Content Security Policy/, /Failed to load resource: .* 404/, /ran-/);
    const ran = watch(ann);
    await ann.upload(file("active.pdf"));
    await ann.says("active.pdf", "Complete");
    const download = await take(ann, "active.pdf");
    assert.equal(download.suggestedFilename(), "active.xml");
    assert.match(await readFile(await download.path(), "utf8"), /ran-a-script/);
    const address = new URL(download.url());
    assert.notEqual(new URL(ann.page.url()).pathname, address.pathname, "the page stays");

    // As if a browser showed it all the same; and then, to see that it would run, without its policy too. A stylesheet that is
    // not there keeps the rest from running: it is tried with and without.
    const show = async (stylesheets, ...without) => {
        await ann.context.route(address.href, async (route) => {
            const response = await route.fetch();
            const headers = Object.entries(response.headers()).filter(([name]) => !without.includes(name));
            const text = await response.text();
            const body = stylesheets ? text : text.replace(/<\?xml-stylesheet.*\?>/g, "");
            await route.fulfill({ status: response.status(), headers: Object.fromEntries(headers), body });
        });
        await ann.page.goto(address.href);
        await ann.context.unroute(address.href);
    };
    for (const [stylesheets, what] of [[true, "/ran-a-stylesheet.xsl"], [false, "/ran-a-script"]]) {
        await show(stylesheets, "content-disposition", "content-length");
        assert.deepEqual(ran.splice(0), []);
        await show(stylesheets, "content-disposition", "content-length", "content-security-policy");
        await until(`${what} would have run`, () => ran.some((url) => url.endsWith(what)));
        // What still comes of this visit is not the next one's.
        await ann.page.goto("/jobs");
        ran.splice(0);
    }
});

story("markup in the text of a PDF is text in its result, wherever that is opened", { GATEWAY_URL: undefined }, async ({ person }) => {
    const ann = await person({ acceptDownloads: true });
    const ran = watch(ann);
    const text = `<?xml-stylesheet type="text/xsl" href="/ran-a-stylesheet.xsl"?><script xmlns="http://www.w3.org/1999/xhtml">new Image().src="/ran-a-script"</script>`;
    await ann.upload({ name: "markup.pdf", mimeType: "application/pdf", buffer: readable(text) });
    await ann.says("markup.pdf", "Complete");
    const folder = await mkdtemp(join(tmpdir(), "redrive-e2e-"));
    try {
        // From a folder of one's own no header of ours protects anybody.
        const saved = join(folder, "markup.xml");
        await (await take(ann, "markup.pdf")).saveAs(saved);
        assert.match(await readFile(saved, "utf8"), /&lt;script/);
        ann.allowed.push(new RegExp(`^asked for ${pathToFileURL(saved).href}$`));
        await ann.page.goto(pathToFileURL(saved).href);
        await ann.page.getByText("/ran-a-script").first().waitFor({ state: "attached" });
        assert.equal(await ann.page.locator("script").count(), 0);
        assert.deepEqual(ran, []);
    } finally {
        await rm(folder, { recursive: true, force: true });
    }
});
