//! What is refused, with which code, and what is not.

use crate::kit::{page, read, refused, stream, with_entries, words};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use redrive_gateway::pdf::{self, Ask, Limit, Limits, Refusal};
use redrive_gateway::sample::{self, Builder};
use std::io::Write;

fn packed(data: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

/// One page whose content is this stream.
fn content(entries: &str, data: &[u8]) -> Vec<u8> {
    let mut file = Builder::new();
    file.add("<</Type/Catalog/Pages 2 0 R>>");
    file.add("<</Type/Pages/Count 1/Kids[3 0 R]>>");
    file.add(
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
    );
    file.add(stream(entries, data));
    file.add("<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>");
    file.build()
}

#[test]
fn what_is_no_pdf_is_refused() {
    for bytes in [Vec::new(), b"hello".to_vec(), b"%PDF-1.7\n%%EOF".to_vec(), vec![0; 10_000]] {
        assert_eq!(refused(bytes), Refusal::InvalidPdf);
    }
}

#[test]
fn a_damaged_table_is_repaired_and_said() {
    let file = sample::hello();
    assert!(!read(file.clone()).warnings.repaired);
    let cut = file.len() - 60;
    for damaged in
        [file[..cut].to_vec(), String::from_utf8(file).unwrap().replace("0 obj", " 0 obj").into_bytes()]
    {
        let document = read(damaged);
        assert!(document.warnings.repaired);
        assert_eq!(words(&document.pages[0]), ["Hello,", "world"]);
    }
}

#[test]
fn an_object_that_was_never_written_is_no_damage() {
    let mut file = Builder::new();
    file.add("<</Type/Catalog/Pages 2 0 R>>");
    file.add("<</Type/Pages/Count 1/Kids[3 0 R]>>");
    file.add("<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]>>");
    file.add("null");
    let file = String::from_utf8(file.build()).unwrap();
    let last = file.rfind(" 00000 n").unwrap();
    let unwritten = format!("{}{:010}{}", &file[..last - 10], 0, &file[last..]);
    assert!(!read(unwritten.into_bytes()).warnings.repaired);
    let wrong = format!("{}{:010}{}", &file[..last - 10], 3, &file[last..]);
    assert!(read(wrong.into_bytes()).warnings.repaired);
}

#[test]
fn a_page_without_text_is_an_empty_one() {
    let document = read(sample::page("0 0 100 100 re f"));
    assert!(document.warnings.no_text_layer);
    assert_eq!(document.pages.len(), 1);
    assert!(!read(sample::hello()).warnings.no_text_layer);
}

#[test]
fn content_that_cannot_be_unpacked_is_counted() {
    let document = read(content("/Filter/DCTDecode", b"no picture"));
    assert_eq!(document.warnings.unreadable_pages, 1);
}

#[test]
fn pages_beyond_the_limit_are_refused() {
    let pages = vec![""; 6];
    let ask = Ask { limits: Limits { pages: 5, ..Limits::default() }, ..Ask::default() };
    let refusal = pdf::read(sample::pages(&pages), &ask).unwrap_err();
    assert_eq!(refusal, Refusal::TooManyPages { pages: 6, limit: 5 });
    assert!(pdf::read(sample::pages(&pages[..5]), &ask).is_ok());
}

#[test]
fn a_range_of_pages_is_read_alone() {
    let file = sample::pages(&[
        "BT /F1 10 Tf 50 700 Td (one) Tj ET",
        "BT /F1 10 Tf 50 700 Td (two) Tj ET",
        "BT /F1 10 Tf 50 700 Td (three) Tj ET",
    ]);
    let document = pdf::read(file, &Ask { pages: Some(2..=9), ..Ask::default() }).unwrap();
    let numbers: Vec<u32> = document.pages.iter().map(|page| page.number).collect();
    assert_eq!((document.page_count, numbers), (3, vec![2, 3]));
    assert_eq!(words(&document.pages[0]), ["two"]);
}

/// Reads with a limit of a megabyte for a stream.
fn small_streams(file: Vec<u8>) -> Result<redrive_gateway::page::Document, Refusal> {
    pdf::read(file, &Ask { limits: Limits { stream_bytes: 1 << 20, ..Limits::default() }, ..Ask::default() })
}

#[test]
fn a_stream_that_unpacks_to_too_much_is_refused() {
    let once = packed(&vec![b' '; 3 << 20]);
    let limit = Err(Refusal::LimitExceeded(Limit::StreamBytes));
    assert_eq!(small_streams(content("/Filter/FlateDecode", &once)), limit);
    assert_eq!(small_streams(content("/Filter[/FlateDecode/FlateDecode]", &packed(&once))), limit);
    let hex: String = once.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(small_streams(content("/Filter[/ASCIIHexDecode/FlateDecode]", hex.as_bytes())), limit);
    let fine = packed(&vec![b' '; 1 << 19]);
    assert!(small_streams(content("/Filter/FlateDecode", &fine)).is_ok());
}

#[test]
fn an_object_stream_that_unpacks_to_too_much_is_refused() {
    let with = |size: usize| {
        let mut file = Builder::new();
        file.add("<</Type/Catalog/Pages 2 0 R>>");
        file.add("<</Type/Pages/Count 1/Kids[3 0 R]>>");
        file.add("<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]>>");
        file.stream("/Type/ObjStm/N 1/First 4/Filter/FlateDecode", &packed(&vec![b' '; size]));
        small_streams(file.build())
    };
    assert_eq!(with(3 << 20), Err(Refusal::LimitExceeded(Limit::StreamBytes)));
    assert!(with(1 << 19).is_ok());
}

#[test]
fn all_streams_together_have_a_limit() {
    let file = content("", &vec![b' '; 1000]);
    let of = |document_bytes: u64| {
        pdf::read(
            file.clone(),
            &Ask { limits: Limits { document_bytes, ..Limits::default() }, ..Ask::default() },
        )
    };
    assert_eq!(of(999), Err(Refusal::LimitExceeded(Limit::DocumentBytes)));
    assert!(of(1000).is_ok());
}

#[test]
fn a_chain_of_four_filters_is_refused() {
    let filters = "/Filter[/ASCIIHexDecode/ASCIIHexDecode/ASCIIHexDecode/ASCIIHexDecode]";
    assert_eq!(refused(content(filters, b"20>")), Refusal::LimitExceeded(Limit::Filters));
    assert!(pdf::read(content("/Filter[/ASCIIHexDecode/ASCIIHexDecode]", b"3230>"), &Ask::default()).is_ok());
}

#[test]
fn nesting_beyond_the_limit_is_refused_wherever_it_is() {
    let limit = Refusal::LimitExceeded(Limit::Nesting);
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    assert_eq!(refused(with_entries(&format!("/X {deep}"), "", "", &[])), limit);
    assert_eq!(refused(content("", format!("{deep} TJ").as_bytes())), limit);
    let bearable = format!("{}{}", "[".repeat(200), "]".repeat(200));
    read(with_entries(&format!("/X {bearable}"), "", "", &[]));
}

#[test]
fn glyphs_beyond_the_limit_are_refused() {
    let ask = Ask { limits: Limits { glyphs: 10, ..Limits::default() }, ..Ask::default() };
    let of = |text: &str| pdf::read(sample::page(&format!("BT /F1 10 Tf 50 700 Td ({text}) Tj ET")), &ask);
    assert!(of("0123456789").is_ok());
    assert_eq!(of("0123456789X").unwrap_err(), Refusal::LimitExceeded(Limit::Glyphs));
}

#[test]
fn forms_that_draw_themselves_or_each_other_end() {
    let mut file = Builder::new();
    file.add("<</Type/Catalog/Pages 2 0 R>>");
    file.add("<</Type/Pages/Count 1/Kids[3 0 R]>>");
    file.add(
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</XObject<</X 5 0 R>>>>>>",
    );
    file.stream("", b"/X Do");
    file.stream("/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 5 0 R/Y 6 0 R>>>>", b"/X Do /Y Do");
    file.stream("/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 5 0 R/Y 6 0 R>>>>", b"/X Do /Y Do");
    assert!(read(file.build()).warnings.no_text_layer);
}

#[test]
fn doubling_forms_are_refused_before_they_take_hours() {
    let mut file = Builder::new();
    file.add("<</Type/Catalog/Pages 2 0 R>>");
    file.add("<</Type/Pages/Count 1/Kids[3 0 R]>>");
    file.add(
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</XObject<</X 5 0 R>>>>>>",
    );
    file.stream("", b"/X Do");
    for next in 6..60 {
        let entries = format!("/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X {next} 0 R>>>>");
        file.stream(&entries, b"/X Do /X Do");
    }
    let ask = Ask { limits: Limits { operators: 100_000, ..Limits::default() }, ..Ask::default() };
    assert_eq!(pdf::read(file.build(), &ask).unwrap_err(), Refusal::LimitExceeded(Limit::Operators));
}

#[test]
fn unbalanced_content_is_read_as_far_as_it_goes() {
    let page = page("Q Q EMC EMC ) ] >> 5 BT /F1 10 Tf 50 700 Td (still) Tj [(here) Tj ET q q q");
    assert_eq!(words(&page), ["stillhere"]);
}

#[test]
fn every_refusal_has_a_code_of_the_contract() {
    let all = [
        (Refusal::InvalidPdf, "invalid_pdf"),
        (Refusal::PasswordRequired, "password_required"),
        (Refusal::UnsupportedEncryption, "unsupported_encryption"),
        (Refusal::TooManyPages { pages: 2, limit: 1 }, "too_many_pages"),
        (Refusal::LimitExceeded(Limit::Glyphs), "limit_exceeded"),
    ];
    for (refusal, code) in all {
        assert_eq!(refusal.code(), code);
    }
}

#[test]
fn foreign_encryption_is_unsupported() {
    let file = sample::Builder::new();
    let mut file = file.trailer("/Encrypt<</Filter/Acme/V 1/R 2>>/ID[(a)(b)]");
    file.add("<</Type/Catalog/Pages 2 0 R>>");
    file.add("<</Type/Pages/Count 1/Kids[3 0 R]>>");
    file.add("<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]>>");
    assert_eq!(refused(file.build()), Refusal::UnsupportedEncryption);
}
