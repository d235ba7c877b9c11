//! One part, read event by event, and the few things that every vocabulary asks of it.

use std::io::{BufRead, Write};

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, Writer};

use super::{Parts, Unjoined};

/// A part on its way in.
pub(super) struct Reading<'a> {
    reader: Reader<Box<dyn BufRead + 'a>>,
    buffer: Vec<u8>,
}

impl<'a> Reading<'a> {
    /// Opens a part.
    pub(super) fn of(parts: &'a mut dyn Parts, part: usize) -> Result<Self, Unjoined> {
        let mut reader = Reader::from_reader(parts.open(part)?);
        reader.config_mut().enable_all_checks(true);
        Ok(Self { reader, buffer: Vec::new() })
    }

    /// What comes next.
    pub(super) fn next(&mut self) -> Result<Event<'_>, Unjoined> {
        self.buffer.clear();
        match self.reader.read_event_into(&mut self.buffer) {
            Ok(event) => Ok(event),
            Err(quick_xml::Error::Io(error)) => Err(std::io::Error::new(error.kind(), error).into()),
            Err(error) => Err(Unjoined::unknown(error)),
        }
    }

    /// Goes to the root element, and answers what stands between its brackets.
    pub(super) fn root(&mut self) -> Result<String, Unjoined> {
        loop {
            match self.next()? {
                Event::Start(tag) => return inner(&tag),
                Event::Eof | Event::Empty(_) => return Err(Unjoined::unknown("one of them is empty")),
                Event::Decl(_) | Event::Comment(_) | Event::PI(_) | Event::Text(_) => {}
                _ => return Err(Unjoined::unknown("something stands before the root element")),
            }
        }
    }

    /// The next tag, where nothing but blanks stands between tags. An end has no name that anybody needs.
    pub(super) fn tag(&mut self) -> Result<Tag<'_>, Unjoined> {
        loop {
            // The borrow of an event that is not answered ends here.
            self.buffer.clear();
            let event = match self.reader.read_event_into(&mut self.buffer) {
                Ok(event) => event.into_owned(),
                Err(quick_xml::Error::Io(error)) => {
                    return Err(std::io::Error::new(error.kind(), error).into());
                }
                Err(error) => return Err(Unjoined::unknown(error)),
            };
            match event {
                Event::Start(tag) => return Ok(Tag::Start(tag)),
                Event::Empty(tag) => return Ok(Tag::Empty(tag)),
                Event::End(_) => return Ok(Tag::End),
                Event::Eof => return Err(Unjoined::unknown("one of them breaks off")),
                Event::Text(text) if text.iter().all(u8::is_ascii_whitespace) => {}
                Event::Comment(_) => {}
                _ => return Err(Unjoined::unknown("there is text where none is expected")),
            }
        }
    }

    /// Copies what comes, up to and without the end of the element that is open; every tag passes through `change` first.
    pub(super) fn copy(
        &mut self,
        out: &mut dyn Write,
        mut change: impl FnMut(BytesStart<'static>) -> Result<BytesStart<'static>, Unjoined>,
    ) -> Result<(), Unjoined> {
        let mut depth = 0_usize;
        loop {
            match self.next()? {
                Event::Start(tag) => {
                    depth += 1;
                    let tag = change(tag.into_owned())?;
                    write(out, Event::Start(tag))?;
                }
                Event::Empty(tag) => {
                    let tag = change(tag.into_owned())?;
                    write(out, Event::Empty(tag))?;
                }
                Event::End(_) if depth == 0 => return Ok(()),
                Event::End(tag) => {
                    depth -= 1;
                    write(out, Event::End(tag))?;
                }
                Event::Eof => return Err(Unjoined::unknown("one of them breaks off")),
                event @ (Event::Text(_) | Event::CData(_) | Event::GeneralRef(_) | Event::Comment(_)) => {
                    write(out, event)?;
                }
                Event::PI(_) | Event::Decl(_) | Event::DocType(_) => {
                    return Err(Unjoined::unknown("there is an instruction among the elements"));
                }
            }
        }
    }

    /// Passes over what comes, up to the end of the element that is open.
    pub(super) fn skip(&mut self) -> Result<(), Unjoined> {
        self.copy(&mut std::io::sink(), Ok)
    }
}

/// A tag among tags.
#[derive(Debug)]
pub(super) enum Tag<'a> {
    Start(BytesStart<'a>),
    Empty(BytesStart<'a>),
    End,
}

/// Writes an event as it is.
pub(super) fn write(out: &mut dyn Write, event: Event<'_>) -> Result<(), Unjoined> {
    Ok(Writer::new(out).write_event(event)?)
}

/// What an element is called.
pub(super) fn name<'a>(tag: &'a BytesStart<'_>) -> Result<&'a str, Unjoined> {
    std::str::from_utf8(tag.name().into_inner()).map_err(Unjoined::unknown)
}

/// How long the name is at the beginning of what stands between a tag's brackets.
pub(super) fn name_length(inner: &str) -> usize {
    inner.find(|c: char| c.is_ascii_whitespace()).unwrap_or(inner.len())
}

/// What an attribute says, as it stands there.
pub(super) fn attribute(tag: &BytesStart<'_>, name: &str) -> Result<Option<String>, Unjoined> {
    for attribute in tag.attributes() {
        let attribute = attribute.map_err(Unjoined::unknown)?;
        if attribute.key.into_inner() == name.as_bytes() {
            return String::from_utf8(attribute.value.into_owned()).map(Some).map_err(Unjoined::unknown);
        }
    }
    Ok(None)
}

/// The tag with each attribute's value as `change` says; as it is where it says nothing.
pub(super) fn changed(
    tag: &BytesStart<'_>,
    mut change: impl FnMut(&str, &str) -> Result<Option<String>, Unjoined>,
) -> Result<BytesStart<'static>, Unjoined> {
    let mut inner = name(tag)?.to_owned();
    let length = inner.len();
    for attribute in tag.attributes() {
        let attribute = attribute.map_err(Unjoined::unknown)?;
        let key = std::str::from_utf8(attribute.key.into_inner()).map_err(Unjoined::unknown)?;
        let value = std::str::from_utf8(&attribute.value).map_err(Unjoined::unknown)?;
        let new = change(key, value)?;
        let value = new.as_deref().unwrap_or(value);
        let quote = if value.contains('"') { '\'' } else { '"' };
        inner.extend([" ", key, "="]);
        inner.push(quote);
        inner.push_str(value);
        inner.push(quote);
    }
    Ok(BytesStart::from_content(inner, length))
}

/// What stands between the brackets of a tag.
pub(super) fn inner(tag: &BytesStart<'_>) -> Result<String, Unjoined> {
    std::str::from_utf8(tag).map(str::to_owned).map_err(Unjoined::unknown)
}
