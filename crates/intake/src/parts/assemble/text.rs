//! Our own vocabulary: fonts once, pages one after the other, words that point at the fonts.

use std::io::Write;

use super::read::{Reading, Tag, attribute, name};
use super::table::{Table, with};
use super::{Parts, Unjoined};

/// Everything within the root element.
pub(super) fn join(parts: &mut dyn Parts, out: &mut dyn Write) -> Result<(), Unjoined> {
    let mut fonts = Table::default();
    for part in 0..parts.ranges().len() {
        fonts.begin();
        let mut reading = Reading::of(parts, part)?;
        reading.root()?;
        if let Tag::Start(tag) = reading.tag()?
            && name(&tag)? == "fonts"
        {
            while let Tag::Empty(font) = reading.tag()? {
                fonts.add(&font, "id")?;
            }
        }
    }
    if fonts.len() > usize::from(u16::MAX) {
        return Err(Unjoined::unknown("they have too many fonts"));
    }
    fonts.write(out, "fonts", "id", |at| at.to_string())?;
    for part in 0..parts.ranges().len() {
        pages(parts, part, &fonts, out)?;
    }
    Ok(())
}

fn pages(parts: &mut dyn Parts, part: usize, fonts: &Table, out: &mut dyn Write) -> Result<(), Unjoined> {
    let Some(range) = parts.ranges().get(part).copied() else { return Ok(()) };
    let mut wanted = range.first..=range.last;
    let mut reading = Reading::of(parts, part)?;
    reading.root()?;
    loop {
        let (tag, is_empty) = match reading.tag()? {
            Tag::Start(tag) => (tag.into_owned(), false),
            Tag::Empty(tag) => (tag.into_owned(), true),
            Tag::End => break,
        };
        match name(&tag)? {
            "fonts" if !is_empty => reading.skip()?,
            "page" => {
                let number = attribute(&tag, "number")?.and_then(|number| number.parse().ok());
                if number.is_none() || number != wanted.next() {
                    return Err(Unjoined::unknown("a part has other pages than it should"));
                }
                out.write_all(b"\n ")?;
                if is_empty {
                    super::read::write(out, quick_xml::events::Event::Empty(tag))?;
                    continue;
                }
                super::read::write(out, quick_xml::events::Event::Start(tag))?;
                reading.copy(out, |tag| match (name(&tag)?, attribute(&tag, "font")?) {
                    ("word", Some(font)) => with(&tag, "font", &fonts.find(part, &font)?.to_string()),
                    _ => Ok(tag),
                })?;
                out.write_all(b"</page>")?;
            }
            _ => return Err(Unjoined::unknown("a part has an element that we do not know")),
        }
    }
    if wanted.next().is_some() {
        return Err(Unjoined::unknown("a part has fewer pages than it should"));
    }
    Ok(())
}
