//! Where an owner's digest goes.
//!
//! An address of their own comes before that of `default`. Whoever has switched all of theirs off gets nothing, and nobody gets it in
//! their place: it waits, and is told when one is switched on.

use redrive_engine::store::intake::Notification;

/// Gets the digests of owners without an address of their own.
pub const DEFAULT: &str = "default";

/// Where an owner's digest goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recipients {
    /// To their own addresses.
    Own(Vec<String>),
    /// They have none: to those of `default`.
    Default(Vec<String>),
    /// All addresses that count are switched off.
    Off,
    /// There is no address.
    Nobody,
}

impl Recipients {
    /// By what is set at present.
    #[must_use]
    pub fn of(owner: &str, rows: &[Notification]) -> Self {
        let of = |name: &str| rows.iter().filter(|row| row.owner == name).cloned().collect::<Vec<_>>();
        let enabled = |rows: &[Notification]| {
            rows.iter().filter(|row| row.enabled).map(|row| row.address.clone()).collect::<Vec<_>>()
        };
        let (own, default) = (of(owner), of(DEFAULT));
        match (own.is_empty(), default.is_empty()) {
            (true, true) => Self::Nobody,
            (false, _) => Some(enabled(&own)).filter(|to| !to.is_empty()).map_or(Self::Off, Self::Own),
            (true, false) => {
                Some(enabled(&default)).filter(|to| !to.is_empty()).map_or(Self::Off, Self::Default)
            }
        }
    }

    /// The addresses.
    #[must_use]
    pub fn addresses(&self) -> &[String] {
        match self {
            Self::Own(to) | Self::Default(to) => to,
            Self::Off | Self::Nobody => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_addresses_come_first_then_default_and_what_is_off_goes_nowhere_else() {
        let row = |owner: &str, address: &str, enabled| Notification {
            owner: owner.into(),
            address: address.into(),
            enabled,
        };
        let rows = [
            row("default", "desk@x", true),
            row("jane", "j@x", true),
            row("jane", "k@x", false),
            row("mute", "m@x", false),
        ];
        assert_eq!(Recipients::of("jane", &rows), Recipients::Own(vec!["j@x".into()]));
        assert_eq!(Recipients::of("joe", &rows), Recipients::Default(vec!["desk@x".into()]));
        assert_eq!(Recipients::of("default", &rows), Recipients::Own(vec!["desk@x".into()]));
        assert_eq!(Recipients::of("mute", &rows), Recipients::Off);
        assert_eq!(Recipients::of("joe", &rows[1..]), Recipients::Nobody);
        assert_eq!(Recipients::of("joe", &[row("default", "desk@x", false)]), Recipients::Off);
    }
}
