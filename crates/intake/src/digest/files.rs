//! Without a mail server a digest is two files: `reports/digest/2026-03-01_jane_….txt` and `….html`.

use redrive_blob::{BlobError, Blobs, BlobsExt, Key};
use redrive_engine::{Code, Failure};

use super::frozen::Frozen;
use crate::layout::Place;

/// So much of an owner's name is part of a file's.
const NAME: usize = 60;

/// Writes both; a file that is there already and is the same is fine. Answers the key of the one for people to open.
pub(super) async fn write(
    blobs: &dyn Blobs,
    owner: &str,
    id: &str,
    frozen: &Frozen,
) -> Result<String, Failure> {
    let day = frozen.made().to_zoned(jiff::tz::TimeZone::UTC).strftime("%Y-%m-%d").to_string();
    let name = format!("digest/{day}_{}_{id}", plain(owner));
    let letter = frozen.letter();
    let mut last = String::new();
    for (ending, body) in [("txt", letter.text), ("html", letter.html)] {
        let key = Place::Reports.of(&format!("{name}.{ending}"));
        let key: Key = key.map_err(|error| Failure::new(Code::SystemInternal, error))?;
        blobs.put_bytes(&key, body.into()).await.map_err(|error: BlobError| error.failure())?;
        last = key.as_str().to_owned();
    }
    Ok(last)
}

/// A name that every file system takes, and that leads nowhere.
fn plain(owner: &str) -> String {
    let letter = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_' | '@') { c } else { '-' };
    let name: String = owner.chars().take(NAME).map(letter).collect();
    if name.is_empty() { "nobody".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owners_name_leads_nowhere_as_a_file() {
        for (owner, name) in [
            ("jane.doe", "jane-doe"),
            ("../../etc/passwd", "------etc-passwd"),
            ("a\r\n\0b", "a---b"),
            ("Jürgen@büro", "Jürgen@büro"),
            ("", "nobody"),
        ] {
            assert_eq!(plain(owner), name);
            assert!(Place::Reports.of(&format!("digest/2026-03-01_{name}_x.txt")).is_ok());
        }
        assert!(plain(&"ü".repeat(300)).len() <= 2 * NAME);
    }
}
