// A gateway that does what a test wants: it converts, refuses, breaks, says nothing, or is not there at all.

import { createServer } from "node:http";
import { once } from "node:events";

const XML = `<?xml version="1.0" encoding="UTF-8"?>
<document xmlns="urn:redrive:text" pages="1">
  <page number="1" width="595" height="842">
    <block x="72" y="72" width="451" height="48">
      <line><word x="72" y="72" width="54">Quarterly</word> <word x="130" y="72" width="38">report</word></line>
      <line><word x="72" y="96" width="30">Sums</word> <word x="106" y="96" width="22">are</word> <word x="132" y="96" width="26">in</word> <word x="162" y="96" width="20">€ &amp; £</word></line>
    </block>
  </page>
</document>
`;

// What would run in a page of ours, if a browser took it for one.
const ACTIVE = `<?xml version="1.0" encoding="UTF-8"?>
<?xml-stylesheet type="text/xsl" href="/ran-a-stylesheet.xsl"?>
<?xml-stylesheet type="text/css" href="/ran-a-stylesheet.css"?>
<document xmlns="urn:redrive:text" pages="1">
  <script xmlns="http://www.w3.org/1999/xhtml">new Image().src = "/ran-a-script";</script>
  <img xmlns="http://www.w3.org/1999/xhtml" src="/ran-a-picture" onerror="new Image().src = '/ran-a-handler'"/>
</document>
`;

const MAPPINGS = [
    { name: "text", title: "Text with positions", media_type: "application/xml" },
    { name: "alto", title: "ALTO 4.4", media_type: "application/xml" },
    { name: "tei", title: "TEI P5", media_type: "application/xml" },
];

export class Gateway {
    /** What it does with files that say nothing of their own: fine, refuse, break, silent, active. */
    mood = "fine";
    /** What it does with the next calls, one after the other, before its mood counts. */
    next = [];
    /** How often it was asked to convert. */
    calls = 0;
    #server;
    #waiting = new Set();

    static async start() {
        const gateway = new Gateway();
        await gateway.up(0);
        return gateway;
    }

    get url() {
        return `http://127.0.0.1:${this.port}/`;
    }

    async up(port = this.port) {
        this.#server = createServer((request, response) => this.#answer(request, response));
        this.#server.listen(port, "127.0.0.1");
        await once(this.#server, "listening");
        this.port = this.#server.address().port;
    }

    /** Nobody is there any more; whoever waits for an answer gets none. */
    async down() {
        const closed = once(this.#server, "close");
        this.#server.close();
        this.#server.closeAllConnections();
        await closed;
    }

    /** Changes the mood; those that wait are answered by it. */
    become(mood) {
        this.mood = mood;
        const waiting = [...this.#waiting];
        this.#waiting.clear();
        for (const answer of waiting) answer();
    }

    async #answer(request, response) {
        const chunks = [];
        try {
            for await (const chunk of request) chunks.push(chunk);
        } catch {
            return;
        }
        if (request.url === "/mappings") return json(response, 200, MAPPINGS);
        if (request.url === "/health") return json(response, 200, { status: "ok" });
        if (request.url.startsWith("/inspect")) return json(response, 400, { code: "invalid_pdf" }, "application/problem+json");
        this.calls += 1;
        const own = /mood=(\w*);/.exec(Buffer.concat(chunks).toString("latin1"))?.[1];
        this.#convert(own || this.next.shift(), response);
    }

    #convert(own, response) {
        switch (own || this.mood) {
            case "refuse":
                return json(response, 400, { code: "invalid_pdf", detail: "secret /srv/path" }, "application/problem+json");
            case "password":
                return json(response, 400, { code: "password_required" }, "application/problem+json");
            case "break":
                return json(response, 500, { detail: "stack trace" });
            case "empty":
                response.writeHead(200, { "content-type": "application/xml", "x-warnings": "no-text-layer" });
                return response.end("<document/>");
            case "active":
                response.writeHead(200, { "content-type": "application/xml", "x-pages": "1" });
                return response.end(ACTIVE);
            case "silent":
                this.#waiting.add(() => this.#convert(own === "silent" ? "" : own, response));
                return undefined;
            default:
                response.writeHead(200, { "content-type": "application/xml", "x-pages": "1" });
                return response.end(XML);
        }
    }
}

function json(response, status, body, type = "application/json") {
    response.writeHead(status, { "content-type": type });
    response.end(JSON.stringify(body));
}
