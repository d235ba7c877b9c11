//! ALTO: one description, styles and tags once, pages one after the other. Ids of pages and of what is on them follow the number of the
//! page, so that they are those of a conversion of the whole.

use std::collections::HashMap;
use std::io::Write;

use quick_xml::events::{BytesStart, Event};

use super::read::{Reading, Tag, attribute, changed, inner, name, write};
use super::table::Table;
use super::{Parts, Unjoined};

/// Attributes that point at something, and that we do not follow.
const UNFOLLOWED: [&str; 4] = ["PROCESSINGREFS", "IDNEXT", "REF", "OTHERREFS"];

/// What stands before the pages.
#[derive(Default)]
struct Head {
    description: Option<Vec<u8>>,
    styles: Table,
    /// In the order in which the parts first have them.
    tags: Vec<String>,
    tag_ids: HashMap<String, String>,
}

/// Everything within the root element.
pub(super) fn join(parts: &mut dyn Parts, out: &mut dyn Write) -> Result<(), Unjoined> {
    let mut head = Head::default();
    for part in 0..parts.ranges().len() {
        head.read(&mut Reading::of(parts, part)?)?;
    }
    out.write_all(head.description.as_deref().unwrap_or_default())?;
    head.styles.write(out, "Styles", "ID", |at| format!("s{}", at + 1))?;
    if !head.tags.is_empty() {
        out.write_all(b"\n <Tags>")?;
        for tag in &head.tags {
            write!(out, "\n  <{tag}/>")?;
        }
        out.write_all(b"\n </Tags>")?;
    }
    out.write_all(b"\n <Layout>")?;
    for part in 0..parts.ranges().len() {
        pages(parts, part, &head.styles, out)?;
    }
    out.write_all(b"\n </Layout>")?;
    Ok(())
}

impl Head {
    fn read(&mut self, reading: &mut Reading<'_>) -> Result<(), Unjoined> {
        self.styles.begin();
        reading.root()?;
        loop {
            let tag = match reading.tag()? {
                Tag::Start(tag) => tag.into_owned(),
                Tag::Empty(_) | Tag::End => return Err(Unjoined::unknown("a part has no layout")),
            };
            match name(&tag)? {
                "Description" => {
                    let mut description = b"\n ".to_vec();
                    write(&mut description, Event::Start(tag))?;
                    reading.copy(&mut description, Ok)?;
                    description.extend_from_slice(b"</Description>");
                    if *self.description.get_or_insert_with(|| description.clone()) != description {
                        return Err(Unjoined::unknown("their descriptions differ"));
                    }
                }
                "Styles" => {
                    while let Tag::Empty(style) = reading.tag()? {
                        self.styles.add(&style, "ID")?;
                    }
                }
                "Tags" => {
                    while let Tag::Empty(tag) = reading.tag()? {
                        self.add_tag(&tag)?;
                    }
                }
                "Layout" => return Ok(()),
                _ => return Err(Unjoined::unknown("a part has an element that we do not know")),
            }
        }
    }

    /// A tag has the name of what it means as its id: the same in every part.
    fn add_tag(&mut self, tag: &BytesStart<'_>) -> Result<(), Unjoined> {
        let Some(id) = attribute(tag, "ID")? else { return Err(Unjoined::unknown("a tag has no id")) };
        let text = inner(tag)?;
        match self.tag_ids.get(&id) {
            Some(known) if *known == text => Ok(()),
            Some(_) => Err(Unjoined::unknown("a tag means two things")),
            None => {
                self.tags.push(text.clone());
                self.tag_ids.insert(id, text);
                Ok(())
            }
        }
    }
}

fn pages(parts: &mut dyn Parts, part: usize, styles: &Table, out: &mut dyn Write) -> Result<(), Unjoined> {
    let Some(range) = parts.ranges().get(part).copied() else { return Ok(()) };
    let mut reading = Reading::of(parts, part)?;
    reading.root()?;
    loop {
        match reading.tag()? {
            Tag::Start(tag) if name(&tag)? == "Layout" => {
                if tag.attributes().next().is_some() {
                    return Err(Unjoined::unknown("its layout says something"));
                }
                break;
            }
            Tag::Start(_) => reading.skip()?,
            Tag::Empty(_) => {}
            Tag::End => return Err(Unjoined::unknown("a part has no layout")),
        }
    }
    let mut wanted = range.first..=range.last;
    let change = |tag: &BytesStart<'_>| {
        changed(tag, |key, value| match key {
            "ID" => renumbered(value, range.first).map(Some),
            "STYLEREFS" => {
                let ids = value.split_ascii_whitespace();
                let ids = ids.map(|id| styles.find(part, id).map(|at| format!("s{}", at + 1)));
                ids.collect::<Result<Vec<_>, _>>().map(|ids| Some(ids.join(" ")))
            }
            key if UNFOLLOWED.contains(&key) => {
                Err(Unjoined::unknown("a part points at something in a way that we do not follow"))
            }
            _ => Ok(None),
        })
    };
    loop {
        let (tag, is_empty) = match reading.tag()? {
            Tag::Start(tag) => (tag.into_owned(), false),
            Tag::Empty(tag) => (tag.into_owned(), true),
            Tag::End => break,
        };
        let number = attribute(&tag, "PHYSICAL_IMG_NR")?.and_then(|number| number.parse().ok());
        if name(&tag)? != "Page" || number.is_none() || number != wanted.next() {
            return Err(Unjoined::unknown("a part has other pages than it should"));
        }
        out.write_all(b"\n  ")?;
        let tag = change(&tag)?;
        if is_empty {
            write(out, Event::Empty(tag))?;
            continue;
        }
        write(out, Event::Start(tag))?;
        reading.copy(out, |tag| change(&tag))?;
        out.write_all(b"</Page>")?;
    }
    if wanted.next().is_some() {
        return Err(Unjoined::unknown("a part has fewer pages than it should"));
    }
    Ok(())
}

/// `p2b7` is the seventh block of the second page of a part that begins with page `first`.
fn renumbered(id: &str, first: u32) -> Result<String, Unjoined> {
    let unknown = || Unjoined::unknown("a part has ids that are not those of our gateway");
    let rest = id.strip_prefix('p').ok_or_else(unknown)?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (number, rest) = rest.split_at(digits);
    let number: u32 = number.parse().map_err(|_| unknown())?;
    let number = number.checked_add(first).and_then(|sum| sum.checked_sub(1)).ok_or_else(unknown)?;
    Ok(format!("p{number}{rest}"))
}
