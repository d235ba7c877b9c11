//! The bytes around the files of a ZIP: plain entries, names in UTF-8, nothing compressed.

use bytes::Bytes;
use redrive_model::Timestamp;

/// Names are UTF-8.
const UTF8: u16 = 1 << 11;
const VERSION: u16 = 20;

/// What is known of a file before its bytes.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) at: Timestamp,
    pub(super) checksum: u32,
    pub(super) size: u32,
}

/// What stands at the end of the file, growing with its entries.
#[derive(Debug, Default)]
pub(super) struct Directory {
    bytes: Vec<u8>,
    entries: u16,
    /// Where the next entry begins.
    offset: u32,
}

impl Directory {
    /// The bytes in front of a file.
    pub(super) fn begin(&mut self, entry: &Entry) -> Bytes {
        let name = entry.name.as_bytes();
        let mut common = Vec::new();
        for number in [VERSION, UTF8, 0, time(entry.at), date(entry.at)] {
            common.extend(number.to_le_bytes());
        }
        for number in [entry.checksum, entry.size, entry.size] {
            common.extend(number.to_le_bytes());
        }
        common.extend(u16::try_from(name.len()).unwrap_or(u16::MAX).to_le_bytes());
        common.extend(0u16.to_le_bytes());

        let mut front = 0x0403_4b50_u32.to_le_bytes().to_vec();
        front.extend(&common);
        front.extend(name);

        self.bytes.extend(0x0201_4b50_u32.to_le_bytes());
        self.bytes.extend(VERSION.to_le_bytes());
        self.bytes.extend(&common);
        // No comment, first disk, no attributes inside or outside.
        self.bytes.extend([0; 10]);
        self.bytes.extend(self.offset.to_le_bytes());
        self.bytes.extend(name);
        self.entries = self.entries.saturating_add(1);
        let length = u32::try_from(front.len()).unwrap_or(u32::MAX);
        self.offset = self.offset.saturating_add(length).saturating_add(entry.size);
        front.into()
    }

    /// The bytes behind the last file.
    pub(super) fn end(mut self) -> Bytes {
        let length = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        self.bytes.extend(0x0605_4b50_u32.to_le_bytes());
        self.bytes.extend([0; 4]);
        self.bytes.extend(self.entries.to_le_bytes());
        self.bytes.extend(self.entries.to_le_bytes());
        self.bytes.extend(length.to_le_bytes());
        self.bytes.extend(self.offset.to_le_bytes());
        self.bytes.extend([0; 2]);
        self.bytes.into()
    }
}

/// The format's own time, in steps of two seconds, in UTC.
fn time(at: Timestamp) -> u16 {
    let at = at.to_zoned(jiff::tz::TimeZone::UTC);
    let part = |n: i8| u16::try_from(n).unwrap_or(0);
    (part(at.hour()) << 11) | (part(at.minute()) << 5) | (part(at.second()) / 2)
}

/// The format's own date, from 1980 on.
fn date(at: Timestamp) -> u16 {
    let at = at.to_zoned(jiff::tz::TimeZone::UTC);
    let part = |n: i8| u16::try_from(n).unwrap_or(1);
    let year = u16::try_from(at.year().saturating_sub(1980)).unwrap_or(0).min(127);
    (year << 9) | (part(at.month()) << 5) | part(at.day())
}
