//! How the registry's columns read on a page.

use redrive_model::Class;
use redrive_model::failure::{Category, Entry, Retries};

/// When and how often a job runs again after this failure.
pub(super) fn retried(entry: &Entry) -> String {
    match entry.class {
        Class::Transient | Class::Permanent => entry.retries.to_string(),
        Class::Crash => format!("{}, and counted as a crash", entry.retries),
        Class::Throttled => "after the wait, uncharged".to_owned(),
        Class::Environment => "when the hold ends, uncharged".to_owned(),
        Class::Request => "not a job's end".to_owned(),
    }
}

/// The allowance that a retry spends, or that none is spent.
pub(super) fn budget(entry: &Entry) -> &'static str {
    let charged = match entry.class {
        Class::Transient | Class::Crash => true,
        Class::Throttled | Class::Environment | Class::Permanent | Class::Request => false,
    };
    if charged && entry.retries != Retries::None { entry.budget.as_str() } else { "none" }
}

/// What the codes of a family have in common.
pub(super) const fn about(category: Category) -> &'static str {
    match category {
        Category::Validation => "The caller sent something that cannot be accepted.",
        Category::Authorization => "The caller may not do this.",
        Category::Request => "The request cannot be answered as things stand.",
        Category::Gateway => "The PDF→XML gateway refused, failed or did not answer.",
        Category::Download => "A resource could not be fetched from its origin.",
        Category::Upload => "An object could not be put into the object store.",
        Category::Storage => "A disk, an artifact or a manifest of ours is the problem.",
        Category::Handler => "Code that a user plugged in is the problem.",
        Category::Notify => "People could not be told by mail.",
        Category::System => "Redrive itself, or a process of it, is the problem.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redrive_model::Code;

    #[test]
    fn what_costs_nothing_is_not_shown_with_a_budget() {
        for (code, says_retried, says_budget) in [
            (Code::GwTimeout, "under the policy's cap", "attempts"),
            (Code::IoError, "once", "attempts"),
            (Code::DownloadTls, "no retry", "none"),
            (Code::DownloadRateLimited, "after the wait, uncharged", "none"),
            (Code::DiskFull, "when the hold ends, uncharged", "none"),
            (Code::DownloadProxyFailed, "under the policy's cap", "proxy"),
            (Code::SystemWorkerLost, "under the policy's cap, and counted as a crash", "attempts"),
            (Code::NotReady, "not a job's end", "none"),
        ] {
            assert_eq!(
                (retried(code.entry()).as_str(), budget(code.entry())),
                (says_retried, says_budget),
                "{code}"
            );
        }
    }
}
