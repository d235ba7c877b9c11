//! Fonts and styles: each part has a list of its own, numbered from the beginning. Equal ones become one.

use std::collections::HashMap;
use std::io::Write;

use quick_xml::events::{BytesStart, Event};

use super::Unjoined;
use super::read::{attribute, changed, name, write};

/// Entries in the order in which the parts first have them, and which of them an id of a part means.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// What stands between an entry's brackets, without its id.
    order: Vec<BytesStart<'static>>,
    known: HashMap<Vec<u8>, usize>,
    parts: Vec<HashMap<String, usize>>,
}

impl Table {
    /// The next part begins.
    pub(super) fn begin(&mut self) {
        self.parts.push(HashMap::new());
    }

    /// Adds an entry of the part that began last.
    pub(super) fn add(&mut self, tag: &BytesStart<'_>, id: &str) -> Result<(), Unjoined> {
        let Some(old) = attribute(tag, id)? else { return Err(Unjoined::unknown("a style has no id")) };
        let mut rest = name(tag)?.to_owned();
        let length = rest.len();
        for each in tag.attributes() {
            let each = each.map_err(Unjoined::unknown)?;
            if each.key.into_inner() != id.as_bytes() {
                let key = std::str::from_utf8(each.key.into_inner()).map_err(Unjoined::unknown)?;
                let value = std::str::from_utf8(&each.value).map_err(Unjoined::unknown)?;
                let quote = if value.contains('"') { "'" } else { "\"" };
                rest.extend([" ", key, "=", quote, value, quote]);
            }
        }
        let next = self.order.len();
        let at = *self.known.entry(rest.clone().into_bytes()).or_insert(next);
        if at == next {
            self.order.push(BytesStart::from_content(rest, length));
        }
        match self.parts.last_mut().map(|part| part.insert(old, at)) {
            Some(None) => Ok(()),
            Some(Some(_)) | None => Err(Unjoined::unknown("two styles have one id")),
        }
    }

    /// Which entry an id of a part means.
    pub(super) fn find(&self, part: usize, id: &str) -> Result<usize, Unjoined> {
        let found = self.parts.get(part).and_then(|part| part.get(id));
        found.copied().ok_or_else(|| Unjoined::unknown("a word has a style that is not in the list"))
    }

    /// How many entries there are.
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// Writes the list, each entry with its new id as its first attribute.
    pub(super) fn write(
        &self,
        out: &mut dyn Write,
        list: &str,
        id: &str,
        named: impl Fn(usize) -> String,
    ) -> Result<(), Unjoined> {
        if self.order.is_empty() {
            return Ok(());
        }
        write!(out, "\n <{list}>")?;
        for (at, entry) in self.order.iter().enumerate() {
            out.write_all(b"\n  ")?;
            let name = name(entry)?;
            let rest = std::str::from_utf8(entry).map_err(Unjoined::unknown)?;
            let rest = rest.get(name.len()..).unwrap_or_default();
            let inner = format!("{name} {id}=\"{}\"{rest}", named(at));
            write(out, Event::Empty(BytesStart::from_content(inner, name.len())))?;
        }
        write!(out, "\n </{list}>")?;
        Ok(())
    }
}

/// A tag whose one attribute is changed.
pub(super) fn with(tag: &BytesStart<'_>, key: &str, value: &str) -> Result<BytesStart<'static>, Unjoined> {
    changed(tag, |name, _| Ok((name == key).then(|| value.to_owned())))
}
