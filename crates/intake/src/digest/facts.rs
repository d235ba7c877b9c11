//! Rows in, a letter and what it tells out. Pure.

use redrive_engine::Timestamp;
use redrive_engine::store::intake::{DigestItem, Stage, Told, ToldNow};
use redrive_notify::digest::{Digest, Entry, Kind, Letter, letter};

use super::DigestOptions;

/// So many documents are told at once; the others follow in a mail of their own.
pub(super) const MOST: usize = 4_000;
/// So many names are listed for a cause, or fewer, until the letter is no larger than this.
const NAMES: [usize; 3] = [12, 3, 0];
const LARGEST: usize = 256 * 1024;

/// A letter, and what is told when it has arrived.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Gathered {
    pub(super) letter: Letter,
    pub(super) told: Vec<ToldNow>,
    pub(super) counts: Vec<(Kind, u64)>,
    /// There may be more than was told.
    pub(super) more: bool,
}

/// Writes the letter; nothing when there is nothing to tell.
pub(super) fn gather(
    items: &[DigestItem],
    owner: &str,
    made: Timestamp,
    since: Option<Timestamp>,
    options: &DigestOptions,
) -> Option<Gathered> {
    let entries: Vec<Entry> = items.iter().map(entry).collect();
    let count = |kind: Kind| entries.iter().filter(|entry| entry.kind == kind).count() as u64;
    let counts = Kind::ALL.iter().map(|&kind| (kind, count(kind))).filter(|(_, count)| *count > 0).collect();
    let mut digest = Digest {
        about: "intake".to_owned(),
        owner: owner.to_owned(),
        entries,
        made,
        since,
        zone: options.zone.clone(),
        most_names: 0,
        base_url: options.base_url.clone(),
        page: None,
    };
    let letters = NAMES.into_iter().filter_map(|names| {
        digest.most_names = names;
        letter(&digest)
    });
    let mut last = None;
    for letter in letters {
        let fits = letter.text.len() + letter.html.len() <= LARGEST;
        last = Some(letter);
        if fits {
            break;
        }
    }
    let told = items.iter().map(told).collect();
    Some(Gathered { letter: last?, told, counts, more: items.len() >= MOST })
}

fn entry(item: &DigestItem) -> Entry {
    let document = &item.document;
    Entry {
        kind: kind(item),
        name: document.path.clone(),
        // The inner code: its sentence says what is wrong with the file, and what to do.
        code: document.failure.as_ref().map(|(code, _)| *code),
        failures: item.failures,
        last: item.last,
        // Owners of documents have no session here: a link would lead them to a locked door.
        page: None,
    }
}

/// What there is to tell about a document, by where it is now and by what its owner was told last.
fn kind(item: &DigestItem) -> Kind {
    match (item.document.stage, item.document.told) {
        (Stage::Done, _) => Kind::Recovered,
        (Stage::Failed | Stage::Gone, _) => Kind::Dead,
        (Stage::Waiting | Stage::Processing, Some(Told::Failing | Told::Dead)) => Kind::Still,
        (Stage::Waiting | Stage::Processing, Some(Told::Recovered) | None) => Kind::New,
    }
}

