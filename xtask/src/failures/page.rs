//! One page: its title, its block, and the four sections that a person wrote.

use redrive_model::failure::Entry;

use super::block;

/// The sections of every page, in this order.
const SECTIONS: [&str; 4] = ["What it means", "Likely causes", "Check", "Act"];

/// The page with a current block. A page that does not exist yet starts with empty sections.
pub(super) fn renewed(entry: &Entry, old: Option<&str>) -> String {
    let block = block::block(entry);
    match old {
        None => {
            let sections: String = SECTIONS.iter().map(|title| format!("\n## {title}\n")).collect();
            format!("# {}\n\n{block}{sections}", entry.name)
        }
        // Without marks there is no safe place to write to: the page stays and the check names it.
        Some(old) => match block::around(old) {
            Some((before, after)) => format!("{before}{block}{after}"),
            None => old.to_owned(),
        },
    }
}

/// What is wrong with a page, one sentence each.
pub(super) fn faults(entry: &Entry, page: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let title = format!("# {}\n\n", entry.name);
    match block::around(page) {
        None => faults
            .push("has no registry block between `<!-- registry -->` and `<!-- /registry -->`".to_owned()),
        Some((before, _)) if before != title => {
            faults.push(format!("must start with `# {}`, an empty line and the registry block", entry.name));
        }
        Some(_) if renewed(entry, Some(page)) != page => {
            faults.push("its registry block is stale; run `cargo xtask generate`".to_owned());
        }
        Some(_) => {}
    }
    faults.extend(section_faults(page));
    faults
}

fn section_faults(page: &str) -> Vec<String> {
    let mut sections = page.split("\n## ").skip(1).map(|text| text.split_once('\n').unwrap_or((text, "")));
    let titles: Vec<&str> = sections.clone().map(|(title, _)| title).collect();
    if titles != SECTIONS {
        return vec![format!("its sections must be {}; they are {}", SECTIONS.join(", "), titles.join(", "))];
    }
    let empty = sections.by_ref().filter(|(_, text)| text.trim().is_empty());
    empty.map(|(title, _)| format!("the section `## {title}` is empty")).collect()
}

/// The pages beside this one that it links to.
pub(super) fn links(page: &str) -> Vec<&str> {
    let targets = page.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use redrive_model::Code;

    fn good() -> String {
        let empty = renewed(Code::GwTimeout.entry(), None);
        SECTIONS.iter().fold(empty, |page, title| {
            page.replace(&format!("## {title}\n"), &format!("## {title}\n\nText.\n"))
        })
    }

    fn faults_of(page: &str) -> Vec<String> {
        faults(Code::GwTimeout.entry(), page)
    }

    #[test]
    fn a_full_page_has_no_fault() {
        assert_eq!(faults_of(&good()), Vec::<String>::new());
    }

    #[test]
    fn a_new_page_has_all_sections_and_each_is_reported_empty() {
        let faults = faults_of(&renewed(Code::GwTimeout.entry(), None));
        assert_eq!(faults.len(), 4, "{faults:?}");
        assert!(faults.iter().all(|fault| fault.ends_with("is empty")), "{faults:?}");
    }

    #[test]
    fn a_stale_block_is_found_and_renewed() {
        let stale = good().replace("| 504 |", "| 418 |");
        assert_eq!(faults_of(&stale), ["its registry block is stale; run `cargo xtask generate`"]);
        assert_eq!(renewed(Code::GwTimeout.entry(), Some(&stale)), good());
    }

    #[test]
    fn a_page_without_marks_is_found_and_left_alone() {
        let page = good().replace("<!-- registry -->\n", "");
        assert!(faults_of(&page)[0].starts_with("has no registry block"));
        assert_eq!(renewed(Code::GwTimeout.entry(), Some(&page)), page);
    }

    #[test]
    fn a_wrong_title_and_a_wrong_section_are_found() {
        assert!(
            faults_of(&good().replace("# GW_TIMEOUT\n", "# GW_TIMOUT\n"))[0]
                .starts_with("must start with `# GW")
        );
        assert!(
            faults_of(&good().replace("## Check\n", "## Checks\n"))[0].starts_with("its sections must be")
        );
        assert!(
            faults_of(&good().replace("\n## Act\n\nText.\n", "\n"))[0].starts_with("its sections must be")
        );
    }

    #[test]
    fn links_to_other_pages_are_seen() {
        assert_eq!(links("see [A](A.md), [web](https://a.example/) and [B](B.md)."), ["A.md", "B.md"]);
    }
}
