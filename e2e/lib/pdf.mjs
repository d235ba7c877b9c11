// PDFs as small as they come. What the gateway shall do with one is written into it.

let count = 0;

/** A PDF that is like no other. `mood` is what the gateway does with it, whatever its mood in general. */
export function pdf({ mood = "", padding = 0 } = {}) {
    count += 1;
    const marks = `% ${process.pid} ${count} ${Date.now()}\n% mood=${mood};\n${" ".repeat(padding)}\n`;
    const text = `%PDF-1.4\n${marks}1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\nstartxref\n9\n%%EOF\n`;
    return Buffer.from(text, "latin1");
}

/** One page with this text, which can be read. */
export function readable(text) {
    const shown = text.replace(/[\\()]/g, "\\$&");
    const stream = `BT /F1 10 Tf 36 700 Td (${shown}) Tj ET`;
    const objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 1200 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        `<</Length ${stream.length}>>stream\n${stream}\nendstream`,
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ];
    let [out, table] = ["%PDF-1.4\n", ""];
    for (const [n, object] of objects.entries()) {
        table += `${String(out.length).padStart(10, "0")} 00000 n \n`;
        out += `${n + 1} 0 obj${object}endobj\n`;
    }
    const xref = `xref\n0 6\n0000000000 65535 f \n${table}trailer<</Root 1 0 R/Size 6>>\nstartxref\n${out.length}\n%%EOF\n`;
    return Buffer.from(out + xref, "latin1");
}

/** As a file that a page can choose. */
export function file(name, options) {
    return { name, mimeType: "application/pdf", buffer: pdf(options) };
}
