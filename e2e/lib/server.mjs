// The real binary, in an empty folder.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const target = process.env.CARGO_TARGET_DIR ?? fileURLToPath(new URL("../../target", import.meta.url));
export const binary = process.env.REDRIVE_BIN ?? join(target, "debug/redrive");

export class Server {
    #process;
    #settings;
    #folder;

    /** Starts it in a folder of its own. `settings` are environment variables. */
    static async start(gateway, settings = {}) {
        if (!existsSync(binary)) throw new Error(`there is no ${binary}: build it, or set REDRIVE_BIN`);
        const server = new Server();
        server.#folder = await mkdtemp(join(tmpdir(), "redrive-e2e-"));
        server.#settings = { GATEWAY_URL: gateway.url, WORKER_LEASE_TTL_SEC: "2", ...settings };
        await server.up("127.0.0.1:0");
        return server;
    }

    /** Starts it again with a clock that is so much ahead (`+20m`). */
    async later(offset) {
        const places = await readdir("/usr/lib");
        const library = places.map((place) => `/usr/lib/${place}/faketime/libfaketime.so.1`).find((path) => existsSync(path));
        if (!library) throw new Error("libfaketime is missing: ./test installs the package faketime");
        const still = { FAKETIME_DONT_FAKE_MONOTONIC: "1", DONT_FAKE_MONOTONIC: "1" };
        await this.up(undefined, { LD_PRELOAD: library, FAKETIME: offset, ...still });
    }

    /** Starts it again, at the same address with the same data. */
    async up(listen = new URL(this.url).host, other = {}) {
        const env = { PATH: process.env.PATH, HOME: this.#folder, ...this.#settings, ...other };
        const child = spawn(binary, ["serve", "--listen", listen], { cwd: this.#folder, env });
        this.#process = child;
        let said = "";
        child.stderr.on("data", (text) => (said += text));
        this.url = await new Promise((found, failed) => {
            child.stdout.on("data", (text) => {
                said += text;
                const line = /listening on (http:\/\/\S+)/.exec(said);
                if (line) found(line[1]);
            });
            child.once("exit", (code) => failed(new Error(`it ended with ${code}: ${said}`)));
        });
    }

    /** Ends it as a power cut would. */
    async kill() {
        const gone = once(this.#process, "exit");
        this.#process.kill("SIGKILL");
        await gone;
    }

    async stop() {
        if (this.#process.exitCode === null && this.#process.signalCode === null) await this.kill();
        await rm(this.#folder, { recursive: true, force: true });
    }
}
