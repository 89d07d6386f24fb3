//! What nobody can measure of a real run is null in the JSON, not zero.

use serde_json::Value;
use shingle_result::Report;

/// What only a model knows, or nobody: by its place in a run.
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

/// Likewise, of the SSD.
const UNMEASURED_SSD: &[&str] = &["ssd.programmed_blocks", "ssd.copied_blocks", "ssd.erases"];

/// Likewise, of a part of the run.
const UNMEASURED_OF_PART: &[&str] = &["clean_seconds", "rmw", "buffer_blocks", "buffer_bands"];

/// The report, with null where nothing was measured. `drained`: what was left was done at the end.
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
    // What is in a real disk's buffer nobody can tell, nor which bands it cleans.
    let in_buffer = ["left.buffer_blocks", "left.buffer_bands"];
    let of_drain =
        ["drained.buffer_blocks", "drained.buffer_bands", "drained.rmw", "drained.rmw_free"];
    if !emulated {
        in_buffer.into_iter().chain(of_drain).for_each(|name| forget(name.into()));
    }
    // What work takes only who has done it can tell; its parts are done side by side.
    match drained {
        true => forget("drained.by_cause".into()),
        false => ["seconds", "by_cause", "rmw", "rmw_free", "read_blocks", "written_blocks"]
            .iter()
            .for_each(|name| forget(format!("left.{name}"))),
    }
}
