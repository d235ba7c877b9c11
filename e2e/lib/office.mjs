// A folder of people, and an operator who looks at it.

import { existsSync, mkdtempSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after } from "node:test";

const TOKEN = "token-of-the-operators";

export class Office {
    constructor() {
        this.folder = mkdtempSync(join(tmpdir(), "redrive-e2e-office-"));
        after(() => rm(this.folder, { recursive: true, force: true }));
    }

    /** The settings of a server that works on it, in a hurry. */
    get settings() {
        return { INTAKE_URL: `file://${this.folder}`, INTAKE_INTERVAL_SEC: "1", INTAKE_MAX_RETRIES: "1", RETRY_BASE_DELAY_MS: "50", RETRY_JITTER_MAX_MS: "0", CIRCUIT_CONSECUTIVE: "0", OPERATOR_TOKEN: TOKEN };
    }

    /** Puts a file into the queue, whole. */
    async put(path, bytes) {
        const [file, draft] = [join(this.folder, "queue", path), join(this.folder, "queue", ".draft")];
        await mkdir(dirname(file), { recursive: true });
        await writeFile(draft, bytes);
        await rename(draft, file);
    }

    has(path) {
        return existsSync(join(this.folder, path));
    }
}

/** Signs somebody in as an operator. */
export async function signIn(one) {
    await one.page.goto("/sign-in");
    await one.page.getByLabel("Code or operator token").fill(TOKEN);
    await one.page.getByRole("button", { name: "Sign in" }).click();
    await one.page.getByRole("navigation", { name: "Operators" }).waitFor();
}
