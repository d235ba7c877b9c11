use super::*;

#[test]
fn every_code_finds_its_own_row_and_reads_back() {
    for entry in REGISTRY {
        assert_eq!(entry.code.entry(), entry);
        assert_eq!(entry.name, entry.code.name());
        assert_eq!(Code::parse(entry.name), Some(entry.code));
        assert_eq!(serde_json::to_value(entry.code).unwrap(), entry.name);
    }
}

#[test]
fn a_public_code_is_its_own_public_code() {
    for entry in REGISTRY {
        assert_eq!(entry.public.public(), entry.public, "{}", entry.name);
    }
}

#[test]
fn the_ten_codes_of_convert_are_public() {
    let ten = "NOT_PDF TOO_LARGE GW_4XX GW_5XX GW_TIMEOUT IO_ERROR NOT_READY EXPIRED FORBIDDEN UNKNOWN";
    for name in ten.split(' ') {
        let code = Code::parse(name).unwrap();
        assert_eq!(code.public(), code);
    }
}

#[test]
fn inner_nuances_map_as_the_seeds_say() {
    for (inner, public) in [
        ("GW_UNAVAILABLE", "GW_5XX"),
        ("INVALID_MAPPING", "GW_4XX"),
        ("PARSE_ERROR", "GW_4XX"),
        ("VALIDATION_ERROR", "GW_4XX"),
        ("MEMORY_ERROR", "UNKNOWN"),
        ("SYSTEM_PANIC", "UNKNOWN"),
        ("DISK_FULL", "IO_ERROR"),
    ] {
        assert_eq!(Code::parse(inner).unwrap().public().name(), public);
    }
}

#[test]
fn retries_fit_the_class() {
    for entry in REGISTRY {
        let retried = entry.retries != Retries::None;
        match entry.class {
            Class::Transient | Class::Throttled | Class::Environment | Class::Crash => {
                assert!(retried, "{} should be retried", entry.name);
            }
            Class::Permanent | Class::Request => assert!(!retried, "{} must not be retried", entry.name),
        }
    }
}

#[test]
fn io_error_is_retried_once() {
    assert_eq!(Code::IoError.entry().retries, Retries::AtMost(1));
    assert_eq!(Code::DownloadDnsNxdomain.entry().retries, Retries::AtMost(1));
}

#[test]
fn prefixes_name_the_category() {
    for entry in REGISTRY {
        let prefix = entry.name.split('_').next().unwrap();
        let expected = match prefix {
            "DOWNLOAD" => Category::Download,
            "UPLOAD" => Category::Upload,
            "STORAGE" => Category::Storage,
            "HANDLER" => Category::Handler,
            "SYSTEM" => Category::System,
            "AUTH" => Category::Authorization,
            "GW" => Category::Gateway,
            "MAIL" => Category::Notify,
            "VALIDATION" if entry.code != Code::ValidationError => Category::Validation,
            _ => continue,
        };
        assert_eq!(entry.category, expected, "{}", entry.name);
    }
}

#[test]
fn sentences_are_sentences_and_fit_the_public_limit() {
    for entry in REGISTRY {
        for text in [entry.what_happened, entry.what_we_do, entry.what_you_can_do] {
            assert!(text.ends_with('.'), "{}: {text}", entry.name);
            assert!(text.chars().count() <= crate::limits::MAX_PUBLIC_MESSAGE_CHARS);
            assert!(text.chars().next().unwrap().is_uppercase(), "{}: {text}", entry.name);
            assert!(!text.contains('\n') && !text.contains("  "));
        }
    }
}

#[test]
fn http_statuses_are_failures_and_what_decisions_say() {
    for entry in REGISTRY {
        assert!((400..=599).contains(&entry.http_status), "{}", entry.name);
    }
    for (name, status) in [
        ("NOT_PDF", 400),
        ("TOO_LARGE", 413),
        ("NOT_READY", 409),
        ("EXPIRED", 404),
        ("FORBIDDEN", 403),
        ("AUTH_REQUIRED", 401),
        ("IDEMPOTENCY_MISMATCH", 422),
        ("RATE_LIMITED", 429),
        ("OVERLOADED", 503),
    ] {
        assert_eq!(Code::parse(name).unwrap().entry().http_status, status, "{name}");
    }
}

#[test]
fn a_name_from_a_newer_version_is_unknown_and_flagged() {
    assert_eq!(Code::of_stored("GW_TELEPATHY"), (Code::Unknown, false));
    assert_eq!(Code::of_stored("GW_5XX"), (Code::Gw5xx, true));
}

#[test]
fn the_fallback_row_is_the_row_of_unknown() {
    assert_eq!(&FALLBACK, Code::Unknown.entry());
}
