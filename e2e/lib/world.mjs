// A test with everything it needs, and without it afterwards.

import { after, before, test } from "node:test";
import { Gateway } from "./gateway.mjs";
import { Server } from "./server.mjs";
import { Person, launch } from "./browser.mjs";

let browser;

before(async () => (browser = await launch()));
after(async () => await browser?.close());

/** A test with a gateway, a server and as many people as it asks for. */
export function story(name, settings, run) {
    test(name, { timeout: 300_000 }, async () => {
        const gateway = await Gateway.start();
        const server = await Server.start(gateway, settings);
        const people = [];
        const person = async (options) => {
            people.push(await Person.visit(browser, server, options));
            return people.at(-1);
        };
        try {
            await run({ gateway, server, person });
            for (const one of people.splice(0)) await one.leave();
        } catch (error) {
            // What was to be seen when it went wrong.
            for (const [n, one] of people.entries()) await one.picture(`failed-${name.replace(/\W+/g, "-")}-${n}`).catch(() => {});
            throw error;
        } finally {
            for (const one of people) await one.context.close();
            await server.stop();
            gateway.become("fine");
            await gateway.down().catch(() => {});
        }
    });
}
