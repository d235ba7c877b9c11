// Makes the pictures of the README from `redrive demo`: docs/images/*-light.png and *-dark.png.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { launch } from "./lib/browser.mjs";
import { Demo } from "./lib/demo.mjs";
import { palette } from "./lib/palette.mjs";

const folder = fileURLToPath(new URL("../docs/images", import.meta.url));
const WINDOW = { width: 1040, height: 680 };

const demo = await Demo.start();
const browser = await launch();
try {
    await mkdir(folder, { recursive: true });
    const context = await browser.newContext({ baseURL: demo.url, viewport: WINDOW, locale: "en-GB" });
    const page = await context.newPage();
    await page.goto(demo.door);
    await page.getByRole("button").first().click();
    await page.waitForURL((url) => !url.pathname.startsWith("/sign-in"));

    /** A picture of the window, from this part of the page on. */
    const picture = async (name, path, from) => {
        const answer = await page.goto(path);
        if (answer.status() !== 200) return console.log(`${path} answers ${answer.status()}: no picture of it`);
        if (from) await page.locator(from).evaluate((part) => part.scrollIntoView({ block: "end" }));
        await page.mouse.move(0, 0);
        for (const colorScheme of ["light", "dark"]) {
            await page.emulateMedia({ colorScheme });
            // What comes with the stream is there.
            await page.waitForTimeout(700);
            const png = palette(await page.screenshot({ animations: "disabled" }));
            await writeFile(join(folder, `${name}-${colorScheme}.png`), png);
            console.log(`${name}-${colorScheme}.png: ${Math.ceil(png.length / 1024)} kB`);
        }
    };
    /** The first link on a page with this text near it. */
    const link = async (path, row, text) => {
        await page.goto(path);
        return page.locator(row, { hasText: text }).first().locator("a").first().getAttribute("href");
    };

    // The breaker is open, and jobs wait.
    await demo.says(/the breaker opens/);
    await page.waitForTimeout(3_000);
    await picture("overview", "/overview");
    await picture("targets", "/breakers");
    // Nothing was replayed yet.
    await picture("cause", await link("/dead", "tbody tr", "GW_UNAUTHORIZED"), "#replay");
    await picture("causes", "/dead");
    await picture("job", await link("/jobs?status=failed", "tr[data-job]", "(recovered)"));
    await demo.says(/a replay of/);
    await picture("intake", "/intake");
    await page.goto("/settings");
    await page.getByRole("button", { name: "Look at everything now" }).click();
    await picture("settings", "/settings");
    await context.close();
    console.log(demo.said.replace(/(code=|token +)\S+/g, "$1…"));
} finally {
    await browser.close();
    await demo.stop();
}
