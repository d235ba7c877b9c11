//! The addresses of a page's sections, as forges make them from headings.

use std::collections::BTreeSet;

/// All anchors of a page. Lines inside of code are no headings.
pub(super) fn of(page: &str) -> BTreeSet<String> {
    let mut code = false;
    let mut found = BTreeSet::new();
    for line in page.lines() {
        if line.starts_with("```") {
            code = !code;
        }
        if !code && line.starts_with('#') {
            found.insert(anchor(line.trim_start_matches('#').trim()));
        }
    }
    found
}

fn anchor(heading: &str) -> String {
    let kept = |letter: &char| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_');
    heading
        .to_lowercase()
        .chars()
        .filter(kept)
        .map(|letter| if letter == ' ' { '-' } else { letter })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_become_addresses() {
        let page = "# A page: one\n## Many `GW_5XX` or `GW_TIMEOUT`\n```sh\n# no heading\n```\n## PDFs stay in `queue/`\n";
        let expected = ["a-page-one", "many-gw_5xx-or-gw_timeout", "pdfs-stay-in-queue"];
        assert_eq!(of(page), expected.map(str::to_owned).into());
    }
}
