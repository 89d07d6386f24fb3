//! The registry of drives: one line each, and those described by a profile or a sheet
//! (`profile:FILE`, `sheet:FILE`).

mod from_file;

use crate::disks::named;
use crate::drive::Drive;
use crate::models::conventional::Conventional;
use crate::models::drive_managed::DriveManaged;
use crate::models::emulator::{Emulator, Rewrite};
use crate::models::flash_inside::FlashInside;
use crate::models::flash_ssd::FlashSsd;
use crate::models::host_aware::HostAware;
use crate::models::host_managed::HostManaged;
use crate::models::ssd::Ssd;
use crate::profile::Model as Probed;
use crate::sheet::{DriveError, Parameter, Recipe, Settings, Sheet};
use from_file::OwnSheet;
pub use from_file::SHEET;
use shingle_core::params::nearest;

type Make = fn(&Recipe) -> Result<Box<dyn Drive>, DriveError>;

/// A model: its drives differ only in their sheets.
struct Model {
    /// Its name in sheets.
    name: &'static str,
    /// Whether its drives have bands.
    shingled: bool,
    /// Whether they are SSDs.
    ssd: bool,
    make: Make,
}

const fn disk(name: &'static str, shingled: bool, make: Make) -> Model {
    Model { name, shingled, ssd: false, make }
}

const fn ssd(name: &'static str, make: Make) -> Model {
    Model { name, shingled: false, ssd: true, make }
}

static CONVENTIONAL: Model = disk("conventional", false, Conventional::make);
static DRIVE_MANAGED: Model = disk("drive-managed", true, DriveManaged::make);
static FC: Model = disk("drive-managed+fc", true, FlashInside::fc);
static RMW_F: Model = disk("drive-managed+rmw-f", true, FlashInside::rmw_f);
static MCM: Model = disk("drive-managed+mcm", true, FlashInside::mcm);
static HOST_AWARE: Model = disk("host-aware", true, HostAware::make);
static HOST_MANAGED: Model = disk("host-managed", true, HostManaged::make);
static EMULATOR: Model = disk("emulator", true, |r| Emulator::make(r, Rewrite::Append));
static EMULATOR_IN_PLACE: Model =
    disk("emulator-in-place", true, |r| Emulator::make(r, Rewrite::InPlace));
static SSD: Model = ssd("ssd", Ssd::make);
static FLASH_SSD: Model = ssd("flash-ssd", FlashSsd::make);

/// One kind of drive.
pub struct DriveEntry {
    /// Name, as in `-d NAME`.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// Whether it has bands. Such drives have a buffer, except for those that the host must write
    /// in order.
    pub shingled: bool,
    /// Sheets: that of the drive, and of what is built into it.
    sheets: &'static [&'static str],
    model: &'static Model,
}

impl DriveEntry {
    /// Returns the parameters of the sheet.
    #[must_use]
    pub fn parameters(&self) -> Vec<Parameter> {
        self.sheet().parameters()
    }

    /// Returns its sheet in the form of a user's file.
    #[must_use]
    pub fn text(&self) -> String {
        format!("model = \"{}\"\n\n{}", self.model.name, self.sheets.join("\n"))
    }

    fn sheet(&self) -> Sheet {
        Sheet::join(self.sheets.iter().map(|text| Sheet::parse(text)))
    }

    fn build(&self, prefix: &str, settings: &Settings) -> Result<Box<dyn Drive>, DriveError> {
        let mut sheet = self.sheet();
        sheet.apply(prefix, &settings.overrides)?;
        self.model.make(self.name, &sheet, settings)
    }
}

impl Model {
    /// Creates a drive of this model.
    fn make(
        &self,
        name: &str,
        sheet: &Sheet,
        settings: &Settings,
    ) -> Result<Box<dyn Drive>, DriveError> {
        (self.make)(&Recipe { name, sheet, settings, bands: None, underneath })
    }
}

/// Creates a drive with its defaults, for use beneath another one.
fn underneath(name: &str) -> Result<Box<dyn Drive>, DriveError> {
    make(name, &Settings::default())
}

/// Prefix of the name of a drive from a profile; the rest is the file.
pub const PROFILE: &str = "profile:";

/// What is known of a drive or an SSD before it is created.
#[derive(Clone, Debug)]
pub struct Known {
    /// Its name.
    pub name: String,
    /// What it is, in a line.
    pub about: String,
    /// See [`DriveEntry::shingled`].
    pub shingled: bool,
    /// Whether it is an SSD.
    pub ssd: bool,
    /// Whether it cleans in idle time, if probing found that out; `None` leaves it to the run.
    pub idle_cleaning: Option<bool>,
    /// Sentences on what probing did not determine, and what is used instead.
    pub unknown: Vec<String>,
    parameters: Vec<Parameter>,
}

