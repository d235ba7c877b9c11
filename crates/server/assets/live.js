// Keeps a page fresh: says when the connection is lost, refreshes when it is back, keeps the focus where it was, and tells
// screen readers what matters. The pieces themselves are fetched by htmx, as the page's attributes say.
"use strict";
(() => {
    const at = (id) => document.getElementById(id);
    const live = at("live");
    if (!live || !window.htmx) return;

    // --- the connection ---------------------------------------------------------------------------------------------

    const SILENCE = 35_000;
    let connection, lostTimer, watchdog, again;

    function missing() {
        clearTimeout(watchdog);
        // A tab that comes back from the background connects anew: that is no loss.
        lostTimer ??= setTimeout(() => {
            at("lost").textContent = "The connection to the server is lost. Your jobs go on; this page catches up by itself.";
        }, 1_000);
    }

    function heard() {
        clearTimeout(watchdog);
        watchdog = setTimeout(() => {
            missing();
            connection?.reader?.cancel();
        }, SILENCE);
    }

    function refresh() {
        window.htmx.trigger(live, "jobs");
        window.htmx.trigger(live, "banner");
    }

    function comeAgain() {
        missing();
        clearTimeout(again);
        again = setTimeout(() => window.htmx.trigger(live, "again"), 2_000);
    }

    live.addEventListener("htmx:sse:before:connection", (event) => {
        if (event.detail.connection.attempt > 0) missing();
    });
    live.addEventListener("htmx:sse:error", missing);
    live.addEventListener("htmx:sse:close", comeAgain);
    live.addEventListener("htmx:error", comeAgain);
    live.addEventListener("htmx:response:error", comeAgain);
    live.addEventListener("htmx:sse:before:message", heard);
    live.addEventListener("htmx:sse:after:connection", (event) => {
        connection = event.detail.connection;
        clearTimeout(lostTimer);
        lostTimer = undefined;
        at("lost").textContent = "";
        heard();
        // What happened since the page was made, or while nobody listened.
        refresh();
    });

    // --- what was refused -------------------------------------------------------------------------------------------

    function oops(text) {
        at("oops").textContent = text;
    }

    function sentence(text) {
        try {
            const problem = JSON.parse(text);
            return problem.detail || problem.title;
        } catch {
            return "Something went wrong on our side. Try again in a moment.";
        }
    }

    const isAct = (event) => event.detail.ctx.request.method !== "GET";

    document.addEventListener("htmx:response:error", (event) => {
        if (event.target === live) return;
        if (isAct(event)) oops(sentence(event.detail.ctx.text));
        const status = event.detail.ctx.response.status;
        if (!isAct(event) && (status === 403 || status === 404)) oops("This is not there any more. Reload the page.");
        if (isAct(event) || status === 429 || status >= 500) setTimeout(refresh, isAct(event) ? 0 : 2_000);
    });
    document.addEventListener("htmx:error", (event) => {
        if (event.target !== live && event.detail.ctx && isAct(event)) {
            oops("The server cannot be reached, so nothing was changed. Try again when the connection is back.");
        }
    });
    document.addEventListener("htmx:before:request", (event) => {
        if (isAct(event)) oops("");
    });
    // Whoever goes on has read it.
    document.addEventListener("pointerdown", () => oops(""));

    // --- focus, title, announcements --------------------------------------------------------------------------------

    let focused, numbers, shut, ran;
    let opened = [];

    function announce(text) {
        at("said").textContent = text;
    }

    document.addEventListener("htmx:before:swap", () => {
        const element = document.activeElement;
        const job = element?.closest?.("[data-job]");
        focused = job && { element: element.id, job: job.id };
        opened = [...document.querySelectorAll("details[open]")].map(kind);
    });

    const kind = (details) => details.className || details.parentElement.id;

    // The server does not know what the reader has opened.
    function keepOpen() {
        for (const details of document.querySelectorAll("details:not([open])")) {
            if (opened.includes(kind(details))) details.open = true;
        }
    }

    // What had the focus may be gone, a Retry for example: its job keeps it.
    function keepFocus() {
        const lost = !document.activeElement || document.activeElement === document.body;
        if (!focused || !lost) return;
        const job = at(focused.job);
        const target = at(focused.element) ?? job?.querySelector("a.name") ?? job?.querySelector("h1");
        if (!target) return;
        if (target.tabIndex < 0) target.tabIndex = -1;
        target.focus({ preventScroll: true });
    }

    function tell(jobs) {
        const [active, complete, failed] = ["active", "complete", "failed"].map((name) => Number(jobs.dataset[name]));
        if (numbers && numbers.active > 0 && active === 0) {
            announce(`All jobs have ended: ${complete} complete, ${failed} failed.`);
        } else if (numbers && failed > numbers.failed) {
            announce(`${failed - numbers.failed} more failed.`);
        }
        numbers = { active, failed };
    }

    function tellBatch(batch) {
        const runs = batch.hasAttribute("hx-trigger");
        if (ran && !runs) announce(`The batch has ended. ${batch.dataset.title}.`);
        ran = runs;
    }

    function tellBanner() {
        const now = document.querySelector("#banner strong")?.textContent ?? "";
        if (shut !== undefined && shut !== now) announce(now || "Jobs resume.");
        shut = now;
    }

    function fresh() {
        keepFocus();
        keepOpen();
        const jobs = at("jobs");
        const shown = at("upload") ? null : (at("job") ?? at("batch") ?? at("overview") ?? jobs);
        if (shown?.dataset.title) document.title = `${shown.dataset.title} · Redrive`;
        if (jobs) tell(jobs);
        if (at("batch")) tellBatch(at("batch"));
        tellBanner();
        document.dispatchEvent(new Event("fresh"));
    }

    document.addEventListener("htmx:after:swap", fresh);
    fresh();

    // --- many results at once ---------------------------------------------------------------------------------------

    const boxes = () => [...document.querySelectorAll('input[name="ids"]')];

    document.addEventListener("click", (event) => {
        if (!event.target.closest?.("#pick-all")) return;
        const all = boxes();
        const every = all.every((box) => box.checked);
        for (const box of all) box.checked = !every;
    });
    document.addEventListener("submit", (event) => {
        if (event.target.id !== "zip" || boxes().some((box) => box.checked)) return;
        event.preventDefault();
        oops("Tick the results that you want first.");
    });
})();
