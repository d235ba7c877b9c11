//! What the converter remarked about a result that it made all the same: a complete job can still hold less than one hoped for.

use std::borrow::Cow;

use maud::{Markup, html};
use redrive_model::text;

use crate::own::Owned;
use crate::view;

/// The remarks as sentences.
pub(super) fn remarks(job: &Owned) -> Vec<Cow<'static, str>> {
    if !view::can_download(job) {
        return Vec::new();
    }
    job.made().map(|made| made.warnings.iter().map(|word| sentence(word)).collect()).unwrap_or_default()
}

/// They stand below the state.
pub(super) fn list(remarks: &[Cow<'static, str>]) -> Markup {
    html! {
        @for remark in remarks { span.remark { (remark) } }
    }
}

fn sentence(word: &str) -> Cow<'static, str> {
    let known = match word {
        "no-text-layer" => {
            "It holds pictures and no text, so the XML is empty. Run text recognition on it first."
        }
        "repaired" => "The PDF is damaged and was repaired. Check that nothing is missing.",
        "unmapped-glyphs" => "Some characters could not be told; each appears as a replacement mark.",
        "replaced-characters" => "Some characters may not stand in XML and were replaced.",
        "unreadable-pages" => "Some pages could not be read and are empty.",
        // Another gateway has words of its own.
        other => {
            return Cow::Owned(format!("The converter remarked: {}.", text::one_line(other, 100, false)));
        }
    };
    Cow::Borrowed(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_nobody_knows_are_shown_as_they_are() {
        assert!(sentence("no-text-layer").starts_with("It holds pictures"));
        assert_eq!(sentence("half\u{202e}-baked"), "The converter remarked: half\u{fffd}-baked.");
    }
}
