//! TEI and DocBook: running text in divisions. A division that goes on over the end of a part has ended there, and how deep the next one was
//! meant cannot be told any more; so each part is a division of its own, which says its pages.

use std::io::Write;

use quick_xml::events::{BytesStart, Event};

use super::read::{Reading, Tag, attribute, inner, name, write};
use super::{Parts, Unjoined};
use crate::parts::plan::Range;

/// Everything within `TEI`: the header of the first part, and every part's body.
pub(super) fn tei(parts: &mut dyn Parts, out: &mut dyn Write) -> Result<(), Unjoined> {
    for part in 0..parts.ranges().len() {
        let Some(range) = parts.ranges().get(part).copied() else { break };
        let mut reading = Reading::of(parts, part)?;
        reading.root()?;
        let header = enter(&mut reading, "teiHeader")?;
        if part == 0 {
            element(&mut reading, &header, 1, out)?;
        } else {
            reading.skip()?;
        }
        for (depth, wanted) in [(1, "text"), (2, "body")] {
            let tag = enter(&mut reading, wanted)?;
            if part == 0 {
                blanks(out, depth)?;
                write(out, Event::Start(tag))?;
            }
        }
        let mut pages = 0_u32;
        write!(out, "\n   <div type=\"pages\" n=\"{}-{}\">", range.first, range.last)?;
        reading.copy(out, |tag| {
            pages += u32::from(name(&tag)? == "pb");
            without_id(tag)
        })?;
        out.write_all(b"</div>")?;
        if pages != range.pages() {
            return Err(Unjoined::unknown("a part has other pages than it should"));
        }
        for _ in ["text", "TEI"] {
            let Tag::End = reading.tag()? else {
                return Err(Unjoined::unknown("something follows the body"));
            };
        }
    }
    out.write_all(b"\n  </body>\n </text>")?;
    Ok(())
}

/// Everything within `article`: the description of the first part, and every part's text. DocBook has no pages: how many there are was
/// told beside the parts.
pub(super) fn docbook(parts: &mut dyn Parts, out: &mut dyn Write) -> Result<(), Unjoined> {
    for part in 0..parts.ranges().len() {
        let Some(range) = parts.ranges().get(part).copied() else { break };
        let mut reading = Reading::of(parts, part)?;
        reading.root()?;
        let info = enter(&mut reading, "info")?;
        if part == 0 {
            element(&mut reading, &info, 1, out)?;
        } else {
            reading.skip()?;
        }
        write!(out, "\n <section role=\"pages\">\n  <title>{}</title>", title(range))?;
        reading.copy(out, without_id)?;
        out.write_all(b"</section>")?;
    }
    Ok(())
}

fn title(range: Range) -> String {
    match (range.first, range.last) {
        (first, last) if first == last => format!("Page {first}"),
        (first, last) => format!("Pages {first}–{last}"),
    }
}

/// The element that must come next.
fn enter(reading: &mut Reading<'_>, wanted: &str) -> Result<BytesStart<'static>, Unjoined> {
    match reading.tag()? {
        Tag::Start(tag) if name(&tag)? == wanted => Ok(tag.into_owned()),
        Tag::Start(_) | Tag::Empty(_) | Tag::End => {
            Err(Unjoined::unknown("a part is not built as we know it"))
        }
    }
}

/// Copies an element whose tag was read.
fn element(
    reading: &mut Reading<'_>,
    tag: &BytesStart<'static>,
    depth: usize,
    out: &mut dyn Write,
) -> Result<(), Unjoined> {
    blanks(out, depth)?;
    write(out, Event::Start(tag.borrow()))?;
    reading.copy(out, Ok)?;
    write(out, Event::End(tag.to_end()))
}

/// Ids of two parts may be the same.
fn without_id(tag: BytesStart<'static>) -> Result<BytesStart<'static>, Unjoined> {
    match attribute(&tag, "xml:id")? {
        None => Ok(tag),
        Some(_) => Err(Unjoined::Unknown(format!("a part has ids: {}", inner(&tag)?))),
    }
}

fn blanks(out: &mut dyn Write, depth: usize) -> Result<(), Unjoined> {
    Ok(write!(out, "\n{:depth$}", "")?)
}
