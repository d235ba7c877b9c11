//! A digest in the words of the wire.

use redrive_api::OwnerDigest;
use redrive_intake::digest::{Kind, Preview, Recipients};

/// What one owner is told.
pub(crate) fn owner(preview: &Preview, mails: bool) -> OwnerDigest {
    let count = |kind: Kind| preview.counts.iter().find(|(known, _)| *known == kind).map_or(0, |(_, n)| *n);
    OwnerDigest {
        owner: preview.owner.clone(),
        goes_to: goes_to(&preview.to, mails).to_owned(),
        recipients: if mails { preview.to.addresses().to_vec() } else { Vec::new() },
        new: count(Kind::New),
        still_failing: count(Kind::Still),
        recovered: count(Kind::Recovered),
        dead: count(Kind::Dead),
        subject: preview.letter.subject.clone(),
        text: preview.letter.text.clone(),
    }
}

/// Where it goes, in one word.
pub(crate) const fn goes_to(to: &Recipients, mails: bool) -> &'static str {
    match to {
        _ if !mails => "file",
        Recipients::Own(_) => "own",
        Recipients::Default(_) => "default",
        Recipients::Off => "off",
        Recipients::Nobody => "nobody",
    }
}
