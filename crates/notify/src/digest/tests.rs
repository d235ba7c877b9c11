use proptest::prelude::*;
use redrive_model::{Code, text as words};
use scraper::{Html, Selector};

use super::*;

fn entry(kind: Kind, name: &str, code: Code) -> Entry {
    Entry {
        kind,
        name: name.to_owned(),
        code: Some(code),
        failures: 1,
        last: Some("2026-02-25T13:30:00Z".parse().unwrap()),
        page: Some(format!("/intake/documents/{}", name.len())),
    }
}

fn digest(entries: Vec<Entry>) -> Digest {
    Digest {
        about: "intake".to_owned(),
        owner: "jane.doe".to_owned(),
        entries,
        made: "2026-02-25T22:55:00Z".parse().unwrap(),
        since: Some("2026-02-24T22:55:00Z".parse().unwrap()),
        zone: TimeZone::get("Europe/Berlin").unwrap(),
        most_names: 3,
        base_url: Some("https://redrive.example/".to_owned()),
        page: Some("/intake".to_owned()),
    }
}

fn sample() -> Digest {
    let mut entries = vec![
        entry(Kind::Dead, "amtsblatt/1912/amtsblatt-1912.pdf", Code::GwPasswordRequired),
        entry(Kind::Dead, "amtsblatt/1913/amtsblatt-1913.pdf", Code::GwPasswordRequired),
        entry(Kind::New, "briefe/Müller & Söhne <1871>.pdf", Code::ParseError),
        entry(Kind::Still, "karten/blatt-7.pdf", Code::GwTimeout),
        entry(Kind::Recovered, "karten/blatt-3.pdf", Code::GwTimeout),
    ];
    entries.extend(
        (1..=40).map(|n| entry(Kind::New, &format!("zeitung/1920/ausgabe-{n:03}.pdf"), Code::GwUnavailable)),
    );
    entries[3].failures = 3;
    digest(entries)
}

#[test]
fn the_subject_says_what_changed_and_leaves_out_what_did_not() {
    let subject = |entries| letter(&digest(entries)).unwrap().subject;
    let new = || entry(Kind::New, "a.pdf", Code::Gw5xx);
    assert_eq!(subject(vec![new()]), "1 new failure — intake");
    let dead = || entry(Kind::Dead, "a.pdf", Code::NotPdf);
    let recovered = entry(Kind::Recovered, "r.pdf", Code::Gw5xx);
    assert_eq!(
        subject(vec![dead(), new(), new(), new(), dead(), recovered]),
        "3 new failures, 1 recovered, 2 given up — intake"
    );
    assert_eq!(
        letter(&sample()).unwrap().subject,
        "41 new failures, 1 still failing, 1 recovered, 2 given up — intake"
    );
}

#[test]
fn nothing_to_tell_is_no_letter() {
    assert_eq!(letter(&digest(vec![])), None);
}

#[test]
fn the_plain_form_reads_like_this() {
    let letter = letter(&sample()).unwrap();
    if let Some(pictures) = option_env!("REDRIVE_TEST_PICTURES") {
        std::fs::write(format!("{pictures}/digest.txt"), &letter.text).unwrap();
        std::fs::write(format!("{pictures}/digest.html"), &letter.html).unwrap();
    }
    assert_eq!(letter.text, include_str!("sample.txt"));
}

#[test]
fn the_form_with_colours_is_this_page() {
    assert_eq!(letter(&sample()).unwrap().html, include_str!("sample.html").trim_end());
}

#[test]
fn causes_with_many_files_come_first_and_names_beyond_the_limit_are_counted() {
    let letter = letter(&sample()).unwrap();
    assert!(letter.text.contains("and 37 more"), "{}", letter.text);
    assert!(letter.html.contains("and 37 more"));
    let (many, one) = (letter.text.find("GW_UNAVAILABLE").unwrap(), letter.text.find("PARSE_ERROR").unwrap());
    assert!(many < one, "{}", letter.text);
    assert!(letter.text.find("GIVEN UP").unwrap() < letter.text.find("NEW FAILURES").unwrap());
}

