// `redrive demo`, and an operator's way into it.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { binary } from "./server.mjs";

export class Demo {
    #process;
    said = "";

    static async start(...flags) {
        const demo = new Demo();
        demo.#process = spawn(binary, ["demo", ...flags], { env: { PATH: process.env.PATH, HOME: process.env.HOME } });
        demo.#process.stdout.on("data", (text) => (demo.said += text));
        demo.#process.stderr.on("data", (text) => (demo.said += text));
        demo.#process.once("exit", (code) => (demo.ended = code));
        [, demo.url] = await demo.says(/listening on (http:\/\/\S+)/);
        [, demo.door] = await demo.says(/^sign in\s+(\S+)/m);
        return demo;
    }

    /** Waits until it has said this. */
    async says(pattern) {
        for (const end = Date.now() + 120_000; Date.now() < end && this.ended === undefined; ) {
            const found = pattern.exec(this.said);
            if (found) return found;
            await new Promise((wake) => setTimeout(wake, 100));
        }
        throw new Error(`it never said ${pattern}: ${this.said}`);
    }

    async stop() {
        if (this.ended !== undefined) return;
        const gone = once(this.#process, "exit");
        this.#process.kill("SIGTERM");
        await gone;
    }
}
