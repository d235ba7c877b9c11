// Makes the picture of the README: docs/images/jobs.png.

import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { Person, launch } from "./lib/browser.mjs";
import { Gateway } from "./lib/gateway.mjs";
import { SCENE } from "./lib/scene.mjs";
import { file } from "./lib/pdf.mjs";
import { Server } from "./lib/server.mjs";

const path = fileURLToPath(new URL("../docs/images/jobs.png", import.meta.url));
const gateway = await Gateway.start();
const server = await Server.start(gateway, SCENE);
const browser = await launch();
try {
    await mkdir(fileURLToPath(new URL("../docs/images", import.meta.url)), { recursive: true });
    const ann = await Person.visit(browser, server, { viewport: { width: 900, height: 600 } });
    const files = [
        ["Annual report 2025.pdf", { padding: 1_800_000 }, "Complete"],
        ["Contract (signed).pdf", { padding: 340_000, mood: "password" }, "Failed"],
        ["Scan of page 7.pdf", { padding: 700_000, mood: "break" }, "Waiting to retry"],
        ["Invoice 10423.pdf", { padding: 90_000 }, "Complete"],
        ["Handbook, second edition.pdf", { padding: 3_000_000, mood: "silent" }, "Processing"],
    ];
    await ann.page.goto("/");
    for (const [name, options, state] of files) {
        await ann.choose(file(name, options));
        await ann.says(name, state);
    }
    await ann.page.goto("/jobs");
    await ann.page.getByLabel("Choose Annual report").check();
    await ann.page.mouse.move(0, 0);
    await ann.page.screenshot({ path, fullPage: true, animations: "disabled" });
    await ann.context.close();
} finally {
    await browser.close();
    await server.stop();
    gateway.become("fine");
    await gateway.down();
}