#[test]
fn the_next_step_is_the_registrys_unless_it_promises_a_retry_that_is_not_coming() {
    let next = |kind, code: Code| {
        let text = letter(&digest(vec![entry(kind, "a.pdf", code)])).unwrap().text;
        text.lines().find_map(|line| line.trim().strip_prefix("Next step: ").map(str::to_owned))
    };
    assert_eq!(next(Kind::New, Code::GwUnavailable).as_deref(), Some("Nothing for now."));
    assert_eq!(
        next(Kind::Dead, Code::GwUnavailable).as_deref(),
        Some("Try them once more; if they fail again, tell the operator.")
    );
    assert_eq!(
        next(Kind::Dead, Code::NotPdf).as_deref(),
        Some("Check that the file opens in a PDF viewer, then upload the PDF")
    );
    assert_eq!(next(Kind::Recovered, Code::NotPdf), None);
}

#[test]
fn links_are_ours_or_there_are_none() {
    let with = |base: Option<&str>, page: &str| {
        let mut entry = entry(Kind::Dead, "a.pdf", Code::NotPdf);
        entry.page = Some(page.to_owned());
        let digest = Digest { base_url: base.map(str::to_owned), page: None, ..digest(vec![entry]) };
        let letter = letter(&digest).unwrap();
        assert_eq!(letter.html.contains("href"), letter.text.contains("://"));
        letter.text.lines().find(|line| line.contains("://")).map(|line| line.trim().to_owned())
    };
    assert_eq!(with(Some("https://r.example/sub"), "/d/1").as_deref(), Some("https://r.example/sub/d/1"));
    assert_eq!(
        with(Some("https://r.example"), "//evil.example/").as_deref(),
        Some("https://r.example//evil.example/")
    );
    assert_eq!(with(Some("https://r.example"), "@evil.example/"), None);
    assert_eq!(with(Some("javascript:alert(1)"), "/d/1"), None);
    assert_eq!(with(None, "/d/1"), None);
}

#[test]
fn names_are_escaped_and_cannot_turn_what_is_read() {
    let hostile = "\u{202e}gpj.<img src=x onerror=alert(1)>\r\nBcc: x@y\0.pdf";
    let mut digest = digest(vec![entry(Kind::Dead, hostile, Code::NotPdf)]);
    digest.owner = hostile.to_owned();
    digest.about = "intake\r\nBcc: x@y".to_owned();
    let letter = letter(&digest).unwrap();
    assert_eq!(letter.subject, "1 given up — intake Bcc: x@y");
    let page = Html::parse_document(&letter.html);
    assert_eq!(page.select(&Selector::parse("img, script, [onerror]").unwrap()).count(), 0);
    assert!(letter.text.contains("gpj.<img src=x onerror=alert(1)> Bcc: x@y.pdf"), "{}", letter.text);
    for form in [&letter.text, &letter.html] {
        assert!(!form.chars().any(|c| c != '\n' && words::misleads(c)));
    }
}

#[test]
fn the_page_asks_nobody_for_anything_and_keeps_its_styles_beside_its_elements() {
    let letter = letter(&sample()).unwrap();
    let page = Html::parse_document(&letter.html);
    assert!(page.errors.is_empty(), "{:?}", page.errors);
    for forbidden in ["style", "link", "img", "script", "iframe", "form", "[src]", "[class]"] {
        assert_eq!(page.select(&Selector::parse(forbidden).unwrap()).count(), 0, "{forbidden}");
    }
    assert!(!letter.html.contains("url("));
    let ours = Selector::parse("a").unwrap();
    assert!(page.select(&ours).all(|a| a.attr("href").unwrap().starts_with("https://redrive.example/")));
}

proptest! {
    #[test]
    fn lines_stay_within_76_characters_but_for_addresses(
        names in proptest::collection::vec(any::<String>(), 1..12), owner in any::<String>(), about in any::<String>()
    ) {
        let codes = [Code::NotPdf, Code::GwTimeout, Code::GwLimitExceeded, Code::Unknown];
        let entries = names.iter().enumerate().map(|(n, name)| Entry {
            code: codes.get(n % 5).copied(),
            ..entry(Kind::ALL[n % Kind::ALL.len()], name, Code::Unknown)
        });
        let mut digest = digest(entries.collect());
        (digest.owner, digest.about) = (owner, about);
        let letter = letter(&digest).unwrap();
        for line in letter.text.lines() {
            prop_assert!(line.chars().count() <= 76 || line.contains("https://redrive.example"), "{line}");
        }
        prop_assert!(!letter.subject.chars().any(|c| c.is_control()));
        let page = Html::parse_document(&letter.html);
        prop_assert!(page.errors.is_empty(), "{:?}", page.errors);
    }
}