impl Known {
    /// Returns the parameters with their values.
    #[must_use]
    pub fn parameters(&self) -> Vec<Parameter> {
        self.parameters.clone()
    }

    /// Returns whether there is a parameter of this name.
    #[must_use]
    pub fn has(&self, parameter: &str) -> bool {
        self.parameters.iter().any(|other| other.name == parameter)
    }
}

macro_rules! entry {
    ($name:literal, $model:ident, $about:literal) => {
        entry!($name = [$name], $model, $about)
    };
    ($name:literal = [$($sheet:literal),+], $model:ident, $about:literal) => {
        DriveEntry {
            name: $name,
            about: $about,
            shingled: $model.shingled,
            sheets: &[$(include_str!(concat!("../../data/", $sheet, ".toml"))),+],
            model: &$model,
        }
    };
}

static DRIVES: &[DriveEntry] = &[
    entry!("st8000as0002", DRIVE_MANAGED, "Seagate 8 TB, drive-managed SMR (SAC)"),
    entry!("st5000as0011", DRIVE_MANAGED, "Seagate 5 TB, drive-managed SMR (PORE, MCM)"),
    entry!(
        "st5000as0011+fc" = ["st5000as0011", "flash-mlc", "fc"],
        FC,
        "the same with flash that takes all writes (FC, reconstructed)"
    ),
    entry!(
        "st5000as0011+rmw-f" = ["st5000as0011", "flash-mlc", "rmw-f"],
        RMW_F,
        "the same with flash for what would cause RMWs (RMW-F, reconstructed)"
    ),
    entry!(
        "st5000as0011+mcm" = ["st5000as0011", "flash-mlc", "mcm"],
        MCM,
        "the same with flash in regions by kind and heat of the data (MCM)"
    ),
    entry!(
        "st8000dm004",
        DRIVE_MANAGED,
        "Seagate BarraCuda 8 TB, drive-managed SMR; buffer not published"
    ),
    entry!("wd60ezaz", DRIVE_MANAGED, "WD Blue 6 TB, drive-managed SMR; buffer not published"),
    entry!(
        "hdwd220",
        DRIVE_MANAGED,
        "Toshiba P300 2 TB, 7200 rpm, drive-managed SMR; buffer not published"
    ),
    entry!("ha-roco", HOST_AWARE, "the host-aware SMR disk of ROCO, 146 GB, zones 16 MiB"),
    entry!("ha-256m", HOST_AWARE, "a host-aware SMR disk of 8 TB, zones 256 MiB"),
    entry!(
        "exos-x18z",
        HOST_MANAGED,
        "Seagate 18 TB, host-managed SMR (Amphisbaena), zones 256 MiB"
    ),
    entry!("hc620", HOST_MANAGED, "WD Ultrastar DC HC620 14 TB, host-managed SMR, zones 256 MiB"),
    entry!("hc680", HOST_MANAGED, "WD Ultrastar DC HC680 27 TB, host-managed SMR, zones 256 MiB"),
    entry!("hc690", HOST_MANAGED, "WD Ultrastar DC HC690 32 TB, host-managed SMR, zones 256 MiB"),
    entry!("hm-tiny", HOST_MANAGED, "a host-managed SMR disk of 128 zones of 1 MiB"),
    entry!("sac-emulator", EMULATOR, "SAC's emulator: FIFO log, bands 20 to 41 MB"),
    entry!("pore-emulator", EMULATOR_IN_PLACE, "PORE's emulator: FIFO buffer, bands 18 MiB"),
    entry!("cmr5900", CONVENTIONAL, "a conventional 5 TB disk of the 5900 rpm class"),
    entry!("cmr7200", CONVENTIONAL, "a conventional 500 GB disk of 7200 rpm"),
];

static SSDS: &[DriveEntry] = &[
    entry!("pcie-ssd", SSD, "a PCIe SSD, 28 us for each 4 KiB (SAC)"),
    entry!("ssd-slc", FLASH_SSD, "4 GB of SLC flash that collects garbage (ROCO)"),
];

/// Returns all drives.
#[must_use]
pub fn drives() -> &'static [DriveEntry] {
    DRIVES
}

/// Returns all SSDs.
#[must_use]
pub fn ssds() -> &'static [DriveEntry] {
    SSDS
}

/// A name that leads to a file.
enum File {
    Profile(Probed),
    Sheet(OwnSheet),
}

impl File {
    /// Reads the file, if `name` names one.
    fn read(name: &str) -> Result<Option<File>, DriveError> {
        if let Some(file) = name.strip_prefix(PROFILE) {
            let sheet = |like: &str| find(DRIVES, like).expect("a drive of the registry").sheet();
            return Probed::read(name, file, sheet).map(|model| Some(File::Profile(model)));
        }
        let sheet = name.strip_prefix(SHEET).map(OwnSheet::read).transpose()?;
        Ok(sheet.map(File::Sheet))
    }
}

