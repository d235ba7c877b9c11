// An origin that does what a test wants: by its path a resource is there, gone, slow, in circles, or breaks the connection.

import { createServer } from "node:http";
import { once } from "node:events";

export class Origin {
    /** Every path that was asked for, in order. */
    asked = [];
    #server;
    #waiting = [];
    #open = new Set();
    #healed = false;

    static async start() {
        const origin = new Origin();
        origin.#server = createServer((request, response) => origin.#answer(request, response));
        origin.#server.listen(0, "127.0.0.1");
        await once(origin.#server, "listening");
        origin.port = origin.#server.address().port;
        return origin;
    }

    /** The address of a path: `right`, `gone`, `broken`, `circle`, `slow`, `slowly-gone`, each with anything behind it. */
    url(path, host = "127.0.0.1") {
        return `http://${host}:${this.port}/${path}`;
    }

    /** So many addresses of one kind. */
    urls(kind, count) {
        return Array.from({ length: count }, (_, n) => this.url(`${kind}/${n + 1}.pdf`));
    }

    /** Those of these kinds that wait are answered, and nobody asks for them in vain any more. */
    release(...kinds) {
        for (const kind of kinds) this.#open.add(kind);
        const waiting = this.#waiting.splice(0);
        for (const [request, response] of waiting) this.#late(request, response);
    }

    /** Everything is there from now on. */
    heal() {
        this.#healed = true;
    }

    async stop() {
        const closed = once(this.#server, "close");
        this.#server.close();
        this.#server.closeAllConnections();
        await closed;
    }

    #answer(request, response) {
        this.asked.push(request.url);
        if (this.#healed) return right(request, response);
        switch (request.url.split("/")[1]) {
            case "gone":
                response.writeHead(404);
                return response.end("not here");
            case "broken":
                return request.socket.resetAndDestroy();
            case "circle":
                response.writeHead(302, { location: request.url });
                return response.end();
            case "slow":
            case "slowly-gone":
                return this.#late(request, response);
            default:
                return right(request, response);
        }
    }

    #late(request, response) {
        const kind = request.url.split("/")[1];
        if (!this.#open.has(kind)) return this.#waiting.push([request, response]);
        if (kind === "slow") return right(request, response);
        response.writeHead(404);
        return response.end();
    }
}

function right(request, response) {
    response.writeHead(200, { "content-type": "application/pdf", etag: `"${request.url}"` });
    response.end(`%PDF-1.4 the content of ${request.url} `.repeat(200));
}
