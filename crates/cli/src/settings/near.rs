//! "Did you mean": the known name that is nearest to one that nobody knows.

use super::settings;

/// Below this two names have too little in common to be taken for each other.
const ALIKE: f64 = 0.7;
/// Environment variables belong to everybody, so a slip is only seen in a long name that is nearly ours.
const SLIP_LENGTH: usize = 10;
const SLIPS: usize = 3;

/// The setting that was probably meant.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_uppercase();
    settings()
        .map(|setting| (strsim::normalized_damerau_levenshtein(&name, setting.name), setting.name))
        .filter(|(alike, _)| *alike >= ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

/// The setting that an environment variable nearly names. Only with our own first word, so that other programs' variables stay theirs.
pub(super) fn slip(variable: &str) -> Option<&'static str> {
    let known = settings().any(|setting| setting.name == variable);
    if known || variable.len() < SLIP_LENGTH || variable.starts_with("AWS_") {
        return None;
    }
    let (word, _) = variable.split_once('_')?;
    settings()
        .map(|setting| setting.name)
        .filter(|name| name.split('_').next() == Some(word) && name.contains('_'))
        .map(|name| (strsim::damerau_levenshtein(variable, name), name))
        .filter(|(slips, name)| *slips <= SLIPS.min(name.len() / 5))
        .min()
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_seen_and_a_stranger_is_not() {
        assert_eq!(nearest("retry_max_attempt"), Some("RETRY_MAX_ATTEMPTS"));
        assert_eq!(nearest("lisen"), Some("LISTEN"));
        assert_eq!(nearest("colour"), None);
        assert_eq!(slip("RETRY_MAX_ATTEMPT"), Some("RETRY_MAX_ATTEMPTS"));
        assert_eq!(slip("RETRY_BASE_DELAY"), Some("RETRY_BASE_DELAY_MS"));
        assert_eq!(slip("WORKER_CONCURENCY"), Some("WORKER_CONCURRENCY"));
        for stranger in [
            "DATABASE_URL",
            "DATA_DIRS",
            "LISTEN_FDS",
            "AWS_REGIONS",
            "DATABASE_HOST",
            "GATEWAY_PORT",
            "XDG_DATA_DIR",
        ] {
            assert_eq!(slip(stranger), None, "{stranger}");
        }
    }
}