/// Creates the drive called `name`, or that of a profile (`profile:FILE`) or of a sheet
/// (`sheet:FILE`).
///
/// # Errors
/// If there is none, or it cannot be created with these settings.
pub fn make(name: &str, settings: &Settings) -> Result<Box<dyn Drive>, DriveError> {
    match File::read(name)? {
        None => find(DRIVES, name)?.build("drive", settings),
        Some(File::Profile(probed)) => {
            let like = find(DRIVES, probed.like)?;
            probed.make(settings, like.model.make, underneath)
        }
        Some(File::Sheet(own)) => own.build(name, "drive", settings),
    }
}

/// Creates the SSD called `name`, or that of a sheet (`sheet:FILE`).
///
/// # Errors
/// If there is none, or it cannot be created with these settings.
pub fn make_ssd(name: &str, settings: &Settings) -> Result<Box<dyn Drive>, DriveError> {
    match File::read(name)? {
        Some(File::Sheet(own)) => own.build(name, "ssd", settings),
        _ => find(SSDS, name)?.build("ssd", settings),
    }
}

impl OwnSheet {
    /// Creates it, called `name`, as a `drive` or an `ssd`.
    fn build(
        mut self,
        name: &str,
        wanted: &str,
        settings: &Settings,
    ) -> Result<Box<dyn Drive>, DriveError> {
        let refuse = |what: &str| DriveError::Refused(format!("{name}: {what}"));
        match (self.model.ssd, wanted) {
            (true, "drive") => {
                return Err(refuse("it is the sheet of an SSD; give that of a disk"));
            }
            (false, "ssd") => return Err(refuse("it is the sheet of a disk; give that of an SSD")),
            _ => {}
        }
        self.sheet.apply(wanted, &settings.overrides)?;
        self.model.make(name, &self.sheet, settings)
    }
}

/// Returns what is known of `name`: a drive, an SSD, a profile or a sheet.
///
/// # Errors
/// If it does not exist.
pub fn entry(name: &str) -> Result<Known, DriveError> {
    let known = |about: String, model: &Model, parameters| Known {
        name: name.to_owned(),
        about,
        shingled: model.shingled,
        ssd: model.ssd,
        idle_cleaning: None,
        unknown: Vec::new(),
        parameters,
    };
    Ok(match File::read(name)? {
        None => {
            let found = find(SSDS, name).or_else(|_| find(DRIVES, name))?;
            known(found.about.to_owned(), found.model, found.parameters())
        }
        Some(File::Sheet(own)) => known(own.about, own.model, own.sheet.parameters()),
        Some(File::Profile(probed)) => {
            let like = find(DRIVES, probed.like)?;
            Known {
                idle_cleaning: probed.idle_cleaning,
                unknown: probed.unknown.clone(),
                ..known(
                    format!("a probed disk, after {}: {}", like.name, like.about),
                    like.model,
                    probed.parameters(),
                )
            }
        }
    })
}

