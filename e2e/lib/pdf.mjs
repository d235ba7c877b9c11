// PDFs as small as they come. What the gateway shall do with one is written into it.

let count = 0;

/** A PDF that is like no other. `mood` is what the gateway does with it, whatever its mood in general. */
export function pdf({ mood = "", padding = 0 } = {}) {
    count += 1;
    const marks = `% ${process.pid} ${count} ${Date.now()}\n% mood=${mood};\n${" ".repeat(padding)}\n`;
    const text = `%PDF-1.4\n${marks}1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\nstartxref\n9\n%%EOF\n`;
    return Buffer.from(text, "latin1");
}

/** As a file that a page can choose. */
export function file(name, options) {
    return { name, mimeType: "application/pdf", buffer: pdf(options) };
}