/// What counts as told. A failure that comes while the letter is on its way has a later instant, and is told the next time.
fn told(item: &DigestItem) -> ToldNow {
    let told = match kind(item) {
        Kind::New | Kind::Still => Told::Failing,
        Kind::Recovered => Told::Recovered,
        Kind::Dead => Told::Dead,
    };
    ToldNow { document: item.document.id, told, upto: item.last.unwrap_or(Timestamp::UNIX_EPOCH) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::tz::TimeZone;
    use redrive_blob::Location;
    use redrive_engine::model::{Code, JobId, LeaseToken, instant};
    use redrive_engine::store::intake::DocumentRow;

    use super::*;
    use crate::digest::Post;

    fn item(n: u8, path: &str, stage: Stage, told: Option<Told>, code: Option<Code>) -> DigestItem {
        let at = instant::from_millis(1_790_000_000_000);
        let document = DocumentRow {
            id: JobId::from_parts(at, [n; 10]),
            root: "r".into(),
            path: path.into(),
            place: path.into(),
            version: "1".into(),
            bytes: 1,
            sha256: None,
            owner: "jane".into(),
            stage,
            run: LeaseToken(1),
            retries: 1,
            exceeded: false,
            failure: code.map(|code| (code, "why".to_owned())),
            report: None,
            told,
            created_at: at,
            updated_at: at,
        };
        DigestItem { document, failures: 1, last: Some(at) }
    }

    async fn options() -> (DigestOptions, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let place: Location = folder.path().to_str().unwrap().parse().unwrap();
        let blobs: Arc<dyn redrive_blob::Blobs> =
            place.open(folder.path().join("spool"), Vec::<(String, String)>::new()).await.unwrap();
        let options = DigestOptions {
            zone: TimeZone::UTC,
            base_url: None,
            post: Post::Files(blobs),
            policy: DigestOptions::policy(),
        };
        (options, folder)
    }

    #[tokio::test]
    async fn what_is_told_follows_from_where_it_is_and_what_was_told() {
        for (stage, before, expected, told_as) in [
            (Stage::Waiting, None, Kind::New, Told::Failing),
            (Stage::Processing, Some(Told::Recovered), Kind::New, Told::Failing),
            (Stage::Waiting, Some(Told::Failing), Kind::Still, Told::Failing),
            (Stage::Waiting, Some(Told::Dead), Kind::Still, Told::Failing),
            (Stage::Done, None, Kind::Recovered, Told::Recovered),
            (Stage::Done, Some(Told::Dead), Kind::Recovered, Told::Recovered),
            (Stage::Failed, Some(Told::Failing), Kind::Dead, Told::Dead),
            (Stage::Gone, None, Kind::Dead, Told::Dead),
        ] {
            let item = item(1, "a.pdf", stage, before, Some(Code::GwTimeout));
            assert_eq!((kind(&item), told(&item).told), (expected, told_as), "{stage:?} {before:?}");
        }
        let mut recovered = item(1, "a.pdf", Stage::Done, Some(Told::Failing), None);
        (recovered.failures, recovered.last) = (0, None);
        assert_eq!(told(&recovered).upto, Timestamp::UNIX_EPOCH, "no record is marked that was not told");
    }

    #[tokio::test]
    async fn hostile_names_stay_text_and_one_line_in_both_forms() {
        let (options, _folder) = options().await;
        let evil = "x\r\nBcc: evil@example.org\r\n\r\n<script>alert(1)</script>\u{202e}fdp.pdf";
        let items = [item(1, evil, Stage::Waiting, None, Some(Code::GwTimeout))];
        let owner = "jane\r\nTo: evil@example.org<b>";
        let at = instant::from_millis(1_790_000_000_000);
        let letter = gather(&items, owner, at, None, &options).unwrap().letter;
        assert!(!letter.subject.contains(['\r', '\n']));
        assert!(!letter.html.contains("<script>") && !letter.html.contains("<b>jane"), "{}", letter.html);
        assert!(!letter.text.contains('\u{202e}') && !letter.html.contains('\u{202e}'));
        assert!(!letter.text.lines().any(|line| line.starts_with("Bcc:") || line.starts_with("To:")));
    }

    #[tokio::test]
    async fn a_letter_about_many_long_names_stays_small_and_counts_them_all() {
        let (options, _folder) = options().await;
        let codes: Vec<Code> =
            redrive_engine::model::failure::REGISTRY.iter().map(|entry| entry.code).take(60).collect();
        let items: Vec<DigestItem> = (0..MOST)
            .map(|n| {
                let code = codes[n % codes.len()];
                item(1, &format!("{}/{n}.pdf", "ü".repeat(300)), Stage::Waiting, None, Some(code))
            })
            .collect();
        let at = instant::from_millis(1_790_000_000_000);
        let gathered = gather(&items, "jane", at, None, &options).unwrap();
        assert!(gathered.letter.text.len() + gathered.letter.html.len() <= LARGEST);
        assert!(gathered.letter.subject.starts_with("4,000 new failures"), "{}", gathered.letter.subject);
        assert!(gathered.more && gathered.told.len() == MOST);
    }
}
