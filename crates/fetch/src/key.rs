//! Where a resource is put: a hash that nobody chooses, and a tail that people recognise.
//!
//! `<prefix>/<2 of the hash>/<hash of the id>-<tail of the URL>`. Whatever a manifest calls its resources, a name stays below its prefix,
//! and two ids never share one.

use redrive_blob::{Key, KeyError, MAX_SEGMENT_BYTES, Sha256};
use url::Url;

/// So many characters of a URL's last segment are kept.
const TAIL: usize = 80;

/// What is longer behind the last dot of a name, with it, says nothing of the kind of file.
const EXTENSION: usize = 10;

/// The key of a resource below its prefix, or right at the top where there is none.
pub fn object_key(prefix: &str, id: &str, url: &str) -> Result<Key, KeyError> {
    let hash = Sha256::of(id.as_bytes()).to_string();
    let (shard, hash) = (hash.get(..2).unwrap_or_default(), hash.get(..32).unwrap_or_default());
    let tail = tail(url);
    let top = if prefix.is_empty() { "" } else { "/" };
    let dash = if tail.is_empty() { "" } else { "-" };
    Key::parse(&[prefix, top, shard, "/", hash, dash, &tail].concat())
}

/// A name below a prefix, or right at the top where there is none.
pub(crate) fn below(prefix: &str, name: &str) -> Result<Key, KeyError> {
    if prefix.is_empty() { Key::parse(name) } else { Key::parse(prefix)?.join(name) }
}

/// A name for what finds its own taken by other bytes: with a hash of the resource's id in it, and with the number of its lease where even that
/// one is taken. It stands before the extension, which goes on saying what kind of file it is.
pub(crate) fn beside(key: &Key, id: &str, lease: Option<i64>) -> Result<Key, KeyError> {
    let (above, name) = key.as_str().rsplit_once('/').unwrap_or(("", key.as_str()));
    let (stem, extension) = match name.rfind('.') {
        Some(at) if at > 0 && name.len() - at <= EXTENSION => name.split_at(at),
        Some(_) | None => (name, ""),
    };
    let hash = Sha256::of(id.as_bytes()).to_string();
    let mut own = format!("-{}", hash.get(..16).unwrap_or_default());
    if let Some(lease) = lease {
        own.push_str(&format!("-{lease}"));
    }
    own.push_str(extension);
    let mut stem = stem.to_owned();
    while stem.len() + own.len() > MAX_SEGMENT_BYTES {
        stem.pop();
    }
    below(above, &format!("{stem}{own}"))
}

/// The last segment of the path, with nothing in it that a shell, a browser or a file system would act on.
fn tail(url: &str) -> String {
    let Ok(url) = Url::parse(url) else { return String::new() };
    let last = url.path_segments().and_then(|segments| segments.rev().find(|segment| !segment.is_empty()));
    let mut tail = String::new();
    for c in last.unwrap_or_default().chars() {
        let plain = c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        let c = if plain { c } else { '_' };
        if !(matches!(c, '_' | '.') && tail.ends_with(c)) {
            tail.push(c);
        }
    }
    let tail = tail.trim_matches(['.', '_', '-']);
    // The end says what kind of file it is.
    tail.get(tail.len().saturating_sub(TAIL)..)
        .unwrap_or_default()
        .trim_start_matches(['.', '_', '-'])
        .to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Covers R13 of the security rules.
    #[test]
    fn hostile_ids_and_urls_stay_below_their_prefix() {
        let long = format!("https://a.example/{}.jpeg", "x".repeat(2_000));
        for (id, url, tail) in [
            ("1", "https://a.example/b/photo.jpg?size=2#x", "-photo.jpg"),
            ("1", "https://a.example/b/", "-b"),
            ("1", "https://a.example", ""),
            ("../../etc/passwd", "https://a.example/../../etc/passwd", "-passwd"),
            ("..", "https://a.example/..", ""),
            ("a/b//c", "https://a.example/a//b", "-b"),
            ("a\0b", "https://a.example/%00%2f%2e%2e%2fx", "-00_2f_2e_2e_2fx"),
            ("%2f", "https://a.example/a%2fb", "-a_2fb"),
            ("x", "https://a.example/.redrive-temp", "-redrive-temp"),
            ("x", "https://a.example/a b'\"<>|&;$(c).txt", "-a_20b_22_3C_3E_c_.txt"),
            ("x", "not a url", ""),
            ("", "https://a.example/日本.pdf", "-E6_97_A5_E6_9C_AC.pdf"),
        ] {
            let key = object_key("batch", id, url).unwrap();
            let hash = Sha256::of(id.as_bytes()).to_string();
            assert_eq!(key.as_str(), format!("batch/{}/{}{tail}", &hash[..2], &hash[..32]), "{id:?} {url}");
        }
        let key = object_key("p", "1", &long).unwrap();
        assert!(key.as_str().ends_with(".jpeg") && key.as_str().len() < 130, "{key}");
        assert!(object_key("../up", "1", "https://a.example/").is_err());
        let top = object_key("", "../1", "https://a.example/x").unwrap();
        assert_eq!((top.segments().count(), top.as_str().contains("..")), (2, false), "{top}");
    }

    #[test]
    fn what_is_beside_a_taken_name_is_of_the_same_kind_and_of_one_resource() {
        let hash = &Sha256::of(b"cat").to_string()[..16];
        for (name, first, second) in [
            ("a/b/photo.jpg", format!("a/b/photo-{hash}.jpg"), format!("a/b/photo-{hash}-3.jpg")),
            ("photo", format!("photo-{hash}"), format!("photo-{hash}-3")),
            ("a.b/photo", format!("a.b/photo-{hash}"), format!("a.b/photo-{hash}-3")),
            (".hidden", format!(".hidden-{hash}"), format!(".hidden-{hash}-3")),
            ("v1.a long tail", format!("v1.a long tail-{hash}"), format!("v1.a long tail-{hash}-3")),
        ] {
            let key = Key::parse(name).unwrap();
            assert_eq!(beside(&key, "cat", None).unwrap().as_str(), first);
            assert_eq!(beside(&key, "cat", Some(3)).unwrap().as_str(), second);
            assert_ne!(beside(&key, "dog", None).unwrap().as_str(), first);
        }
        let long = Key::parse(&format!("a/{}.jpeg", "ü".repeat(125))).unwrap();
        let cut = beside(&long, "cat", Some(3)).unwrap();
        assert!(cut.as_str().ends_with(&format!("ü-{hash}-3.jpeg")), "{cut}");
    }

    proptest! {
        #[test]
        fn no_name_leaves_its_prefix(id in "\\PC{0,60}", path in "\\PC{0,200}") {
            let key = object_key("tenant/batch", &id, &format!("https://a.example/{path}")).unwrap();
            prop_assert!(key.as_str().starts_with("tenant/batch/"));
            prop_assert_eq!(key.segments().count(), 4);
            prop_assert!(key.as_str().bytes().all(|b| b.is_ascii_graphic()));
        }
    }
}
