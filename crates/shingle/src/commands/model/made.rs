//! Creation of a drive model from options.

use shingle_drive::{self as drives, Buffer, Drive, Settings};

use crate::Usage;
use crate::cli::DriveTiming;

const IDLE: &str = "idle_cleaning";

/// Creates the drive or SSD called `name`, with parameters set. With `idle` it cleans in idle time,
/// if it can and the parameters do not forbid it.
pub(crate) fn drive(
    name: &str,
    set: &[(String, String)],
    timing: Option<DriveTiming>,
    idle: bool,
) -> anyhow::Result<Box<dyn Drive>> {
    let usage = |error: String| Usage(error);
    let is_ssd = drives::entry(name).is_ok_and(|known| known.ssd);
    let mut settings = Settings { timing: timing.map(Into::into), ..Settings::default() };
    if idle
        && drives::entry(name).is_ok_and(|known| known.has(IDLE) && known.idle_cleaning.is_none())
    {
        settings.idle_cleaning = Some(true);
    }
    let (mut log_bytes, mut extents) = (None, None);
    for (key, value) in set {
        let told = |what: &str| usage(format!("--set {key}={value}: {what}"));
        match key.strip_prefix("drive.") {
            None => return Err(told("a model has parameters drive.NAME only").into()),
            Some("pb") => log_bytes = Buffer::parse_log(value).map_err(|error| told(&error))?,
            Some("extents") => {
                extents = Some(Buffer::parse_extents(value).map_err(|error| told(&error))?);
            }
            Some(parameter) => {
                if parameter == IDLE {
                    settings.idle_cleaning = None;
                }
                settings.overrides.set(parameter, value);
            }
        }
    }
    settings.buffer = Buffer::of(log_bytes, extents);
    let make = if is_ssd { drives::make_ssd } else { drives::make };
    Ok(make(name, &settings).map_err(|error| usage(error.to_string()))?)
}
