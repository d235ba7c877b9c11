// How pages look: in both colours, in wide and narrow windows, with everything open that can be opened.

/** Every page, seen by one person. */
export async function looks(one, pages) {
    for (const [name, path] of Object.entries(pages)) {
        for (const colorScheme of ["light", "dark"]) {
            await one.page.emulateMedia({ colorScheme });
            await one.page.goto(path);
            await one.accessible(`${name} ${colorScheme}`);
            await one.fits(name);
            await one.picture(`${name}-${colorScheme}`);
        }
        // As wide as the page itself, and as half a screen.
        for (const width of [1040, 800]) {
            await one.page.setViewportSize({ width, height: 800 });
            await one.fits(`${name}, ${width} wide`);
        }
        await one.page.setViewportSize({ width: 320, height: 640 });
        await one.fits(`${name} narrow`);
        await one.accessible(`${name} narrow`);
        await one.picture(`${name}-320`);
        for (const details of await one.page.locator("details").all()) await details.evaluate((each) => (each.open = true));
        await one.fits(`${name} narrow, all open`);
        await one.accessible(`${name} narrow, all open`);
        await one.page.setViewportSize({ width: 1100, height: 800 });
    }
}
