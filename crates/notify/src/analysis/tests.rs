use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use std::time::Duration;

use jiff::tz::TimeZone;
use proptest::prelude::*;
use quick_xml::events::Event;
use redrive_model::{Code, Timestamp, text};

use super::*;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// As `/inspect` writes it.
const INSPECTED: &str = r#"{"version":"1.4","bytes":61234567,"pages":812,"fonts":[
    {"name":"ABCDEF+GaramondPremrPro","type":"Type0","embedded":true},
    {"name":"Helvetica","type":"Type1","embedded":false},
    {"name":"Frutiger-Roman","type":"TrueType","embedded":false}],
    "images":1624,"encrypted":false,"repaired":true,"javascript":false,"attachments":true,"forms":false,
    "tagged":false,"title":"Amtsblatt 1912","producer":"ScanSoft PDF Create! 3"}"#;

fn analysis() -> Analysis {
    let attempt = |number: u32, started: &str, took, code: Code| Attempt {
        number,
        started: at(started),
        took: Some(Duration::from_secs(took)),
        outcome: "failed".to_owned(),
        code: Some(code),
    };
    Analysis {
        file: FileFacts {
            name: "amtsblatt-1912.pdf".to_owned(),
            path: "failed/amtsblatt/1912/amtsblatt-1912.pdf".to_owned(),
            bytes: Some(61_234_567),
            sha256: Some("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".to_owned()),
            owner: "jane.doe".to_owned(),
            received: Some(at("2026-02-25T14:01:00Z")),
            processed: Some(at("2026-02-25T14:30:00Z")),
        },
        failure: OriginalFailure {
            code: Code::GwTimeout,
            message: "gateway: no answer within 180 s".to_owned(),
            given_up: true,
            attempts: vec![
                attempt(1, "2026-02-25T14:02:00Z", 180, Code::GwTimeout),
                attempt(2, "2026-02-25T14:08:11Z", 180, Code::GwTimeout),
                attempt(3, "2026-02-25T14:17:40Z", 4, Code::GwUnavailable),
                attempt(4, "2026-02-25T14:27:00Z", 180, Code::GwTimeout),
            ],
        },
        pdf: Pdf::Known(serde_json::from_str(INSPECTED).unwrap()),
        thresholds: Thresholds::default(),
        made: at("2026-02-25T14:31:07Z"),
        zone: TimeZone::get("Europe/Berlin").unwrap(),
        link: Some("https://redrive.example/intake/documents/42".to_owned()),
    }
}

fn known(change: impl FnOnce(&mut Properties)) -> Analysis {
    let mut properties = Properties {
        version: "1.7".to_owned(),
        bytes: 1_000,
        pages: 3,
        fonts: vec![Font { name: "Helvetica".to_owned(), kind: "Type1".to_owned(), embedded: false }],
        ..Properties::default()
    };
    change(&mut properties);
    let mut analysis = analysis();
    analysis.file.bytes = Some(properties.bytes);
    analysis.failure.attempts.clear();
    analysis.pdf = Pdf::Known(properties);
    analysis
}

fn found(analysis: &Analysis) -> Vec<(Severity, String)> {
    issues(analysis).into_iter().map(|issue| (issue.severity, issue.what)).collect()
}

#[test]
fn an_ordinary_file_has_no_issues() {
    assert_eq!(found(&known(|_| {})), []);
}

#[test]
fn a_threshold_that_is_reached_is_no_issue_and_one_above_it_is() {
    let limits =
        Thresholds { bytes: 1_000, pages: 3, images: 2, fonts_not_embedded: 1, ..Thresholds::default() };
    let with = |change: fn(&mut Properties)| {
        let mut analysis = known(change);
        analysis.thresholds = limits;
        found(&analysis)
    };
    let font = |name: &str| Font { name: name.to_owned(), kind: "TrueType".to_owned(), embedded: false };
    assert_eq!(with(|_| {}), []);
    assert_eq!(with(|pdf| pdf.images = 2), []);
    assert!(with(|pdf| pdf.images = 3)[0].1.contains("3 pictures, more than the usual 2"));
    assert!(with(|pdf| pdf.pages = 4)[0].1.contains("4 pages, more than the usual 3"));
    assert!(with(|pdf| pdf.bytes = 1_001)[0].1.contains("1 kB, more than the usual 1 kB"));
    let mut analysis = known(|pdf| pdf.fonts = vec![font("Frutiger")]);
    analysis.thresholds = limits;
    assert_eq!(found(&analysis), []);
    let mut analysis = known(|pdf| pdf.fonts = ["A", "B", "C", "D", "E"].map(font).to_vec());
    analysis.thresholds = limits;
    let told = found(&analysis);
    assert_eq!(told, [(Severity::Warning, "5 fonts are not embedded: A, B, C and 2 more.".to_owned())]);
}

