//! Computes figures from the counters at two moments of a run.

use shingle_core::units::{BLOCK_BYTES, Nanos};
use shingle_drive::Counters;
use shingle_trace::summary::ratio;

use crate::counters::{HostCounters, Snapshot};
use crate::counts::{
    Buffer, ByCall, ByCause, Counts, DriveIo, Evictions, Hits, HostRmw, PerOp, Requests, Seconds,
    Ssd,
};

impl Counts {
    /// Computes what happened from `before` to `after`.
    #[must_use]
    pub fn between(before: &Snapshot, after: &Snapshot) -> Counts {
        let (host, disk) = (&(after.host - before.host), &(after.disk - before.disk));
        let ssd = &(after.ssd - before.ssd);
        let medium_bytes =
            disk.band_bytes_written + disk.native_bytes_written + disk.log_bytes_written;
        Counts {
            requests: Requests {
                read: host.read_requests,
                write: host.write_requests,
                trim: host.trim_requests,
                flush: host.flush_requests,
            },
            accesses: PerOp { read_blocks: host.read_blocks, write_blocks: host.write_blocks },
            hits: Hits {
                read_blocks: host.read_hits,
                write_blocks: host.write_hits,
                ratio: ratio(
                    host.read_hits + host.write_hits,
                    host.read_blocks + host.write_blocks,
                ),
            },
            bypass: PerOp { read_blocks: host.bypassed_reads, write_blocks: host.bypassed_writes },
            fills: host.fills,
            kept: host.cleaned,
            evictions: Evictions {
                clean_blocks: host.evicted_clean,
                dirty_blocks: host.evicted_dirty,
                trimmed_blocks: host.trimmed,
            },
            host_rmw: HostRmw {
                zones: host.host_rmw,
                read_blocks: host.host_rmw_read_blocks,
                written_blocks: host.host_rmw_written_blocks,
                added_blocks: host.host_rmw_added_blocks,
            },
            ssd: Ssd {
                read_blocks: ssd.read_blocks,
                written_blocks: ssd.written_blocks,
                programmed_blocks: ssd.pages_programmed,
                copied_blocks: ssd.pages_copied,
                erases: ssd.flash_blocks_erased,
            },
            drive_io: DriveIo::of(disk),
            pb: Buffer::of(disk),
            wa_band: ratio(disk.band_bytes_written, disk.buffer_evicted_blocks * BLOCK_BYTES),
            wa_drive: ratio(medium_bytes, disk.written_blocks * BLOCK_BYTES),
            wa_host: ratio(medium_bytes, host.write_blocks * BLOCK_BYTES),
            wa_flash: ratio(ssd.pages_programmed, ssd.written_blocks)
                .filter(|_| ssd.pages_programmed > 0),
            seconds: Seconds::of(host, disk),
        }
    }
}

impl DriveIo {
    fn of(disk: &Counters) -> DriveIo {
        DriveIo {
            read_blocks: disk.read_blocks,
            written_blocks: disk.written_blocks,
            rmw: disk.rmw,
            rmw_free: disk.rmw_free,
            rmw_read_bytes: disk.rmw_read_bytes,
            band_bytes_written: disk.band_bytes_written,
            truncated: disk.truncated,
            native_bytes_written: disk.native_bytes_written,
            in_order_bands: disk.in_order_bands,
            log_bytes_written: disk.log_bytes_written,
            synthesized_blocks: disk.synthesized_blocks,
            beyond_pointer_blocks: disk.beyond_pointer_blocks,
            zone_resets: disk.zone_resets,
            zone_closes: disk.zone_closes,
        }
    }
}

impl Buffer {
    fn of(disk: &Counters) -> Buffer {
        Buffer {
            read_blocks: disk.buffer_read_blocks,
            written_blocks: disk.buffer_written_blocks,
            native_read_blocks: disk.native_read_blocks,
            write_hits: disk.buffer_write_hits,
            evicted_blocks: disk.buffer_evicted_blocks,
            moved_blocks: disk.buffer_moved_blocks,
        }
    }
}

impl Seconds {
    fn of(host: &HostCounters, disk: &Counters) -> Seconds {
        let ssd = host.ssd_read_time + host.ssd_write_time;
        let total: Nanos = [ssd, disk.read_time, disk.log_time, disk.write_time, disk.clean_time]
            .into_iter()
            .sum();
        Seconds {
            total: total.as_secs_f64(),
            by_call: ByCall {
                ssd_read: host.ssd_read_time.as_secs_f64(),
                ssd_write: host.ssd_write_time.as_secs_f64(),
                drive_read: host.drive_read_time.as_secs_f64(),
                drive_write: host.drive_write_time.as_secs_f64(),
            },
            by_cause: ByCause {
                ssd: ssd.as_secs_f64(),
                read: disk.read_time.as_secs_f64(),
                log: disk.log_time.as_secs_f64(),
                write: disk.write_time.as_secs_f64(),
                clean: disk.clean_time.as_secs_f64(),
                idle_clean: disk.idle_clean_time.as_secs_f64(),
            },
        }
    }
}
