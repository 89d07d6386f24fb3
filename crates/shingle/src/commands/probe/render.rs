//! What a probe prints.

use std::fmt::Write;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use shingle_core::size::show_bytes;
use shingle_core::units::BLOCK_BYTES;
use shingle_drive::profile::{
    BandFacts, BufferFacts, CapacityFacts, IdleFacts, Kind, Profile, RmwFacts, ZoneFacts,
};
use shingle_probe::findings::Findings;
use shingle_probe::plan::Step;
use shingle_probe::target::Facts;
use shingle_result::verdict::count;

use crate::table::wrapped_to;

/// A size in powers of 1000, as disks are sold.
pub(crate) fn bytes(bytes: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    let digits = if unit == 0 || value >= 100.0 { 0 } else { 1 + usize::from(value < 10.0) };
    format!("{value:.digits$} {}", units[unit])
}

fn time(seconds: f64) -> String {
    match seconds {
        s if s < 100.0 => format!("{s:.0} s"),
        s if s < 6000.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

pub(super) fn table(head: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.set_header(head);
    for (at, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if at > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

pub(super) fn lines(table: &Table) -> String {
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// What a probe will do.
pub(crate) fn plan(facts: &Facts, steps: &[Step]) -> String {
    let mut text = format!("{}, serial {}, {}\n\n", facts.name, facts.serial, size(facts));
    let mut rows = table(&["step", "measurements", "writes", "reads", "time"]);
    for step in steps {
        rows.add_row([
            step.what.clone(),
            step.count.to_string(),
            bytes(step.written_bytes),
            bytes(step.read_bytes),
            time(step.seconds),
        ]);
    }
    let sum = |of: fn(&Step) -> u64| bytes(steps.iter().map(of).sum());
    rows.add_row([
        "all".to_owned(),
        steps.iter().map(|step| step.count).sum::<u64>().to_string(),
        sum(|step| step.written_bytes),
        sum(|step| step.read_bytes),
        time(steps.iter().map(|step| step.seconds).sum()),
    ]);
    text.push_str(&lines(&rows));
    text.push_str(
        "\nAs expected of a drive like the ST8000AS0002 that SAC measured; a disk that turns out to have \
         no buffer is done after the first look. Nothing was written.\n",
    );
    text
}

/// What a probe will do, before it begins, in a line.
pub(super) fn expected(steps: &[Step]) -> String {
    let all = time(steps.iter().map(|step| step.seconds).sum());
    match steps.iter().map(|step| step.written_bytes).sum() {
        0 => format!("nothing is written, and it takes about {all}"),
        written => format!(
            "if the disk has a buffer, some {} are written, in about {all} (--dry-run has the steps)",
            bytes(written)
        ),
    }
}

fn size(facts: &Facts) -> String {
    bytes(facts.blocks * BLOCK_BYTES)
}

/// What a disk is, in words.
pub(crate) fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Conventional => "conventional: each write takes the time of a seek",
        Kind::DriveManaged => {
            "drive-managed shingled: writes go to a buffer, and wait when it is full"
        }
        Kind::HostAware => "host-aware shingled: exposes zones, and takes writes anywhere",
        Kind::HostManaged => "host-managed shingled: exposes zones that are written in order",
        Kind::SolidState => {
            "solid-state, or a cache that holds all of it: nothing takes the time of a seek"
        }
        Kind::Hidden => "not found out: nothing shows for sure what writes go to",
    }
}

/// Characters before what is said of a property.
const NAMES_WIDTH: usize = 10;

/// What was found, in lines of `width` characters.
pub(crate) fn findings(findings: &Findings, profile: &Profile, width: usize) -> String {
    let name = format!("{}, {}, serial {}", profile.name, size(&findings.facts), profile.serial);
    let lines = [
        ("disk", Some(name)),
        ("is", Some(kind(profile.kind).to_owned())),
        ("so", slowed(profile).map(slowing)),
        ("reads", Some(reads(profile))),
        ("zones", profile.zones.map(zones)),
        ("buffer", profile.buffer.as_ref().map(limits)),
        ("bands", (!profile.bands.is_empty()).then(|| bands(profile, findings.bands.len()))),
        ("R(x)", profile.rmw.map(rewriting)),
        ("idle", profile.idle.map(idling)),
    ];
    let mut text = String::new();
    for (name, value) in lines {
        if let Some(value) = value {
            let value = wrapped_to(&value, width - NAMES_WIDTH);
            let value = value.replace('\n', &format!("\n{:NAMES_WIDTH$}", ""));
            let _ = writeln!(text, "{name:<NAMES_WIDTH$}{value}");
        }
    }
    text.extend(profile.buffer.as_ref().map(|buffer| capacities(buffer, width)));
    for told in &findings.notes {
        let _ = writeln!(text, "\n{}", wrapped_to(&format!("Note: {told}."), width));
    }
    text
}

fn slowing(row: &CapacityFacts) -> String {
    format!(
        "random writes of {} run at {:.0} a second until {} were written without a pause, then at \
         {:.0}: a full buffer makes the disk {:.0} times slower",
        show_bytes(row.write_bytes),
        row.iops_before,
        bytes(row.bytes),
        row.iops_after,
        row.iops_before / row.iops_after
    )
}

fn reads(profile: &Profile) -> String {
    let rate = |us: f64| format!("{:.0} MB/s", BLOCK_BYTES as f64 / us.max(1e-3));
    let read = &profile.read;
    format!(
        "4 KiB at random all over the disk {:.2} ms (L_read){}; in order {} at the start, {} at the end",
        read.random_us / 1e3,
        near(profile),
        rate(read.sequential_us_per_block_first),
        rate(read.sequential_us_per_block_last)
    )
}

fn zones(zones: ZoneFacts) -> String {
    format!("{} of {}", count(zones.count), show_bytes(zones.zone_bytes))
}

fn limits(buffer: &BufferFacts) -> String {
    let entries = buffer.extents.map(|entries| format!("{} writes", count(entries)));
    match (entries, buffer.log_bytes.map(bytes)) {
        (Some(entries), Some(log)) => format!("{entries} or {log}, whichever comes first"),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => "what limits it cannot be told from these sizes of writes".to_owned(),
    }
}

fn rewriting(rmw: RmwFacts) -> String {
    format!(
        "{:.0} ms + {:.3} ms · x (± {:.3}, R² {:.4}) for zones of {} blocks",
        rmw.base_us / 1e3,
        rmw.us_per_block / 1e3,
        (rmw.us_per_block_high - rmw.us_per_block) / 1e3,
        rmw.r_squared,
        count(rmw.zone_blocks)
    )
}

fn idling(idle: IdleFacts) -> String {
    match idle.cleaning {
        true => format!(
            "cleans after {:.0} ms (or up to {:.0} ms less)",
            idle.delay_ms, idle.delay_ms_error
        ),
        false => format!("does not clean within {:.1} s", idle.delay_ms / 1e3),
    }
}

/// The measured capacities of the buffer, and how to read them.
fn capacities(buffer: &BufferFacts, width: usize) -> String {
    let mut rows = table(&["writes", "depth", "capacity", "95 % interval", "IOPS before", "after"]);
    for row in &buffer.measured {
        rows.add_row([
            show_bytes(row.write_bytes),
            row.depth.to_string(),
            bytes(row.bytes),
            format!("{} – {}", bytes(row.bytes_low), bytes(row.bytes_high)),
            format!("{:.0}", row.iops_before),
            format!("{:.0}", row.iops_after),
        ]);
    }
    const HOW_TO_READ: &str = "Writes a second before and after the buffer is full. After: mean from the first write that \
         waited to the end of the measurement, with writes spread over --buffer-max. The wider they \
         are spread, the fewer blocks each cleaning frees, and the slower it gets: compare with papers \
         only if they tell over how much they wrote.";
    format!("\n{}{}\n", lines(&rows), wrapped_to(HOW_TO_READ, width))
}

/// The plainest writes, one block at a time, if they were seen to become slow.
fn slowed(profile: &Profile) -> Option<&CapacityFacts> {
    let rows = &profile.buffer.as_ref()?.measured;
    rows.iter().find(|row| row.depth == 1 && row.iops_after > 0.0)
}

/// The read nearest to the one before that was measured, in words after that of any.
fn near(profile: &Profile) -> String {
    let nearest = profile.mechanics.as_ref().and_then(|seen| seen.reads.first());
    nearest.map_or_else(String::new, |read| {
        let away = bytes(read.blocks * BLOCK_BYTES);
        format!(", {away} from the read before {:.2} ms", read.us / 1e3)
    })
}

fn bands(profile: &Profile, places: usize) -> String {
    let place = |band: &BandFacts| match band.first_block * BLOCK_BYTES {
        at if at < profile.bytes / 20 => "the start".to_owned(),
        at if at > profile.bytes / 20 * 19 => "the end".to_owned(),
        at => bytes(at),
    };
    let sizes: Vec<u64> = profile.bands.iter().map(|band| band.blocks * BLOCK_BYTES).collect();
    let (least, most) = (sizes.iter().min().copied(), sizes.iter().max().copied());
    let (first, last) = (sizes[0], sizes[sizes.len() - 1]);
    let (least, most) = (least.unwrap_or(0), most.unwrap_or(0));
    let found = format!("at {} of {places} places", sizes.len());
    let falls = sizes.windows(2).all(|pair| pair[1] <= pair[0] + pair[0] / 100);
    if let [only] = &profile.bands[..] {
        format!("{} at {}, {found}", bytes(most), place(only))
    } else if most - least <= most / 50 {
        format!("{} each, {found}", bytes(most))
    } else if falls {
        let [from, to] = [&profile.bands[0], &profile.bands[sizes.len() - 1]].map(place);
        format!("from {} at {from} to {} at {to}, {found}", bytes(first), bytes(last))
    } else {
        format!("{} to {}, {found}", bytes(least), bytes(most))
    }
}
