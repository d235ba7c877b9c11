// Makes a PNG small: its colours become a palette of at most 256. Pages have few colours, so nobody sees the difference.

import { deflateSync, inflateSync } from "node:zlib";

const SIGNATURE = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");

/** The same picture with a palette. Takes what Chromium writes: eight bits a channel, not interlaced. */
export function palette(png) {
    const { width, height, pixels } = decode(png);
    const counts = new Map();
    for (let at = 0; at < width * height; at += 1) {
        const colour = pixels.readUIntBE(at * 3, 3);
        counts.set(colour, (counts.get(colour) ?? 0) + 1);
    }
    // The most frequent colours stay exactly what they are; the rest, edges of letters, become the nearest of them.
    const kept = [...counts].sort((one, other) => other[1] - one[1]).slice(0, 256).map(([colour]) => colour);
    const places = new Map([...counts.keys()].map((colour) => [colour, nearest(kept, colour)]));
    const indexes = Buffer.alloc(width * height);
    for (let at = 0; at < indexes.length; at += 1) indexes[at] = places.get(pixels.readUIntBE(at * 3, 3));
    return encode(width, height, kept, indexes);
}

/** The place of the colour that is most like this one. */
function nearest(kept, colour) {
    const channels = (value) => [value >> 16, (value >> 8) & 255, value & 255];
    const wanted = channels(colour);
    let [best, place] = [Infinity, 0];
    kept.forEach((candidate, at) => {
        const apart = channels(candidate).reduce((sum, value, n) => sum + (value - wanted[n]) ** 2, 0);
        if (apart < best) [best, place] = [apart, at];
    });
    return place;
}

function decode(png) {
    let [width, height, channels, data] = [0, 0, 0, []];
    for (let at = SIGNATURE.length; at < png.length; ) {
        const [length, name] = [png.readUInt32BE(at), png.toString("latin1", at + 4, at + 8)];
        const body = png.subarray(at + 8, at + 8 + length);
        if (name === "IHDR") {
            [width, height] = [body.readUInt32BE(0), body.readUInt32BE(4)];
            channels = { 2: 3, 6: 4 }[body[9]];
            if (body[8] !== 8 || body[12] !== 0 || !channels) throw new Error("not a PNG as Chromium writes it");
        }
        if (name === "IDAT") data.push(body);
        at += length + 12;
    }
    const lines = inflateSync(Buffer.concat(data));
    const [row, pixels] = [width * channels, Buffer.alloc(width * height * 3)];
    let before = Buffer.alloc(row);
    for (let y = 0; y < height; y += 1) {
        const line = Buffer.from(lines.subarray(y * (row + 1) + 1, (y + 1) * (row + 1)));
        unfilter(lines[y * (row + 1)], line, before, channels);
        for (let x = 0; x < width; x += 1) line.copy(pixels, (y * width + x) * 3, x * channels, x * channels + 3);
        before = line;
    }
    return { width, height, pixels };
}

function unfilter(kind, line, before, channels) {
    for (let at = 0; at < line.length; at += 1) {
        const left = at < channels ? 0 : line[at - channels];
        const [up, corner] = [before[at], at < channels ? 0 : before[at - channels]];
        line[at] += [0, left, up, (left + up) >> 1, paeth(left, up, corner)][kind];
    }
}

function paeth(left, up, corner) {
    const guess = left + up - corner;
    const [a, b, c] = [left, up, corner].map((value) => Math.abs(guess - value));
    return a <= b && a <= c ? left : b <= c ? up : corner;
}

function encode(width, height, colours, indexes) {
    const head = Buffer.alloc(13);
    head.writeUInt32BE(width, 0);
    head.writeUInt32BE(height, 4);
    head.set([8, 3, 0, 0, 0], 8);
    const table = Buffer.from(colours.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]));
    const lines = Buffer.alloc((width + 1) * height);
    for (let y = 0; y < height; y += 1) indexes.copy(lines, y * (width + 1) + 1, y * width, (y + 1) * width);
    const packed = deflateSync(lines, { level: 9 });
    return Buffer.concat([SIGNATURE, chunk("IHDR", head), chunk("PLTE", table), chunk("IDAT", packed), chunk("IEND", Buffer.alloc(0))]);
}

function chunk(name, body) {
    const named = Buffer.concat([Buffer.from(name, "latin1"), body]);
    const framed = Buffer.alloc(named.length + 8);
    framed.writeUInt32BE(body.length, 0);
    named.copy(framed, 4);
    framed.writeUInt32BE(crc(named), named.length + 4);
    return framed;
}

function crc(bytes) {
    let sum = ~0;
    for (const byte of bytes) {
        sum ^= byte;
        for (let bit = 0; bit < 8; bit += 1) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
    }
    return ~sum >>> 0;
}