fn find(entries: &'static [DriveEntry], name: &str) -> Result<&'static DriveEntry, DriveError> {
    let found = entries.iter().find(|entry| entry.name == name);
    // A drive whose name is the disk's number, except for capitals.
    let meant = entries.iter().find(|entry| entry.name.eq_ignore_ascii_case(name));
    found.ok_or_else(|| match named(name) {
        Some(disk) if std::ptr::eq(entries, DRIVES) && meant.is_none() => DriveError::RealDisk {
            name: name.to_owned(),
            disk: disk.to_string(),
            nearest: disk.nearest.clone(),
        },
        _ => DriveError::UnknownDrive {
            kind: if std::ptr::eq(entries, SSDS) { "SSD" } else { "drive" },
            name: name.to_owned(),
            names: match meant {
                Some(entry) => entry.name.into(),
                None => nearest(name, entries.iter().map(|entry| entry.name)).join(", "),
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sheet::{Overrides, Value};
    use shingle_core::units::Nanos;

    #[test]
    fn every_parameter_has_a_source_and_every_drive_can_be_made() {
        for entry in drives().iter().chain(ssds()) {
            for parameter in entry.parameters() {
                let name = format!("{} {}", entry.name, parameter.name);
                assert!(!parameter.source.trim().is_empty(), "{name} has no source");
                assert!(!parameter.about.trim().is_empty(), "{name} is not explained");
            }
            let drive = entry.build("drive", &Settings::default()).expect(entry.name);
            drive.check();
            let description = drive.description();
            assert!(description.disk_blocks > 0);
            assert_eq!(entry.shingled, description.bands.is_some(), "{}", entry.name);
            let required = description.exposed.is_some_and(|zones| zones.sequential_required);
            let buffered = entry.shingled && !required;
            assert_eq!(buffered, description.buffer_blocks > 0, "{}", entry.name);
        }
    }

    /// The parameters of a drive; of a disk with something built in, those that the disk has not.
    fn own(entry: &DriveEntry) -> Vec<Parameter> {
        let sheets = entry.sheets;
        let own = if sheets.len() > 1 { &sheets[1..] } else { sheets };
        Sheet::join(own.iter().map(|text| Sheet::parse(text))).parameters()
    }

    #[test]
    fn every_parameter_takes_its_own_value_back() {
        for entry in drives().iter().chain(ssds()) {
            for parameter in own(entry) {
                let set = Overrides::new().with(&parameter.name, &parameter.value.to_string());
                let settings = Settings { overrides: set, ..Settings::default() };
                if let Err(error) = entry.build("drive", &settings) {
                    panic!("{} {}: {error}", entry.name, parameter.name);
                }
            }
        }
    }

    #[test]
    fn no_value_that_is_allowed_brings_a_drive_down() {
        use crate::io::Io;
        use shingle_core::units::{Block, Op};
        // One end of each range, and both where more is asked for.
        for (nth, (entry, parameter)) in drives()
            .iter()
            .chain(ssds())
            .flat_map(|entry| own(entry).into_iter().map(move |p| (entry, p)))
            .enumerate()
        {
            let ends = [parameter.range.0, parameter.range.1];
            let tried = shingle_testbed::times(1).min(2) as usize;
            for extreme in ends.into_iter().cycle().skip(nth % 2).take(tried) {
                let value = match parameter.value {
                    Value::Switch(on) => if on { "off" } else { "on" }.to_owned(),
                    _ => format!("{extreme:.0}"),
                };
                let mut overrides = Overrides::new();
                if entry.parameters().iter().any(|p| p.name == "flash_bytes") {
                    overrides.set("flash_bytes", "268435456"); // filling and draining it is quick
                }
                overrides.set(&parameter.name, &value);
                let settings = Settings { overrides, ..Settings::default() };
                // Refused in words, or made and fit for work.
                let Ok(mut drive) = entry.build("drive", &settings) else { continue };
                let blocks = drive.description().disk_blocks;
                let mut now = Nanos::ZERO;
                for (turn, op) in
                    [Op::Write, Op::Read, Op::Write, Op::Flush].into_iter().enumerate()
                {
                    let block = Block(blocks / 5 * turn as u64);
                    let count = if op == Op::Flush { 0 } else { 1 + blocks / 5 % 300 };
                    let io = Io { op, block, count };
                    // What breaks a rule of its zones is refused in words, too.
                    now = match drive.zoned() {
                        Some(zoned) => zoned.try_serve(now, &io, &mut []).map_or(now, |s| s.done),
                        None => drive.serve(now, &io, &mut []).done,
                    };
                }
                assert!(drive.drain(now) >= now, "{} {}={value}", entry.name, parameter.name);
            }
        }
    }

    #[test]
    fn a_makers_number_is_answered_with_what_is_known() {
        let error = make("ST4000DM004-2CV104", &Settings::default()).err().expect("refused");
        let nearest = &named("ST4000DM004").expect("in the table").nearest;
        let told = error.to_string();
        assert!(told.contains("Seagate BarraCuda, 4 TB, drive-managed SMR"), "{told}");
        assert!(
            told.contains(&format!("-d {nearest}")) && told.contains("shingle probe"),
            "{told}"
        );
        assert_eq!(told.lines().count(), 1);
        let error = make_ssd("ST4000DM004", &Settings::default()).err().expect("refused");
        assert!(matches!(error, DriveError::UnknownDrive { kind: "SSD", .. }), "{error}");
    }

    #[test]
    fn a_wrong_name_or_value_is_answered_in_one_line() {
        let wrong = |name: &str, value: &str| {
            let overrides = Overrides::new().with(name, value);
            let made = make("st8000as0002", &Settings { overrides, ..Settings::default() });
            made.err().expect("refused").to_string()
        };
        assert!(wrong("rmp", "7200").starts_with("no parameter `drive.rmp`; there are rpm, "));
        let message = wrong("rpm", "fast");
        assert!(message.contains("not `fast`; for example drive.rpm=5980"), "{message}");
        assert!(wrong("write_cache", "7").contains("`on` or `off`"));
        assert!(wrong("rpm", "0").contains("from "));
        let error = make("st8000a", &Settings::default()).err().expect("refused").to_string();
        assert!(
            error.starts_with("there is no drive `st8000a`; there are st8000as0002, "),
            "{error}"
        );
        assert_eq!(error.lines().count(), 1);
    }
}
