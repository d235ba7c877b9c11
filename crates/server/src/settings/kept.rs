//! Settings that somebody changed while everything runs. The store keeps them, and they win over whatever the process was started with.

use redrive_api::SettingList;
use redrive_store::intake::MAX_RETRIES;
use redrive_store::{SettingRow, Store};

/// The settings that the store may keep. Their rows have their names.
const KEPT: &[&str] = &[MAX_RETRIES];

/// The settings in force: as they were given, but where the store keeps another value that holds. When the store cannot be asked, a warning
/// in the list says so.
pub async fn in_force(mut list: SettingList, store: &dyn Store) -> SettingList {
    for name in KEPT {
        let Ok(rows) = store.settings(name).await else {
            let what = "The database does not answer: what was changed at run time is not shown.";
            list.warnings.push(what.to_owned());
            return list;
        };
        // What is no number is not used either.
        let value =
            rows.into_iter().find(|row| row.key == *name).filter(|row| row.value.parse::<u32>().is_ok());
        let setting = list.settings.iter_mut().find(|setting| setting.name == *name);
        if let (Some(SettingRow { value, .. }), Some(setting)) = (value, setting) {
            setting.value = Some(value);
            setting.origin = "store".to_owned();
            setting.at = None;
        }
    }
    list
}
