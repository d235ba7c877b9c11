//! The settings as people see them: each value with where it came from, secrets masked. What `config show` prints and the server's page
//! shows is made here and nowhere else.

use redrive_api::{ProxyPool, Setting, SettingList};

use super::Values;
use super::table::SECTIONS;

/// All settings in their order.
pub(crate) fn listed(values: &Values) -> SettingList {
    let mut settings = Vec::new();
    for section in SECTIONS {
        for setting in section.settings {
            let origin = values.origin(setting.name);
            let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
            settings.push(Setting {
                name: setting.name.to_owned(),
                section: section.title.to_owned(),
                value: values.shown(setting),
                unset: some(setting.unset),
                origin: origin.word().to_owned(),
                at: (origin.word() == "file").then(|| origin.to_string()),
                default: some(setting.default),
                secret: setting.secret,
                used: setting.used != 0,
                about: setting.about.to_owned(),
            });
        }
    }
    let pool = |(name, pool): (&String, &redrive_fetch::PoolOptions)| ProxyPool {
        name: name.clone(),
        proxies: pool.proxies.len(),
        fallbacks: pool.fallbacks.clone(),
    };
    SettingList {
        settings,
        proxy_pools: values.pools().iter().map(pool).collect(),
        warnings: values.warnings().to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Environment, settings};
    use super::*;

    #[test]
    fn no_secret_is_listed_wherever_it_was_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.toml");
        std::fs::write(&path, "[proxy_pools]\neu = ['http://u:CANARY@h:1']\n").unwrap();
        let secrets = settings().filter(|setting| setting.secret).map(|setting| setting.name);
        let urls = ["DATABASE_URL", "GATEWAY_URL", "S3_ENDPOINT", "PUBLIC_URL"];
        let variables = secrets
            .map(|name| (name.to_owned(), "CANARY".to_owned()))
            .chain(urls.map(|name| (name.to_owned(), "http://u:CANARY@h/".to_owned())))
            .collect();
        let list = listed(&Values::gather(&[], Environment { variables }, Some(&path)));
        assert_eq!((list.settings.len(), list.proxy_pools[0].proxies), (settings().count(), 1));
        assert!(list.settings.iter().filter(|one| one.origin == "env").count() > urls.len());
        assert!(!format!("{list:?}").contains("CANARY"), "{list:#?}");
    }
}
