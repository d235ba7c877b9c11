//! What a client calls its file, made fit to be shown. It is data: no path is ever made of it.

use redrive_model::limits::MAX_LABEL_BYTES;
use redrive_model::text;
use unicode_normalization::UnicodeNormalization;

/// When a client gives none that can be shown.
const UNNAMED: &str = "unnamed.pdf";
/// So much of a name is looked at.
const LONGEST: usize = 16 * 1024;

/// The last part of the name, composed, in one line, without characters that hide or turn text, at most 255 bytes.
pub(crate) fn display(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    // A form's head is no longer than this; whoever calls with more gets less.
    let plain: String = text::head(last, LONGEST).nfc().filter(|c| !text::misleads(*c)).collect();
    let line = text::one_line(&plain, 4 * LONGEST, false);
    let line = shortened(&line);
    match line.as_str() {
        "" | "." | ".." => UNNAMED.to_owned(),
        _ => line,
    }
}

/// Cut in the middle of nothing: the ending stays, because people know files by it.
fn shortened(name: &str) -> String {
    if name.len() <= MAX_LABEL_BYTES {
        return name.to_owned();
    }
    let ending = name.rsplit_once('.').map(|(_, ending)| ending).filter(|ending| ending.len() <= 16);
    match ending {
        Some(ending) => {
            let room = MAX_LABEL_BYTES - ending.len() - "….".len();
            format!("{}….{ending}", text::head(name, room))
        }
        None => format!("{}…", text::head(name, MAX_LABEL_BYTES - "…".len())),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_shown_as_people_mean_them() {
        for (name, shown) in [
            ("Rechnung.pdf", "Rechnung.pdf"),
            ("../../etc/passwd", "passwd"),
            ("C:\\Users\\ann\\März.pdf", "März.pdf"),
            ("Ma\u{308}rz.pdf", "März.pdf"),
            ("a\0b\r\nc.pdf", "abc.pdf"),
            ("\u{202e}fdp.exe", "fdp.exe"),
            ("  a \t b  ", "a b"),
            ("", UNNAMED),
            (".", UNNAMED),
            ("..", UNNAMED),
            ("x/", UNNAMED),
            ("\u{200b}\u{feff}", UNNAMED),
            ("%2e%2e", "%2e%2e"),
            ("<img onerror=x>.pdf", "<img onerror=x>.pdf"),
        ] {
            assert_eq!(display(name), shown, "{name:?}");
        }
    }

    #[test]
    fn a_long_name_keeps_its_ending() {
        let long = display(&format!("{}.pdf", "é".repeat(5_000)));
        assert!(long.len() <= MAX_LABEL_BYTES && long.ends_with("….pdf"), "{long}");
        assert!(display(&"x".repeat(5_000)).len() <= MAX_LABEL_BYTES);
    }

    proptest! {
        #[test]
        fn whatever_comes_in_is_harmless_to_show(name in any::<String>()) {
            let shown = display(&name);
            prop_assert!(!shown.is_empty() && shown.len() <= MAX_LABEL_BYTES);
            prop_assert!(!shown.chars().any(|c| c.is_control() || text::misleads(c)));
            prop_assert!(!shown.contains(['/', '\\']));
            prop_assert_eq!(display(&shown), shown);
        }
    }
}