#[test]
fn the_worst_comes_first() {
    let all = found(&known(|pdf| {
        *pdf = Properties { pages: 0, javascript: true, encrypted: true, repaired: true, ..pdf.clone() }
    }));
    let severities: Vec<Severity> = all.iter().map(|(severity, _)| *severity).collect();
    let mut sorted = severities.clone();
    sorted.sort_unstable();
    assert_eq!(severities, sorted);
    assert_eq!((severities[0], severities.len()), (Severity::Critical, 4));
}

#[test]
fn a_file_that_cannot_be_opened_says_why_and_that_is_the_cause() {
    for (why, code, word) in [
        (NoProperties::NotPdf, Code::NotPdf, "not a PDF"),
        (NoProperties::Password, Code::GwPasswordRequired, "password"),
        (NoProperties::Encryption, Code::GwUnsupportedEncryption, "protected"),
        (NoProperties::Damaged, Code::ParseError, "damaged"),
        (NoProperties::Limits, Code::GwLimitExceeded, "time and memory"),
        (NoProperties::Missing, Code::SourceMissing, "no longer where it was"),
    ] {
        assert_eq!(NoProperties::of(code), why);
        let mut analysis = known(|_| {});
        analysis.pdf = Pdf::Unknown(why);
        analysis.failure.code = Code::Gw4xx;
        assert_eq!(found(&analysis)[0].0, Severity::Critical, "{why:?}");
        let likely = likely_cause(&analysis);
        assert!(likely.cause.contains(word), "{why:?}: {likely:?}");
        assert!(
            content(&document(&analysis).unwrap())["word/document.xml"]
                .contains("Its properties are not known")
        );
    }
}

#[test]
fn a_gateway_that_is_away_says_nothing_about_the_file() {
    for code in [Code::GwUnavailable, Code::Gw5xx, Code::Unknown] {
        assert_eq!(NoProperties::of(code), NoProperties::GatewayAway);
    }
    let mut analysis = known(|_| {});
    analysis.pdf = Pdf::Unknown(NoProperties::GatewayAway);
    analysis.failure.code = Code::GwUnavailable;
    assert_eq!(found(&analysis)[0].0, Severity::Note);
    assert!(likely_cause(&analysis).cause.starts_with("Probably not the file."));
}

#[test]
fn an_empty_file_is_critical() {
    let mut analysis = known(|_| {});
    analysis.file.bytes = Some(0);
    assert!(likely_cause(&analysis).cause.contains("empty"));
}

#[test]
fn the_likely_cause_follows_from_the_failure_and_the_file() {
    let cause = |code: Code, change: fn(&mut Properties)| {
        let mut analysis = known(change);
        analysis.failure.code = code;
        likely_cause(&analysis).cause
    };
    assert!(cause(Code::GwTimeout, |pdf| pdf.pages = 900).contains("very large"));
    assert!(cause(Code::GwTimeout, |_| {}).starts_with("Probably not the file."));
    assert!(cause(Code::ParseError, |pdf| pdf.repaired = true).contains("inner structure is broken"));
    assert!(cause(Code::Gw4xx, |pdf| pdf.encrypted = true).contains("protected"));
    assert!(
        cause(Code::Gw4xx, |pdf| *pdf = Properties { fonts: vec![], images: 3, ..pdf.clone() })
            .contains("scan")
    );
    assert!(cause(Code::SystemWorkerLost, |_| {}).contains("ended the program"));
    assert!(cause(Code::DiskFull, |_| {}).starts_with("Probably not the file. The disk is full."));
    assert_eq!(cause(Code::InvalidMapping, |_| {}), Code::InvalidMapping.entry().what_happened);
}

#[test]
fn every_code_has_a_cause_and_a_next_step() {
    for entry in redrive_model::failure::REGISTRY {
        let mut analysis = known(|_| {});
        analysis.failure.code = entry.code;
        let likely = likely_cause(&analysis);
        assert!(likely.cause.ends_with('.') && likely.next.ends_with('.'), "{}: {likely:?}", entry.name);
    }
}

/// The parts of a package as text, each one well-formed.
fn content(bytes: &[u8]) -> BTreeMap<String, String> {
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).unwrap();
    let mut parts = BTreeMap::new();
    for n in 0..archive.len() {
        let mut part = archive.by_index(n).unwrap();
        if part.is_dir() {
            continue;
        }
        let mut text = String::new();
        part.read_to_string(&mut text).unwrap();
        let mut reader = quick_xml::Reader::from_str(&text);
        reader.config_mut().check_end_names = true;
        let mut depth = 0i32;
        loop {
            match reader.read_event().unwrap_or_else(|error| panic!("{}: {error}", part.name())) {
                Event::Start(_) => depth += 1,
                Event::End(_) => depth -= 1,
                Event::Eof => break,
                _ => {}
            }
        }
        assert_eq!(depth, 0, "{}", part.name());
        parts.insert(part.name().to_owned(), text);
    }
    parts
}

