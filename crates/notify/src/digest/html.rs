//! The form with colours: one column, no pictures, nothing from outside, every style beside its element.
//!
//! Text keeps the colour that the reader's program gives it, light or dark. Only badges bring both of their colours, each pair readable in
//! both. Names may break anywhere, so that nothing is wider than a phone.

use maud::{DOCTYPE, html};

use super::text::FOOT;
use super::{Kind, Written, link};
use crate::shown;

const PAGE: &str = "margin:0;padding:16px;font:16px/1.5 -apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;color-scheme:light dark";
const COLUMN: &str = "max-width:640px;margin:0 auto;overflow-wrap:anywhere";
const TITLE: &str = "font-size:20px;line-height:1.3;margin:0 0 4px";
const QUIET: &str = "margin:0;font-size:14px;opacity:.75";
const SECTION: &str = "font-size:17px;line-height:1.3;margin:28px 0 4px";
const CAUSE: &str = "margin:14px 0 0;padding:2px 0 2px 12px;border-left:4px solid ";
const SENTENCE: &str = "font-size:16px;line-height:1.4;margin:0";
const CODE: &str = "font:12px/1.4 ui-monospace,Menlo,Consolas,monospace;opacity:.75";
const NAMES: &str = "margin:6px 0 0;padding-left:20px;font-size:15px";
const FOOTER: &str =
    "margin:32px 0 0;padding-top:12px;border-top:1px solid rgba(128,128,128,.4);font-size:14px;opacity:.75";
/// A link is underlined and has the text's own colour: a blue that is readable on white is not on black.
const LINK: &str = "color:inherit";

/// White on it is readable, and it stands out from white and from black.
const fn colour(kind: Kind) -> &'static str {
    match kind {
        Kind::New => "#a15c00",
        Kind::Still => "#5b6b7b",
        Kind::Recovered => "#1a7f4b",
        Kind::Dead => "#c0262d",
    }
}

pub(super) fn write(letter: &Written<'_>) -> String {
    let digest = letter.digest;
    let badge = |kind: Kind| {
        format!(
            "display:inline-block;padding:1px 9px;border-radius:10px;font-size:14px;font-weight:600;color:#fff;background:{}",
            colour(kind)
        )
    };
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="supported-color-schemes" content="light dark";
                title { (letter.subject) }
            }
            body style=(PAGE) {
                div style=(COLUMN) {
                    h1 style=(TITLE) { (letter.subject) }
                    p style=(QUIET) { (letter.occasion()) }
                    @for section in letter.sections {
                        h2 style=(SECTION) {
                            (section.kind.title()) " "
                            span style=(badge(section.kind)) { (shown::number(section.count as u64)) }
                        }
                        p style=(QUIET) { (section.kind.meaning()) }
                        @for cause in &section.causes {
                            div style={ (CAUSE) (colour(section.kind)) } {
                                h3 style=(SENTENCE) { (cause.sentence(section.kind)) }
                                @if let Some(code) = cause.code {
                                    div style=(CODE) { (code.name()) }
                                }
                                @if let Some(next) = cause.next(section.kind) {
                                    div { b { "Next step: " } (next) }
                                }
                                ul style=(NAMES) {
                                    @for entry in &cause.named {
                                        li {
                                            @match entry.page.as_deref().and_then(|page| link(digest, page)) {
                                                Some(link) => a style=(LINK) href=(link) { (shown::name(&entry.name, 200)) },
                                                None => (shown::name(&entry.name, 200)),
                                            }
                                            @if let Some(last) = entry.last {
                                                div style=(QUIET) { (times(entry.failures)) (shown::minute(last, &digest.zone)) }
                                            }
                                        }
                                    }
                                    @if cause.more() > 0 {
                                        li style="list-style:none" { "and " (shown::number(cause.more() as u64)) " more" }
                                    }
                                }
                            }
                        }
                    }
                    p style=(FOOTER) {
                        @if let Some(link) = digest.page.as_deref().and_then(|page| link(digest, page)) {
                            a style=(LINK) href=(link) { "All of them" } " · "
                        }
                        (FOOT)
                    }
                }
            }
        }
    };
    page.into_string()
}

/// One failure needs no count.
fn times(failures: u64) -> String {
    if failures > 1 { format!("{} failures, last ", shown::number(failures)) } else { String::new() }
}
