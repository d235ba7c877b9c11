// Sends files, a few at a time, with a bar for each and a sentence for each that fails. Without this file the form does the
// same by itself, without bars.
"use strict";
(() => {
    const AT_ONCE = 3;
    const TRIES = 5;
    // More lines than this about files that went well are folded into one: their states are in the table below.
    const LINES = 5;
    const at = (id) => document.getElementById(id);
    const form = at("upload");
    const input = at("file");
    const list = at("files");
    const drop = at("drop");
    const waiting = [];
    const advice = new Map();
    let running = 0;
    let sent = { done: 0, refused: 0 };

    // --- one line per file ------------------------------------------------------------------------------------------

    function make(tag, properties, ...children) {
        const element = Object.assign(document.createElement(tag), properties);
        element.append(...children);
        return element;
    }

    function line(file) {
        const bar = make("progress", { max: 1, value: 0 });
        const words = make("p", { className: "fine", textContent: "Waits for its turn." });
        const name = make("bdi", { className: "name", textContent: file.name });
        bar.setAttribute("aria-label", `Upload of ${file.name}`);
        const item = make("li", {}, name, bar, words);
        list.append(item);
        return { file, item, bar, words, mapping: at("mapping").value, tries: 0 };
    }

    // Puts lines that went well away when they are many, so that those which need a person are seen.
    function fold() {
        const good = [...list.querySelectorAll(":scope > li.is-good")];
        let folded = at("folded");
        if (!folded && good.length <= LINES) return;
        if (!folded) {
            folded = make("li", { id: "folded" }, make("details", {}, make("summary", {}), make("ul", { className: "files" })));
            list.prepend(folded);
        }
        const inner = folded.querySelector("ul");
        inner.append(...good);
        folded.querySelector("summary").textContent = `${inner.children.length} files uploaded`;
    }

    function end(one, className, ...words) {
        one.item.className = className;
        one.bar.remove();
        one.words.className = className === "is-bad" ? "why" : "fine";
        one.words.replaceChildren(...words);
    }

    function link(href, text) {
        return make("a", { href, textContent: text });
    }

    async function whatToDo(code) {
        if (!advice.has(code)) {
            const ask = fetch(`/api/failures/${encodeURIComponent(code)}`)
                .then((answer) => (answer.ok ? answer.json() : {}))
                .then((entry) => entry.what_you_can_do ?? "")
                .catch(() => "");
            advice.set(code, ask);
        }
        return advice.get(code);
    }

    async function refused(one, sentence, code) {
        sent.refused += 1;
        const more = await whatToDo(code);
        end(one, "is-bad", `${sentence} ${more} `, link(`/failures/${code}`, code));
    }

    // --- the queue --------------------------------------------------------------------------------------------------

    function take(files) {
        for (const file of files) {
            waiting.push(line(file));
        }
        next();
    }

    function next() {
        while (running < AT_ONCE && waiting.length) {
            running += 1;
            send(waiting.shift());
        }
        if (running === 0 && sent.done + sent.refused > 0) {
            at("said").textContent = `${sent.done} sent, ${sent.refused} refused.`;
            sent = { done: 0, refused: 0 };
        }
    }

    function over() {
        running -= 1;
        next();
    }

    function send(one) {
        const request = new XMLHttpRequest();
        // A file over the limit would be refused after a long time: it is only told of, and leaves the same row.
        const isTooLarge = one.file.size > Number(form.dataset.most);
        const body = isTooLarge ? new URLSearchParams({ name: one.file.name, bytes: one.file.size }) : new FormData();
        body.append("mapping", one.mapping);
        if (!isTooLarge) body.append("file", one.file);
        one.words.textContent = "Is being sent.";
        request.upload.addEventListener("progress", (event) => {
            if (event.lengthComputable) one.bar.value = event.loaded / event.total;
        });
        request.upload.addEventListener("load", () => {
            one.words.textContent = "Sent; waits for the answer.";
        });
        request.addEventListener("load", () => answered(one, request).finally(over));
        request.addEventListener("error", () => {
            if (isTooLarge) refused(one, form.dataset.tooLarge, "TOO_LARGE");
            else broken(one);
            over();
        });
        request.open("POST", isTooLarge ? "/upload/unsent" : "/api/upload");
        request.setRequestHeader("Accept", "application/json");
        request.send(body);
    }

    async function answered(one, request) {
        let answer = {};
        try {
            answer = JSON.parse(request.responseText);
        } catch {
            // Something between us and the server answered.
        }
        if (request.status < 300 && answer.job) {
            sent.done += 1;
            const where = link(`/jobs/${answer.job.id}`, answer.deduped_from ? "see the earlier job" : "follow it");
            const words = answer.deduped_from ? "You have this already: " : "Uploaded: ";
            end(one, answer.deduped_from ? "is-off" : "is-good", words, where);
            return fold();
        }
        const wait = answer.retry_after_ms;
        if (wait && one.tries < TRIES) {
            one.tries += 1;
            one.bar.value = 0;
            one.words.textContent = `${answer.detail} It is sent again by itself.`;
            setTimeout(() => {
                waiting.push(one);
                next();
            }, Math.min(wait, 60_000));
            return;
        }
        await refused(one, answer.detail ?? "The server did not answer as it should.", answer.code ?? "UNKNOWN");
    }

    // The same file twice is one job: sending it again is safe.
    function broken(one) {
        const button = make("button", { type: "button", className: "quiet", textContent: "Send it again" });
        const bar = one.bar;
        button.addEventListener("click", () => {
            const words = make("p", { className: "fine" });
            one.item.className = "";
            bar.value = 0;
            one.words.replaceWith(bar, words);
            Object.assign(one, { bar, words });
            waiting.push(one);
            next();
        });
        sent.refused += 1;
        end(one, "is-bad", "The connection broke, or the file cannot be read. ", button);
    }

    // --- choosing and dropping --------------------------------------------------------------------------------------

    at("choose").addEventListener("click", () => input.click());
    input.addEventListener("change", () => {
        take([...input.files]);
        input.value = "";
    });

    const carriesFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");

    document.addEventListener("dragover", (event) => {
        if (!carriesFiles(event)) return;
        event.preventDefault();
        drop.classList.add("is-over");
    });
    document.addEventListener("dragleave", (event) => {
        if (!event.relatedTarget) drop.classList.remove("is-over");
    });
    document.addEventListener("drop", (event) => {
        if (!carriesFiles(event)) return;
        event.preventDefault();
        drop.classList.remove("is-over");
        const isFolder = (item) => item.webkitGetAsEntry?.()?.isDirectory;
        const items = [...event.dataTransfer.items].filter((item) => item.kind === "file");
        at("oops").textContent = items.some(isFolder) ? "Folders are not taken: drop the files that are in it." : "";
        take(items.filter((item) => !isFolder(item)).map((item) => item.getAsFile()).filter(Boolean));
    });

    window.addEventListener("beforeunload", (event) => {
        if (running + waiting.length > 0) event.preventDefault();
    });
})();
