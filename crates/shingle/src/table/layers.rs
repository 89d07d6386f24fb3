//! Layers between the cache and the platters, in words: a translation, flash inside the disk.

use shingle_core::size::show_bytes;
use shingle_result::verdict::count;
use shingle_result::{Erases, Flash, Translating};

use super::words::ratio;

/// Describes the work and the wear of the flash inside the disk.
pub(super) fn inside(flash: &Flash) -> String {
    let spread = |erases: &Erases| {
        format!(
            "{} of {} erase blocks each, {:.1} on average, deviation {:.1}",
            match erases.min == erases.max {
                true => erases.min.to_string(),
                false => format!("{} to {}", erases.min, erases.max),
            },
            count(erases.blocks),
            erases.mean,
            erases.stddev,
        )
    };
    let mut text = format!(
        "flash inside: {} blocks written, {} read, {} written back; {} pages copied, of these {} to \
         another region; wa_flash {}\nerases: {}; {}\n",
        count(flash.written_blocks),
        count(flash.read_blocks),
        count(flash.evicted_blocks),
        count(flash.copied_blocks),
        count(flash.migrated_blocks),
        ratio(flash.wa_flash),
        count(flash.erases),
        spread(&flash.all),
    );
    if flash.regions.len() > 1 {
        for region in &flash.regions {
            text += &format!("  {}: {}\n", region.name, spread(&region.erases));
        }
    }
    if let Some(lifetime) = flash.lifetime {
        text += &format!(
            "lasts for {} written with {} erases a block, {} if they were spread evenly\n",
            show_bytes(lifetime.worst_bytes as u64),
            count(u64::from(flash.endurance)),
            show_bytes(lifetime.even_bytes as u64),
        );
    }
    text
}

/// Describes the work of the translation `log`, which has no buffer, and writes no zone back.
pub(super) fn logged(did: &Translating) -> String {
    format!(
        "translation: {} zones cleaned, {} blocks moved; memory {}\n",
        count(did.cleanings),
        count(did.moved_blocks),
        show_bytes(did.memory_bytes),
    )
}

/// Describes the work of any other, in the terms of Amphisbaena's figures 13 to 17 and 24.
pub(super) fn translated(did: &Translating) -> String {
    let share = |part: u64, whole: u64| match whole {
        0 => "-".into(),
        whole => format!("{:.2} %", 100.0 * part as f64 / whole as f64),
    };
    let mean = did.evicted_blocks as f64 / did.victims.max(1) as f64;
    format!(
        "translation: write hits {}, of all writes {} in the buffer for hot blocks; {} cleanings \
         wrote {} zones back, {:.1} blocks each, {} collections stopped early\npadding: {} blocks in \
         gaps, {} with all rewritings; {} blocks moved within the buffer; chunks to hot {}, back \
         {}; memory {}\n",
        share(did.write_hits, did.written_blocks),
        share(did.hot_hits, did.written_blocks),
        count(did.cleanings),
        count(did.victims),
        mean,
        count(did.aborted),
        count(did.padded_first_blocks),
        count(did.padded_blocks),
        count(did.moved_blocks),
        count(did.chunks_to_hot),
        count(did.chunks_to_cold),
        show_bytes(did.memory_bytes),
    )
}
