// Times in the reader's own zone, and countdowns. Nothing else depends on this file.
"use strict";
(() => {
    document.documentElement.classList.add("js");

    const short = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
    const today = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
    const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
    const ends = new WeakMap();

    function say(element, text) {
        if (element.textContent !== text) element.textContent = text;
    }

    function times() {
        for (const element of document.querySelectorAll("time[data-time]")) {
            const at = new Date(element.dateTime);
            if (Number.isNaN(at.getTime())) continue;
            const isToday = at.toDateString() === new Date().toDateString();
            say(element, (element.dataset.time === "exactly" ? exact : isToday ? today : short).format(at));
            element.title = at.toISOString();
        }
    }

    function two(large, largeName, small, smallName) {
        return small ? `${large} ${largeName} ${small} ${smallName}` : `${large} ${largeName}`;
    }

    function span(seconds) {
        if (seconds < 60) return `${seconds} s`;
        if (seconds < 3600) return two(Math.floor(seconds / 60), "min", seconds % 60, "s");
        if (seconds < 86400) return two(Math.floor(seconds / 3600), "h", Math.floor((seconds % 3600) / 60), "min");
        return two(Math.floor(seconds / 86400), "d", Math.floor((seconds % 86400) / 3600), "h");
    }

    // The server says how much time is left, so that a wrong clock here does no harm.
    function countdowns() {
        const now = performance.now();
        for (const element of document.querySelectorAll("time[data-left]")) {
            const key = `${element.dataset.left} ${element.dateTime}`;
            if (ends.get(element)?.key !== key) ends.set(element, { key, end: now + Number(element.dataset.left) });
            const seconds = Math.ceil((ends.get(element).end - now) / 1000);
            say(element, seconds > 0 ? `in ${span(seconds)}` : "now");
        }
    }

    function all() {
        times();
        countdowns();
    }

    document.addEventListener("fresh", all);
    all();
    setInterval(countdowns, 250);
})();
