//! A digest: one mail for one owner about everything that failed, goes on failing, recovered or was given up.
//!
//! Pure: entries in, a [`Letter`] out, or nothing when there is nothing to tell. Which documents are told, and that they are told once, is
//! the caller's business. Names are cleaned here; a group's sentence comes from the registry.

mod entries;
mod group;
mod html;
mod text;

use jiff::tz::TimeZone;
use redrive_model::Timestamp;
use url::Url;

pub use entries::{Entry, Kind};
use group::Section;

use crate::shown;

/// What a digest is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Digest {
    /// What it is about, at the end of the subject: `intake`.
    pub about: String,
    /// Whose files they are.
    pub owner: String,
    /// What there is to tell.
    pub entries: Vec<Entry>,
    /// When it is made.
    pub made: Timestamp,
    /// When the one before was.
    pub since: Option<Timestamp>,
    /// In which zone times are told.
    pub zone: TimeZone,
    /// So many names are listed for a cause; the others are counted.
    pub most_names: usize,
    /// Where the pages are: `https://redrive.example`. Without it, or with something that is no web address, there are no links.
    pub base_url: Option<String>,
    /// The page with all of them, below the base: `/intake`.
    pub page: Option<String>,
}

/// A mail without its address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    /// One line.
    pub subject: String,
    /// Lines of at most 76 characters, but for addresses of pages.
    pub text: String,
    /// A whole page; it asks nobody for anything.
    pub html: String,
}

/// Writes a digest; nothing when there is nothing to tell.
#[must_use]
pub fn letter(digest: &Digest) -> Option<Letter> {
    if digest.entries.is_empty() {
        return None;
    }
    let sections = group::sections(digest);
    let subject = format!("{} — {}", counts(digest), shown::line(&digest.about, 40));
    let letter = Written { digest, sections: &sections, subject: &subject };
    Some(Letter { text: text::write(&letter), html: html::write(&letter), subject: subject.clone() })
}

/// What both forms are written from.
struct Written<'a> {
    digest: &'a Digest,
    sections: &'a [Section<'a>],
    subject: &'a str,
}

impl Written<'_> {
    /// For whom, and about which time.
    fn occasion(&self) -> String {
        let (digest, zone) = (self.digest, &self.digest.zone);
        let owner = shown::line(&digest.owner, 60);
        match digest.since {
            Some(since) => {
                let (since, made) = (shown::minute(since, zone), shown::instant(digest.made, zone));
                format!("Files of {owner}, {since} to {made}")
            }
            None => format!("Files of {owner}, {}", shown::instant(digest.made, zone)),
        }
    }
}

/// `3 new failures, 1 recovered, 2 given up`.
fn counts(digest: &Digest) -> String {
    let count = |kind: Kind| digest.entries.iter().filter(|entry| entry.kind == kind).count() as u64;
    let told = Kind::ALL.iter().map(|&kind| (kind, count(kind))).filter(|(_, count)| *count > 0);
    told.map(|(kind, count)| kind.counted(count)).collect::<Vec<_>>().join(", ")
}

/// A page of ours. A path that would lead to another host leads nowhere.
fn link(digest: &Digest, path: &str) -> Option<String> {
    let base = Url::parse(digest.base_url.as_deref()?).ok()?;
    if !matches!(base.scheme(), "http" | "https") || !path.starts_with('/') {
        return None;
    }
    let whole = Url::parse(&format!("{}{path}", base.as_str().trim_end_matches('/'))).ok()?;
    (whole.origin() == base.origin()).then(|| whole.to_string())
}

#[cfg(test)]
mod tests;
