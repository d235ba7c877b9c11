//! The generated block at the top of a page: the registry's row, between two marks.

use redrive_model::failure::Entry;

use super::words;

const START: &str = "<!-- registry -->\n";
const END: &str = "<!-- /registry -->\n";

/// The block of a code, marks included.
pub(super) fn block(entry: &Entry) -> String {
    let Entry { name, category, class, public, http_status, .. } = entry;
    let retried = words::retried(entry);
    let budget = words::budget(entry);
    let public =
        if public.name() == *name { format!("`{name}`") } else { format!("[{public}]({public}.md)") };
    let Entry { what_happened, what_we_do, what_you_can_do, .. } = entry;
    format!(
        "{START}\
         | Category | Class | Retried | Budget | HTTP status | Public code |\n\
         |---|---|---|---|---|---|\n\
         | {category} | {class} | {retried} | {budget} | {http_status} | {public} |\n\
         \n\
         - What happened: {what_happened}\n\
         - What we do: {what_we_do}\n\
         - What you can do: {what_you_can_do}\n\
         {END}"
    )
}

/// The page around the block: what is before it and what is after it. `None` when the marks are not there once each,
/// in order.
pub(super) fn around(page: &str) -> Option<(&str, &str)> {
    let (before, rest) = page.split_once(START)?;
    let (inside, after) = rest.split_once(END)?;
    let clean = [before, inside, after].iter().all(|part| !part.contains(START) && !part.contains(END));
    clean.then_some((before, after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use redrive_model::Code;

    #[test]
    fn a_block_shows_the_whole_row() {
        let text = block(Code::GwUnavailable.entry());
        for part in
            ["gateway", "transient", "503", "[GW_5XX](GW_5XX.md)", "could not be reached", "Nothing for now."]
        {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
    }

    #[test]
    fn marks_are_found_once_and_in_order() {
        let block = block(Code::Unknown.entry());
        assert_eq!(around(&format!("# A\n\n{block}\nrest")), Some(("# A\n\n", "\nrest")));
        assert_eq!(around("# A\n\nrest"), None);
        assert_eq!(around(&format!("{END}{START}")), None);
        assert_eq!(around(&format!("{block}{block}")), None);
    }
}
