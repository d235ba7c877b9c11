use super::*;
use crate::problem::assert_none;
use crate::repo::Scratch;

const RULES_OF_A_TEST: &str = r#"
[licenses]
allow = ["MIT"]
exceptions = [{ crate = "roots", allow = ["CDLA-Permissive-2.0"] }]
[bans]
deny = [{ crate = "openssl-sys" }, { crate = "tokio", deny-multiple-versions = true }]
[sources]
allow-registry = ["https://github.com/rust-lang/crates.io-index"]
"#;
const SAFE: &str =
    "[workspace.lints.rust]\nunsafe_code = \"forbid\"\n[profile.release]\noverflow-checks = true\n";

fn lines(problems: &[Problem]) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}

/// Covers P1 and P2 of the security rules.
#[test]
fn what_comes_from_outside_is_allowed_and_our_own_build_is_safe() {
    assert_none(&check(&Repo::here().unwrap()).unwrap());
}

/// Covers P1.
#[test]
fn a_package_that_must_not_be_there_comes_from_elsewhere_or_twice_is_found() {
    let repo = Scratch::new("supply");
    let package = |name: &str, version: &str, more: &str| {
        format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n{more}\n")
    };
    let index = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
    let checked = format!("{index}\nchecksum = \"00\"");
    let lock = [
        package("redrive", "0.1.0", ""),
        package("good", "1.0.0", &checked),
        package("openssl-sys", "0.9.1", &checked),
        package("tokio", "1.0.0", &checked),
        package("tokio", "2.0.0", &checked),
        package("unchecked", "1.0.0", index),
        package("theirs", "1.0.0", "source = \"git+https://git.example/theirs#1\""),
        package("private", "1.0.0", "source = \"registry+https://git.example/index\"\nchecksum = \"00\""),
    ];
    let put = |path: &str, text: &str| repo.write_if_changed(path, text).unwrap();
    put("deny.toml", RULES_OF_A_TEST);
    put("Cargo.lock", &lock.concat());
    put("Cargo.toml", SAFE);
    assert_eq!(
        lines(&check_files(&repo).unwrap()),
        [
            "Cargo.lock: openssl-sys 0.9.1 must not be there: see deny.toml",
            "Cargo.lock: unchecked 1.0.0 has no checksum",
            "Cargo.lock: theirs 1.0.0 comes from git+https://git.example/theirs#1",
            "Cargo.lock: private 1.0.0 comes from registry+https://git.example/index",
            "Cargo.lock: tokio is there as 1.0.0 and 2.0.0",
        ]
    );
}

/// Covers P1.
#[test]
fn a_licence_that_is_not_allowed_is_found() {
    let rules = Rules::read(RULES_OF_A_TEST).unwrap();
    let package = |name: &str, licence: &str| Licensed { name: name.into(), licence: Some(licence.into()) };
    let found = check_licences(
        &rules,
        &[
            package("good", "MIT OR GPL-3.0"),
            package("bad", "GPL-3.0"),
            package("roots", "CDLA-Permissive-2.0"),
            package("other", "CDLA-Permissive-2.0"),
            Licensed { name: "silent".into(), licence: None },
        ],
    );
    assert_eq!(
        lines(&found),
        [
            "bad: its licence \"GPL-3.0\" is not allowed by deny.toml",
            "other: its licence \"CDLA-Permissive-2.0\" is not allowed by deny.toml",
            "silent: says nothing about its licence",
        ]
    );
}

/// Covers P2.
#[test]
fn a_build_that_allows_unsafe_code_or_unchecked_arithmetic_is_found() {
    assert_none(&build::check("Cargo.toml", SAFE).unwrap());
    let bad = SAFE.replace("forbid", "deny").replace("true", "false") + "panic = \"abort\"\n";
    assert_eq!(
        lines(&build::check("Cargo.toml", &bad).unwrap()),
        [
            "Cargo.toml: [workspace.lints.rust] must say unsafe_code = \"forbid\"",
            "Cargo.toml: [profile.release] must say overflow-checks = true",
            "Cargo.toml: [profile.release] must say panic = \"unwind\"",
        ]
    );
    assert_eq!(build::check("Cargo.toml", "").unwrap().len(), 2);
}
