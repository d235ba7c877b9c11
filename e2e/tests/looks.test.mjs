// How everything looks: both colour schemes, a narrow window, and what axe says of every page.

import assert from "node:assert/strict";
import { story } from "../lib/world.mjs";
import { file } from "../lib/pdf.mjs";
import { SCENE, jobPage, scene } from "../lib/scene.mjs";

// A refusal is an answer of 400, and the browser writes a line for it.
const REFUSED = /Failed to load resource: the server responded with a status of (400|404)/;

story("every page is accessible in light and dark, and fits into 320 pixels", SCENE, async ({ person, gateway }) => {
    const ann = await person();
    ann.allowed.push(REFUSED);
    await scene(ann);
    const pages = {
        upload: "/",
        jobs: "/jobs",
        "job-complete": await jobPage(ann, "Annual report"),
        "job-failed": await jobPage(ann, "Contract"),
        "job-refused": await jobPage(ann, "Shopping"),
        "job-waiting": await jobPage(ann, "Scan"),
        "job-processing": await jobPage(ann, "Handbook"),
        "jobs-none": "/jobs?q=nothing+like+it",
        failures: "/failures",
        failure: "/failures/GW_TIMEOUT",
        docs: "/docs",
        "sign-in": "/sign-in",
        "not-found": "/nowhere",
    };
    for (const [name, path] of Object.entries(pages)) {
        for (const colorScheme of ["light", "dark"]) {
            await ann.page.emulateMedia({ colorScheme });
            await ann.page.goto(path);
            for (const details of await ann.page.locator("details").all()) await details.evaluate((one) => (one.open = true));
            await ann.accessible(`${name} ${colorScheme}`);
            await ann.fits(name);
            await ann.picture(`${name}-${colorScheme}`);
        }
        await ann.page.setViewportSize({ width: 320, height: 640 });
        await ann.fits(`${name} narrow`);
        await ann.accessible(`${name} narrow`);
        await ann.picture(`${name}-320`);
        await ann.page.setViewportSize({ width: 1100, height: 800 });
    }
    gateway.become("fine");
});

story("everything can be reached by keyboard, and the focus is seen", SCENE, async ({ person }) => {
    const ann = await person();
    await ann.page.goto("/");
    const reached = [];
    for (let n = 0; n < 8; n += 1) {
        await ann.page.keyboard.press("Tab");
        const [text, outline] = await ann.page.evaluate(() => {
            const element = document.activeElement;
            return [element.innerText || element.name || element.id, getComputedStyle(element).outlineStyle];
        });
        reached.push(text.trim().split("\n")[0]);
        assert.notEqual(outline, "none", `the focus on ${text} is not seen`);
    }
    assert.deepEqual(reached.slice(0, 4), ["Skip to the content", "Redrive", "Upload", "Jobs"]);
    assert.ok(reached.includes("Choose files"), reached.join(", "));
});

story("times are the reader's own", {}, async ({ person }) => {
    const far = await person({ timezoneId: "Pacific/Kiritimati", locale: "en-GB" });
    await far.upload(file("far.pdf"));
    await far.says("far.pdf", "Complete");
    const time = far.row("far.pdf").locator("time").first();
    const [shown, instant] = [await time.innerText(), await time.getAttribute("datetime")];
    const expected = new Intl.DateTimeFormat("en-GB", { timeStyle: "short", timeZone: "Pacific/Kiritimati" });
    // It is of today, so the date goes without saying.
    assert.equal(shown.replace(/\s/g, " "), expected.format(new Date(instant)).replace(/\s/g, " "));
});
