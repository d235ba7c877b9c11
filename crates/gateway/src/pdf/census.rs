//! A look at the raw bytes before anything is parsed.
//!
//! The parser unpacks object streams and walks the page tree by itself and without limits, so the limits that protect it are
//! checked here: nesting, number of objects and pages, and how large object streams become. One pass, nothing is kept.

use super::limits::Limits;
use super::refusal::{Limit, Refusal};
use super::unpack::{self, Packing, widen};
use memchr::memmem;

/// Pages that the bytes may mention for each one that is allowed: updated files hold old versions of their pages.
const OLD_VERSIONS: u64 = 4;

/// Refuses bytes that would hurt the parser.
pub(crate) fn check(bytes: &[u8], limits: &Limits) -> Result<(), Refusal> {
    let start_of_stream = memmem::Finder::new(b"stream");
    let end_of_stream = memmem::Finder::new(b"endstream");
    let encrypted = memmem::find(bytes, b"/Encrypt").is_some();
    let mut count = Count { limits, objects: 0, pages: 0, unpacked: 0, unclosed: false };
    let mut rest = bytes;
    loop {
        let at = start_of_stream.find(rest).unwrap_or(rest.len());
        let (text, after) = rest.split_at_checked(at).unwrap_or((rest, &[]));
        count.structure(text)?;
        let Some(data) = after.get(b"stream".len()..) else { return Ok(()) };
        if text.ends_with(b"end") {
            rest = data;
            continue;
        }
        let end = end_of_stream.find(data).unwrap_or(data.len());
        let (data, after) = data.split_at_checked(end).unwrap_or((data, &[]));
        let dictionary = text.get(memmem::rfind(text, b"obj").unwrap_or(0)..).unwrap_or_default();
        if !encrypted {
            count.stream(dictionary, data)?;
        }
        rest = after.get(b"endstream".len()..).unwrap_or_default();
    }
}

struct Count<'a> {
    limits: &'a Limits,
    objects: u64,
    pages: u64,
    unpacked: u64,
    /// A string was found that never ends: parentheses mean nothing any more.
    unclosed: bool,
}

impl Count<'_> {
    /// Text between two streams: objects, dictionaries, cross references.
    fn structure(&mut self, text: &[u8]) -> Result<(), Refusal> {
        let mut depth = 0_usize;
        let mut rest = text;
        self.unclosed = false;
        while let Some((first, tail)) = rest.split_first() {
            rest = tail;
            match first {
                b'(' if !self.unclosed => match after_string(tail) {
                    Some(after) => rest = after,
                    None => self.unclosed = true,
                },
                b'[' => depth += 1,
                b'<' if tail.first() == Some(&b'<') => {
                    depth += 1;
                    rest = tail.get(1..).unwrap_or_default();
                }
                b']' => depth = depth.saturating_sub(1),
                b'>' if tail.first() == Some(&b'>') => {
                    depth = depth.saturating_sub(1);
                    rest = tail.get(1..).unwrap_or_default();
                }
                b'e' if tail.starts_with(b"ndobj") => {
                    depth = 0;
                    self.objects += 1;
                }
                b'/' if tail.starts_with(b"Page") && !tail.get(4).is_some_and(u8::is_ascii_alphanumeric) => {
                    self.pages += 1;
                }
                _ => {}
            }
            if depth > self.limits.nesting {
                return Err(Refusal::LimitExceeded(Limit::Nesting));
            }
        }
        if self.objects > self.limits.objects {
            return Err(Refusal::LimitExceeded(Limit::Objects));
        }
        if self.pages > self.limits.pages.saturating_mul(OLD_VERSIONS) {
            return Err(Refusal::TooManyPages { pages: self.pages, limit: self.limits.pages });
        }
        Ok(())
    }

    /// A stream that the parser will unpack by itself.
    fn stream(&mut self, dictionary: &[u8], data: &[u8]) -> Result<(), Refusal> {
        let objects = memmem::find(dictionary, b"ObjStm").is_some();
        if !objects && memmem::find(dictionary, b"XRef").is_none() {
            return Ok(());
        }
        let stages = stages(dictionary);
        if stages.len() > self.limits.filters {
            return Err(Refusal::LimitExceeded(Limit::Filters));
        }
        let worst = stages.iter().fold(widen(data.len()), |size, stage| match stage {
            Packing::Flate => size.saturating_mul(1032),
            Packing::Lzw => size.saturating_mul(2731),
            Packing::RunLength => size.saturating_mul(64),
            Packing::Ascii85 => size.saturating_mul(4),
            Packing::Hex | Packing::Other => size,
        });
        let inside = if objects { number(dictionary, b"/N").unwrap_or(0) } else { 0 };
        // An object is never less than a byte, so a lying count is worth no more than that.
        self.objects = self.objects.saturating_add(inside.min(worst));
        if worst > self.limits.stream_bytes {
            let data = data.strip_prefix(b"\r").unwrap_or(data);
            let data = data.strip_prefix(b"\n").unwrap_or(data);
            let size = unpack::count(data, &stages, self.limits.stream_bytes)?;
            self.unpacked = self.unpacked.saturating_add(size);
        }
        if self.unpacked > self.limits.document_bytes {
            return Err(Refusal::LimitExceeded(Limit::DocumentBytes));
        }
        Ok(())
    }
}

/// What follows a string in parentheses; nothing if it never ends, as a damaged file's may not.
fn after_string(text: &[u8]) -> Option<&[u8]> {
    let mut depth = 1_usize;
    let mut rest = text;
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        match first {
            b'\\' => rest = tail.get(1..).unwrap_or_default(),
            b'(' => depth += 1,
            b')' => {
                depth -= 1;
                if depth == 0 {
                    return Some(rest);
                }
            }
            _ => {}
        }
    }
    None
}

/// The filters that a dictionary's text names, in order.
fn stages(dictionary: &[u8]) -> Vec<Packing> {
    let Some(at) = memmem::find(dictionary, b"/Filter") else { return Vec::new() };
    let value = dictionary.get(at + b"/Filter".len()..).unwrap_or_default();
    let value = value.trim_ascii_start();
    let (list, most) = match value.strip_prefix(b"[") {
        Some(list) => (list.split(|b| *b == b']').next().unwrap_or_default(), usize::MAX),
        None => (value, 1),
    };
    let names = list.split(|b| *b == b'/').skip(1).take(most);
    names
        .map(|name| {
            if name.starts_with(b"Fl") {
                Packing::Flate
            } else if name.starts_with(b"LZW") {
                Packing::Lzw
            } else if name.starts_with(b"ASCIIHex") || name.starts_with(b"AHx") {
                Packing::Hex
            } else if name.starts_with(b"ASCII85") || name.starts_with(b"A85") {
                Packing::Ascii85
            } else if name.starts_with(b"R") {
                Packing::RunLength
            } else {
                Packing::Other
            }
        })
        .collect()
}

/// The whole number after a key in a dictionary's text.
fn number(dictionary: &[u8], key: &[u8]) -> Option<u64> {
    for at in memmem::find_iter(dictionary, key) {
        let value = dictionary.get(at + key.len()..)?;
        let text = value.trim_ascii_start();
        let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
        // `/N 5` and not `/Name`.
        if digits > 0 {
            return std::str::from_utf8(text.get(..digits)?).ok()?.parse().ok();
        }
    }
    None
}