/// The text of a part, paragraph by paragraph.
fn lines(xml: &str) -> Vec<String> {
    let mut reader = quick_xml::Reader::from_str(xml);
    let (mut lines, mut line, mut inside) = (Vec::new(), String::new(), false);
    loop {
        match reader.read_event().unwrap() {
            Event::Start(tag) => inside = tag.name().as_ref() == b"w:t",
            Event::Text(text) if inside => line.push_str(&text.decode().unwrap()),
            Event::GeneralRef(name) if inside => {
                let name = name.decode().unwrap().into_owned();
                line.push_str(match name.as_str() {
                    "amp" => "&",
                    "lt" => "<",
                    "gt" => ">",
                    "quot" => "\"",
                    "apos" => "'",
                    other => panic!("{other}"),
                });
            }
            Event::End(tag) if tag.name().as_ref() == b"w:p" => lines.push(std::mem::take(&mut line)),
            Event::End(_) => inside = false,
            Event::Eof => return lines,
            _ => {}
        }
    }
}

#[test]
fn the_document_has_its_parts_its_relationships_its_styles_and_its_title() {
    let parts = content(&document(&analysis()).unwrap());
    for part in [
        "[Content_Types].xml",
        "_rels/.rels",
        "docProps/core.xml",
        "word/document.xml",
        "word/styles.xml",
        "word/footer1.xml",
    ] {
        assert!(parts.contains_key(part), "{part}: {:?}", parts.keys());
    }
    // What is referred to is there.
    for (rels, folder) in [("_rels/.rels", ""), ("word/_rels/document.xml.rels", "word/")] {
        for target in parts[rels].split("Target=\"").skip(1).map(|rest| rest.split('"').next().unwrap()) {
            assert!(parts.contains_key(&format!("{folder}{target}")), "{rels} names {target}");
        }
    }
    for style in ["Title", "Subtitle", "Heading1", "Heading2", "Code"] {
        assert!(parts["word/styles.xml"].contains(&format!("w:styleId=\"{style}\"")), "{style}");
        assert!(parts["word/document.xml"].contains(&format!("w:val=\"{style}\"")), "{style} is used");
    }
    assert!(parts["docProps/core.xml"].contains("<dc:title>Failure analysis: amtsblatt-1912.pdf</dc:title>"));
    assert!(parts["docProps/core.xml"].contains("2026-02-25T14:31:07Z"));
    assert!(parts["word/footer1.xml"].contains("PAGE") && parts["word/footer1.xml"].contains("NUMPAGES"));
}

#[test]
fn the_document_says_what_is_known_in_the_readers_zone() {
    let parts = content(&document(&analysis()).unwrap());
    let lines = lines(&parts["word/document.xml"]);
    for line in [
        "Failure analysis",
        "LIKELY CAUSE",
        "The file is very large, and processing it takes more time or memory than one file may use.",
        "GW_TIMEOUT",
        Code::GwTimeout.entry().what_happened,
        "We tried 4 times and gave up. The file is kept.",
        "Split the file into parts, put them into the queue, and remove the large one.",
        "gateway: no answer within 180 s",
        "failed: GW_UNAVAILABLE",
        "3 min",
        "failed/amtsblatt/1912/amtsblatt-1912.pdf",
        "61.2 MB (61,234,567 bytes)",
        "jane.doe",
        "2026-02-25 15:01:00 CET",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "Amtsblatt 1912",
        "1 font is not embedded: Frutiger-Roman.",
        "Critical",
        "Warning",
        "https://redrive.example/intake/documents/42",
    ] {
        let there = lines.iter().any(|shown| shown == line);
        assert_eq!(there, line != "Critical", "{line}\n{lines:#?}");
    }
}

#[test]
fn the_same_facts_make_the_same_bytes_on_every_thread() {
    let first = document(&analysis()).unwrap();
    document(&known(|_| {})).unwrap();
    assert!(document(&analysis()).unwrap() == first);
    assert!(std::thread::spawn(|| document(&analysis()).unwrap()).join().unwrap() == first);
    let mut later = analysis();
    later.made = at("2026-02-25T14:31:08Z");
    assert!(document(&later).unwrap() != first);
}

#[test]
fn lists_without_end_are_cut_and_say_so() {
    let mut analysis = known(|pdf| {
        pdf.fonts = (0..75)
            .map(|n| Font { name: format!("Font{n:02}"), kind: "Type0".to_owned(), embedded: true })
            .collect();
    });
    analysis.failure.attempts = (1..=34)
        .map(|number| Attempt {
            number,
            started: at("2026-02-25T14:02:00Z"),
            took: None,
            outcome: "worker lost".to_owned(),
            code: None,
        })
        .collect();
    let lines = lines(&content(&document(&analysis).unwrap())["word/document.xml"]);
    assert!(lines.iter().any(|line| line == "And 45 more fonts."));
    assert!(lines.iter().any(|line| line == "4 older attempts are not shown."));
    assert!(lines.iter().any(|line| line == "34"), "the newest stays");
}

