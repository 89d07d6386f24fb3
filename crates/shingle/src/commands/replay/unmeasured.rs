//! Figures that cannot be measured in a real run: they are null in the JSON, not zero.

use serde_json::Value;
use shingle_result::Report;

/// Fields of a run that only a model knows, or that do not exist.
const UNMEASURED: &[&str] = &[
    "drive_io.rmw",
    "drive_io.rmw_free",
    "drive_io.rmw_read_bytes",
    "drive_io.band_bytes_written",
    "drive_io.truncated",
    "drive_io.native_bytes_written",
    "drive_io.in_order_bands",
    "drive_io.log_bytes_written",
    "drive_io.synthesized_blocks",
    "drive_io.beyond_pointer_blocks",
    "drive_io.zone_resets",
    "drive_io.zone_closes",
    "pb.read_blocks",
    "pb.written_blocks",
    "pb.native_read_blocks",
    "pb.write_hits",
    "pb.evicted_blocks",
    "pb.moved_blocks",
    "wa_band",
    "wa_drive",
    "wa_host",
    "seconds.by_cause.log",
    "seconds.by_cause.clean",
    "seconds.by_cause.idle_clean",
];

/// The same for the SSD.
const UNMEASURED_SSD: &[&str] = &["ssd.programmed_blocks", "ssd.copied_blocks", "ssd.erases"];

/// The same for a part of the run.
const UNMEASURED_OF_PART: &[&str] = &["clean_seconds", "rmw", "buffer_blocks", "buffer_bands"];

/// Returns the report, with null where nothing was measured. `drained`: the work left was done at
/// the end.
pub(super) fn left_out(report: &Report, drained: bool) -> anyhow::Result<Value> {
    let mut value = serde_json::to_value(report)?;
    for (nth, run) in report.runs.iter().enumerate() {
        if let (Some(measured), Some(run)) =
            (&run.measured, value.pointer_mut(&format!("/runs/{nth}")))
        {
            of_run(run, measured.emulated, drained);
        }
    }
    Ok(value)
}

fn of_run(run: &mut Value, emulated: bool, drained: bool) {
    if let (false, Some(Value::Array(parts))) = (emulated, run.get_mut("series")) {
        for part in parts {
            UNMEASURED_OF_PART.iter().for_each(|&name| part[name] = Value::Null);
        }
    }
    let mut forget = |path: String| {
        if let Some(place) = run.pointer_mut(&format!("/{}", path.replace('.', "/"))) {
            *place = Value::Null;
        }
    };
    let of_disk = if emulated { &[][..] } else { UNMEASURED };
    for part in ["all", "warm"] {
        let names = of_disk.iter().chain(UNMEASURED_SSD);
        names.for_each(|name| forget(format!("{part}.{name}")));
    }
    // The contents of a real disk's buffer, and the bands it cleans, are unknown.
    let in_buffer = ["left.buffer_blocks", "left.buffer_bands"];
    let of_drain =
        ["drained.buffer_blocks", "drained.buffer_bands", "drained.rmw", "drained.rmw_free"];
    if !emulated {
        in_buffer.into_iter().chain(of_drain).for_each(|name| forget(name.into()));
    }
    // The time of work left is known only if it was done; its parts run in parallel.
    match drained {
        true => forget("drained.by_cause".into()),
        false => ["seconds", "by_cause", "rmw", "rmw_free", "read_blocks", "written_blocks"]
            .iter()
            .for_each(|name| forget(format!("left.{name}"))),
    }
}
