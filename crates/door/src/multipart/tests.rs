//! Any body in any pieces gives the same parts; what is no multipart ends with an error, never without end.

use axum::http::HeaderValue;
use proptest::prelude::*;

use super::*;

/// A body that arrives in these pieces.
struct Pieces(std::vec::IntoIter<Vec<u8>>);

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, Self::Error>>> {
        std::task::Poll::Ready(self.0.next().map(|piece| Ok(http_body::Frame::data(piece.into()))))
    }
}

type Parts = Vec<(String, Vec<u8>)>;

fn read(bytes: &[u8], piece: usize, limit: u64) -> Result<Parts, MultipartError> {
    let pieces: Vec<Vec<u8>> = bytes.chunks(piece.max(1)).map(<[u8]>::to_vec).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mut multipart = Multipart::new(Body::new(Pieces(pieces.into_iter())), "XX", limit);
        let mut parts = Vec::new();
        while let Some(name) = multipart.next_part().await?.map(|part| part.name) {
            let mut data = Vec::new();
            while let Some(chunk) = multipart.chunk().await? {
                data.extend_from_slice(&chunk);
            }
            parts.push((name, data));
        }
        Ok(parts)
    })
}

fn written(parts: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, data) in parts {
        let head =
            format!("--XX\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"a;b\"\r\n\r\n");
        bytes.extend(head.as_bytes());
        bytes.extend(data);
        bytes.extend(b"\r\n");
    }
    bytes.extend(b"--XX--\r\n");
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_pieces_give_the_same_parts(
        parts in proptest::collection::vec(("[a-z]{1,5}", "([-X\r\n]|[^-X\r\n]|\r\n--X){0,40}"), 0..4),
        piece in 1..50_usize,
    ) {
        let parts: Parts = parts.into_iter().map(|(name, data)| (name, data.into_bytes())).collect();
        prop_assume!(parts.iter().all(|(_, data)| memmem::find(&[b"\r\n", &data[..]].concat(), b"\r\n--XX").is_none()));
        let bytes = written(&parts);
        prop_assert_eq!(read(&bytes, piece, u64::MAX).unwrap(), parts);
        // One byte less than all is too little.
        let cut = &bytes[..bytes.len() - 4];
        prop_assert_eq!(read(cut, piece, u64::MAX), Err(MultipartError::BreaksOff));
    }

    #[test]
    fn any_bytes_end(bytes in proptest::collection::vec(prop_oneof![Just(b'-'), Just(b'X'), Just(b'\r'), Just(b'\n'), any::<u8>()], 0..200)) {
        let _ = read(&bytes, 3, u64::MAX);
    }
}

#[test]
fn limits_hold() {
    let part = |data: usize| written(&[("a".to_owned(), vec![b'x'; data])]);
    let whole = part(1000);
    assert!(read(&whole, 64, whole.len() as u64).is_ok());
    assert_eq!(read(&whole, 64, whole.len() as u64 - 1), Err(MultipartError::TooLarge));
    let many: Parts = (0..17).map(|_| ("a".to_owned(), Vec::new())).collect();
    assert!(read(&written(&many[..16]), 64, u64::MAX).is_ok());
    assert_eq!(read(&written(&many), 64, u64::MAX), Err(MultipartError::TooManyParts));
    let head = |long: usize| {
        let name = "Content-Disposition: form-data; name=a";
        format!("--XX\r\nX-Long: {}\r\n{name}\r\n\r\nx\r\n--XX--", "y".repeat(long))
    };
    assert!(read(head(1000).as_bytes(), 4096, u64::MAX).is_ok());
    assert_eq!(read(head(1 << 20).as_bytes(), 4096, u64::MAX), Err(MultipartError::Malformed));
    let preamble = [vec![b'z'; 1 << 20], part(1)].concat();
    assert_eq!(read(&preamble, 4096, u64::MAX), Err(MultipartError::Malformed));
    let short = [b"hello\r\n".to_vec(), part(1)].concat();
    assert_eq!(read(&short, 3, u64::MAX).unwrap().len(), 1);
}

#[test]
fn heads_that_say_no_name_are_refused() {
    for head in [
        "--XX\r\n\r\nx",
        "--XX\r\nContent-Disposition: form-data\r\n\r\nx",
        "--XX\r\nContent-Disposition: attachment; name=\"a\"\r\n\r\nx",
        "--XX\r\nContent-Disposition: form-data; name=\"a\r\n\r\nx",
        "--XXY\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx",
    ] {
        let body = format!("{head}\r\n--XX--");
        assert_eq!(read(body.as_bytes(), 7, u64::MAX), Err(MultipartError::Malformed), "{head:?}");
    }
}

#[test]
fn names_may_be_quoted_or_not() {
    for (parameters, expected) in [
        ("name=a", Some("a")),
        ("filename=x; name = \"a b\"", Some("a b")),
        ("filename=\"x;name=wrong\"; NAME=\"a\\\"b\"", Some("a\"b")),
        ("filename=\"C:\\dir\\\"; name=a", None),
        ("filename*=UTF-8''x; name=\"ü\"", Some("ü")),
        ("", None),
    ] {
        assert_eq!(parameter(parameters, "name").as_deref(), expected, "{parameters}");
    }
}

#[test]
fn a_file_has_a_name_that_may_be_anything() {
    for (given, expected) in [
        ("filename=\"a.pdf\"", Some("a.pdf")),
        ("filename=\"..\\x/é;name=b.pdf\"", Some("..\\x/é;name=b.pdf")),
        ("filename=\"\"", Some("")),
        ("x=y", None),
    ] {
        let head = format!("\r\nContent-Disposition: form-data; name=\"file\"; {given}");
        let part = part(head.as_bytes()).unwrap();
        assert_eq!((part.name.as_str(), part.filename.as_deref()), ("file", expected), "{given}");
    }
    let part = part(b"\r\nContent-Disposition: form-data; name=f; filename=\"\xff.pdf\"").unwrap();
    assert_eq!(part.filename.as_deref(), Some("\u{fffd}.pdf"));
}

#[test]
fn only_form_data_has_a_boundary() {
    for (kind, expected) in [
        ("multipart/form-data; boundary=abc", Some("abc")),
        ("Multipart/Form-Data; charset=utf-8; boundary=\"a b\"", Some("a b")),
        ("multipart/form-data", None),
        ("multipart/form-data; boundary=", None),
        ("multipart/mixed; boundary=abc", None),
        ("application/pdf", None),
    ] {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_str(kind).unwrap());
        assert_eq!(boundary(&headers).as_deref(), expected, "{kind}");
    }
    assert_eq!(boundary(&HeaderMap::new()), None);
}