#[test]
fn what_we_do_is_the_registrys_sentence_unless_retries_are_over() {
    let does = |code: Code, given_up: bool, attempts: usize| {
        let mut analysis = analysis();
        (analysis.failure.code, analysis.failure.given_up) = (code, given_up);
        analysis.failure.attempts.truncate(attempts);
        let lines = lines(&content(&document(&analysis).unwrap())["word/document.xml"]);
        let at = lines.iter().position(|line| line == "What we do").unwrap();
        lines[at + 1].clone()
    };
    assert_eq!(does(Code::GwTimeout, false, 4), Code::GwTimeout.entry().what_we_do);
    assert_eq!(does(Code::GwTimeout, true, 4), "We tried 4 times and gave up. The file is kept.");
    assert_eq!(does(Code::ParseError, true, 4), "We tried 4 times and gave up. The file is kept.");
    assert_eq!(does(Code::ParseError, true, 1), Code::ParseError.entry().what_we_do);
}

#[test]
fn only_web_addresses_are_written() {
    let mut analysis = analysis();
    analysis.link = Some("javascript:alert(1)".to_owned());
    assert!(!content(&document(&analysis).unwrap())["word/document.xml"].contains("javascript"));
}

fn hostile() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        Just("\u{202e}fdp.exe".to_owned()),
        Just("]]></w:t><w:p/>&amp;<!--".to_owned()),
        Just("\0\u{1}\u{b}\u{fffe}\u{ffff}\r\n\t".to_owned()),
        Just("x".repeat(5_000)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn whatever_a_file_is_called_the_document_is_well_formed_and_clean(a in hostile(), b in hostile(), c in hostile()) {
        let mut analysis = analysis();
        analysis.file.name = a.clone();
        analysis.file.path = b.clone();
        analysis.file.owner = c.clone();
        analysis.failure.message = a.clone();
        analysis.failure.attempts[0].outcome = b.clone();
        if let Pdf::Known(pdf) = &mut analysis.pdf {
            pdf.title = Some(c.clone());
            pdf.producer = Some(a.clone());
            pdf.version = b.clone();
            pdf.fonts[0].name = c;
            pdf.fonts[2].name = a;
            pdf.fonts[1].kind = b;
        }
        let parts = content(&document(&analysis).unwrap());
        for (name, xml) in &parts {
            let bad = xml.chars().find(|&c| c != '\n' && text::misleads(c));
            prop_assert!(bad.is_none(), "{name}: {bad:?}");
        }
        let longest = lines(&parts["word/document.xml"]).into_iter().map(|line| line.chars().count()).max();
        prop_assert!(longest <= Some(500), "{longest:?}");
    }
}

/// LibreOffice opens it, and finds the same words in it. With `REDRIVE_TEST_PICTURES` the pages are kept there as PDF.
#[test]
fn long_libreoffice_opens_the_document() {
    let Some(program) = ["/usr/bin/soffice", "/usr/bin/libreoffice"]
        .into_iter()
        .find(|path| std::path::Path::new(path).exists())
    else {
        println!("skipped: there is no LibreOffice; `apt-get install libreoffice-writer` brings it");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut closed = known(|_| {});
    closed.pdf = Pdf::Unknown(NoProperties::Password);
    closed.failure.code = Code::GwPasswordRequired;
    for (name, analysis) in [("large", analysis()), ("plain", known(|_| {})), ("closed", closed)] {
        let file = folder.path().join(format!("{name}.docx"));
        std::fs::write(&file, document(&analysis).unwrap()).unwrap();
        for format in ["txt:Text", "pdf"] {
            let ran = std::process::Command::new(program)
                .arg(format!("-env:UserInstallation=file://{}/profile", folder.path().display()))
                .args(["--headless", "--convert-to", format, "--outdir"])
                .arg(folder.path())
                .arg(&file)
                .output()
                .unwrap();
            assert!(ran.status.success(), "{ran:?}");
        }
        let text = std::fs::read_to_string(file.with_extension("txt")).unwrap();
        let likely = likely_cause(&analysis);
        for words in
            ["Failure analysis", likely.cause.as_str(), likely.next.as_str(), analysis.failure.code.name()]
        {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(std::fs::metadata(file.with_extension("pdf")).unwrap().len() > 5_000);
        if let Some(pictures) = option_env!("REDRIVE_TEST_PICTURES") {
            std::fs::copy(file.with_extension("pdf"), format!("{pictures}/{name}.pdf")).unwrap();
        }
    }
}
