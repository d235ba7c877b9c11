//! The name of a download, safe in a header whatever the file was called: a plain form for everybody, and the real one as
//! RFC 8187 says.

use std::fmt::Write;

use axum::http::HeaderValue;

/// The result of `a.pdf` is `a.xml`.
pub(crate) fn xml_name(label: Option<&str>) -> String {
    let name = label.unwrap_or("document");
    let stem = match name.rsplit_once('.') {
        Some((stem, ending)) if ending.eq_ignore_ascii_case("pdf") && !stem.is_empty() => stem,
        Some(_) | None => name,
    };
    format!("{stem}.xml")
}

/// `attachment` with this name. The result holds no quote, backslash, or control character of the name's.
pub(crate) fn attachment(name: &str) -> HeaderValue {
    let plain: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    let mut exact = String::with_capacity(name.len());
    for byte in name.bytes() {
        if is_attr_char(byte) {
            exact.push(char::from(byte));
        } else {
            let _ = write!(exact, "%{byte:02X}");
        }
    }
    let text = format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{exact}");
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("attachment; filename=\"document.xml\""))
}

/// What stands in a quoted name as it is, in every browser: no percent sign, which some of them decode.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, ' ' | '.' | '-' | '_' | '(' | ')' | '+' | ',' | '=' | '@')
}

/// What RFC 8187 lets stand for itself.
fn is_attr_char(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$&+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads the exact name back.
    fn decoded(header: &str) -> String {
        let (_, exact) = header.split_once("filename*=UTF-8''").unwrap();
        let mut bytes = Vec::new();
        let mut rest = exact.bytes();
        while let Some(byte) = rest.next() {
            bytes.push(match byte {
                b'%' => {
                    let digits = [rest.next().unwrap(), rest.next().unwrap()];
                    u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
                }
                byte => byte,
            });
        }
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn names_keep_their_stem() {
        for (label, name) in [
            (Some("a.pdf"), "a.xml"),
            (Some("A.PDF"), "A.xml"),
            (Some("a.tar"), "a.tar.xml"),
            (Some(".pdf"), ".pdf.xml"),
            (None, "document.xml"),
        ] {
            assert_eq!(xml_name(label), name);
        }
        let header = attachment("Müller \"x\\y\".xml");
        assert_eq!(
            header.to_str().unwrap(),
            "attachment; filename=\"M_ller _x_y_.xml\"; filename*=UTF-8''M%C3%BCller%20%22x%5Cy%22.xml"
        );
    }

    proptest! {
        #[test]
        fn any_name_is_one_header_that_reads_back(name in any::<String>()) {
            let header = attachment(&name);
            let text = header.to_str().unwrap();
            prop_assert_eq!(text.matches('"').count(), 2);
            prop_assert!(!text.contains(['\\', '\r', '\n']));
            prop_assert_eq!(decoded(text), name);
        }
    }
}
