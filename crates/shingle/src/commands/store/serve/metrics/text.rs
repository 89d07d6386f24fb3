//! Metrics as OpenMetrics text. Names contain the unit; sums end in `_total`.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, MetricEncoder, NoLabelSet, text,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use shingle_core::units::BLOCK_BYTES;
use shingle_store::measures::{BOUNDS_US, Histogram, KINDS, Measures, Misplaced, NotServed};

use crate::commands::store::serve::tell::Events;

/// Returns the text; with the time when the server's certificate expires, if it has one.
pub(super) fn of(
    measures: &[Measures],
    not_served: &[NotServed],
    events: &Events,
    expires: Option<SystemTime>,
) -> String {
    let mut registry = Registry::with_prefix("shingle");
    let (refused, failed) = (events.refused(), events.failed());
    let (measures, not_served) = (measures.to_vec(), not_served.to_vec());
    registry.register_collector(Box::new(All { measures, not_served, refused, failed, expires }));
    let mut out = String::new();
    // (Writing to a String cannot fail.)
    let _ = text::encode(&mut out, &registry);
    out
}

#[derive(Debug)]
struct All {
    measures: Vec<Measures>,
    not_served: Vec<NotServed>,
    refused: u64,
    failed: u64,
    expires: Option<SystemTime>,
}

type Labels = Vec<(&'static str, String)>;

/// One family of metrics.
struct Family<'a> {
    encoder: MetricEncoder<'a>,
}

impl Family<'_> {
    fn counter(&mut self, labels: &Labels, value: impl EncodeCounterValue) -> fmt::Result {
        self.encoder.encode_family(labels)?.encode_counter::<NoLabelSet, _, u64>(&value, None)
    }

    fn gauge(&mut self, labels: &Labels, value: impl EncodeGaugeValue) -> fmt::Result {
        self.encoder.encode_family(labels)?.encode_gauge(&value)
    }

    fn histogram(&mut self, labels: &Labels, value: &Histogram) -> fmt::Result {
        let bounds = BOUNDS_US.iter().map(|&us| us as f64 / 1e6).chain([f64::INFINITY]);
        let buckets: Vec<(f64, u64)> = bounds.zip(value.buckets).collect();
        let sum = value.sum_ns as f64 / 1e9;
        let mut encoder = self.encoder.encode_family(labels)?;
        encoder.encode_histogram::<NoLabelSet>(sum, value.count(), &buckets, None)
    }
}

const SECONDS: f64 = 1e-9;
const DEVICES: [&str; 2] = ["ssd", "disk"];

fn of_export(one: &Measures, more: &[(&'static str, &str)]) -> Labels {
    labelled(&one.export, more)
}

fn labelled(export: &str, more: &[(&'static str, &str)]) -> Labels {
    let export = if export.is_empty() { "default" } else { export };
    let more = more.iter().map(|&(name, value)| (name, value.to_owned()));
    [("export", export.to_owned())].into_iter().chain(more).collect()
}

/// Which devices of an export are misplaced in this way.
fn misplaced(one: &Measures, is: impl Fn(&Misplaced) -> bool) -> Vec<(&'static str, i64)> {
    let found = |device: &str| {
        let mut all = one.misplaced.iter().filter(|of| is(of));
        i64::from(all.any(|of| of.device.eq_ignore_ascii_case(device)))
    };
    DEVICES.into_iter().map(|device| (device, found(device))).collect()
}

impl All {
    /// Adds a family with any number of samples for each export.
    fn family(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        (kind, name, help): (MetricType, &str, &str),
        each: impl Fn(&mut Family<'_>, &Measures) -> fmt::Result,
    ) -> fmt::Result {
        let encoder = encoder.encode_descriptor(name, help, None, kind)?;
        let mut family = Family { encoder };
        self.measures.iter().try_for_each(|one| each(&mut family, one))
    }

    /// Adds a gauge with one sample for each export.
    fn gauge<V: EncodeGaugeValue>(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        name: &str,
        help: &str,
        value: impl Fn(&Measures) -> Option<V>,
    ) -> fmt::Result {
        self.family(encoder, (MetricType::Gauge, name, help), |family, one| {
            value(one).map_or(Ok(()), |value| family.gauge(&of_export(one, &[]), value))
        })
    }

    /// Adds a gauge with several samples for each export, told apart by a label.
    fn gauges<V: EncodeGaugeValue>(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        (name, label): (&str, &'static str),
        help: &str,
        values: impl Fn(&Measures) -> Vec<(&'static str, V)>,
    ) -> fmt::Result {
        self.family(encoder, (MetricType::Gauge, name, help), |family, one| {
            let mut values = values(one).into_iter();
            values.try_for_each(|(of, value)| family.gauge(&of_export(one, &[(label, of)]), value))
        })
    }

    /// Adds a counter with one sample for each export.
    fn counter(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        name: &str,
        help: &str,
        value: impl Fn(&Measures) -> u64,
    ) -> fmt::Result {
        self.counters(encoder, name, help, |one| [(&[], value(one))])
    }

    /// Adds a counter with several samples for each export, told apart by labels.
    fn counters<const N: usize>(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        name: &str,
        help: &str,
        values: impl Fn(&Measures) -> [(&'static [(&'static str, &'static str)], u64); N],
    ) -> fmt::Result {
        self.family(encoder, (MetricType::Counter, name, help), |family, one| {
            let mut values = values(one).into_iter();
            values.try_for_each(|(labels, value)| family.counter(&of_export(one, labels), value))
        })
    }
}

impl Collector for All {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let to = &mut encoder;
        self.identity(to)?;
        self.requests(to)?;
        self.devices(to)?;
        self.cache(to)?;
        self.errors(to)?;
        self.zoned(to)
    }
}

impl All {
    fn identity(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let version = vec![("version", env!("CARGO_PKG_VERSION").to_owned())];
        to.encode_descriptor("build", "The program that serves", None, MetricType::Info)?
            .encode_info(&version)?;
        let help = "Clients that were refused or cut off, since the start of the process";
        to.encode_descriptor("clients_refused", help, None, MetricType::Counter)?
            .encode_counter::<NoLabelSet, _, u64>(&self.refused, None)?;
        let help = "Exports that failed while others went on, since the start of the process";
        to.encode_descriptor("exports_failed", help, None, MetricType::Counter)?
            .encode_counter::<NoLabelSet, _, u64>(&self.failed, None)?;
        if let Some(at) = self.expires {
            let help = "When the certificate of the server expires, as a time of Unix";
            let at = at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
            to.encode_descriptor("certificate_expires_seconds", help, None, MetricType::Gauge)?
                .encode_gauge(&at)?;
        }
        let help = "Caches that are served, by what they are made of";
        self.family(to, (MetricType::Gauge, "cache", help), |family, one| {
            let (cache, ssd, disk) = (&*one.uuid, &*one.ssd, &*one.disk);
            let (policy, mode) = (&*one.policy, &*one.mode);
            let labels = [
                ("cache", cache),
                ("ssd", ssd),
                ("disk", disk),
                ("policy", policy),
                ("mode", mode),
            ];
            family.gauge(&of_export(one, &labels), 1_i64)
        })?;
        let help = "Whether the export is served: 0 if it could not be opened, or has failed; the log says why";
        let encoder = to.encode_descriptor("served", help, None, MetricType::Gauge)?;
        let mut family = Family { encoder };
        let served = self.measures.iter().map(|one| (&*one.export, 1_i64));
        // (One may have come into use since the others were asked: each name is told once.)
        let is_told = |one: &&NotServed| self.measures.iter().any(|of| of.export == one.export);
        let missing = self.not_served.iter().filter(|one| !is_told(one));
        let missing = missing.map(|one| (&*one.export, 0));
        served.chain(missing).try_for_each(|(name, is)| family.gauge(&labelled(name, &[]), is))?;
        let help = "Whether the store answers: 0 if its thread hangs, and all else is as it was";
        self.gauge(to, "up", help, |one| Some(i64::from(one.up)))?;
        let help = "Starts of processes that have served the cache";
        self.counter(to, "starts", help, |one| one.totals.starts)?;
        self.gauge(to, "clients", "Clients connected", |one| Some(one.now.connections))
    }

    fn requests(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Time from a request of a client to its answer";
        self.family(to, (MetricType::Histogram, "request_seconds", help), |family, one| {
            KINDS.iter().zip(&one.totals.requests).try_for_each(|(kind, of)| {
                family.histogram(&of_export(one, &[("kind", kind)]), &of.times)
            })
        })?;
        let help = "Bytes that clients asked for";
        self.family(to, (MetricType::Counter, "request_bytes", help), |family, one| {
            KINDS.iter().zip(&one.totals.requests).try_for_each(|(kind, of)| {
                family.counter(&of_export(one, &[("kind", kind)]), of.bytes)
            })
        })?;
        let help = "Requests that were answered with an error";
        self.family(to, (MetricType::Counter, "request_errors", help), |family, one| {
            KINDS.iter().zip(&one.totals.requests).try_for_each(|(kind, of)| {
                family.counter(&of_export(one, &[("kind", kind)]), of.errors)
            })
        })
    }

    fn devices(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Time that an I/O of the SSD or the disk took";
        self.family(to, (MetricType::Histogram, "io_seconds", help), |family, one| {
            DEVICES.iter().zip(&one.totals.devices).try_for_each(|(device, of)| {
                let kinds = [("read", &of.reads), ("write", &of.writes), ("flush", &of.flushes)];
                kinds.iter().try_for_each(|(kind, times)| {
                    let labels = [("device", *device), ("kind", kind)];
                    family.histogram(&of_export(one, &labels), times)
                })
            })
        })?;
        let help = "Bytes read from and written to the SSD, with journal and tables, and the disk";
        self.family(to, (MetricType::Counter, "io_bytes", help), |family, one| {
            DEVICES.iter().zip(&one.totals.devices).try_for_each(|(device, of)| {
                let labels = |kind| of_export(one, &[("device", *device), ("kind", kind)]);
                family.counter(&labels("read"), of.read_bytes)?;
                family.counter(&labels("write"), of.written_bytes)
            })
        })?;
        let help = "I/Os that the SSD or the disk has not answered yet";
        self.gauges(to, ("ios_under_way", "device"), help, |one| {
            DEVICES.into_iter().zip(one.now.ios.iter().map(|of| of.under_way)).collect()
        })?;
        let help =
            "Age of the oldest of them: a device is busy while it is young, stuck when it is old";
        self.gauges(to, ("oldest_io_seconds", "device"), help, |one| {
            let seconds = one.now.ios.iter().map(|of| of.oldest_ns as f64 * SECONDS);
            DEVICES.into_iter().zip(seconds).collect()
        })
    }

    fn cache(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Accesses of blocks, by whether they were cached";
        self.counters(to, "block_accesses", help, |one| {
            let counts = &one.totals.counts;
            [
                (&[("kind", "read"), ("cached", "hit")], counts.read_hits),
                (&[("kind", "read"), ("cached", "miss")], counts.read_misses),
                (&[("kind", "write"), ("cached", "hit")], counts.write_hits),
                (&[("kind", "write"), ("cached", "miss")], counts.write_misses),
            ]
        })?;
        let help = "Blocks that entered the cache from the disk";
        self.counter(to, "filled_blocks", help, |one| one.totals.counts.fills)?;
        let help = "Blocks that clients wrote past the cache";
        self.counter(to, "bypassed_blocks", help, |one| one.totals.counts.bypassed_blocks)?;
        let help = "Blocks that were written to the disk from the cache";
        self.counter(to, "destaged_blocks", help, |one| one.totals.destaged_blocks)?;
        let help = "Bands that were to be written whole, by whether they were: blocks of the others stayed dirty";
        self.counters(to, "whole_bands", help, |one| {
            let bands = &one.totals.bands;
            [(&[("done", "written")], bands.written), (&[("done", "given_up")], bands.given_up)]
        })?;
        let help = "Blocks that were read from the disk to write bands whole";
        self.counter(to, "band_read_blocks", help, |one| one.totals.bands.read_blocks)?;
        let help = "Blocks that were written to the disk in whole bands, cached or not";
        self.counter(to, "band_written_blocks", help, |one| one.totals.bands.written_blocks)?;
        let help = "Bytes of blocks that fit into the cache";
        self.gauge(to, "cache_bytes", help, |one| Some(one.now.slots * BLOCK_BYTES))?;
        let help = "Bytes of cached blocks, by whether the disk has them: dirty if it does not";
        self.gauges(to, ("cached_bytes", "state"), help, |one| {
            let (dirty, clean) = (one.now.dirty_blocks, one.now.clean_blocks);
            vec![("dirty", dirty * BLOCK_BYTES), ("clean", clean * BLOCK_BYTES)]
        })?;
        let help =
            "Time since the oldest dirty block became dirty, or since the start of the process";
        self.gauge(to, "oldest_dirty_seconds", help, |one| {
            Some(one.now.oldest_dirty_ns as f64 * SECONDS)
        })?;
        let help = "Bytes of blocks that have been dirty for at least so many seconds";
        self.gauges(to, ("dirty_older_bytes", "seconds"), help, |one| {
            let bytes = one.now.dirty_older.map(|blocks| blocks * BLOCK_BYTES);
            ["60", "3600", "86400"].into_iter().zip(bytes).collect()
        })?;
        let help = "Time to write all that is dirty, at the pace of the last minute of writing";
        self.gauge(to, "drain_seconds", help, |one| one.now.drain_seconds)?;
        let help = "Bytes of blocks on their way to the disk, or about to be";
        self.gauge(to, "destaging_bytes", help, |one| {
            Some(one.now.destaging_blocks * BLOCK_BYTES)
        })?;
        let help = "Whether the disk did not take what was destaged last";
        self.gauge(to, "destages_refused", help, |one| Some(i64::from(one.now.destages_refused)))?;
        let help = "Records given to the journal";
        self.counter(to, "journal_records", help, |one| one.totals.journal_records)?;
        let help = "Commits of the journal: one flush of the SSD each";
        self.counter(to, "journal_commits", help, |one| one.totals.journal_commits)?;
        let help = "Share of the journal that a restart would read";
        self.gauge(to, "journal_used_ratio", help, |one| {
            let (used, pages) = (one.now.journal_used_pages, one.now.journal_pages);
            (pages > 0).then(|| used as f64 / pages as f64)
        })
    }

    fn errors(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "I/Os that the SSD or the disk did not do";
        self.counters(to, "io_errors", help, |one| {
            let errors = &one.totals.errors;
            [
                (&[("device", "ssd"), ("kind", "read")], errors.ssd_reads),
                (&[("device", "ssd"), ("kind", "write")], errors.ssd_writes),
                (&[("device", "disk"), ("kind", "read")], errors.disk_reads),
                (&[("device", "disk"), ("kind", "write")], errors.disk_writes),
                (&[("device", "disk"), ("kind", "trim")], errors.disk_trims),
                (&[("device", "disk"), ("kind", "flush")], errors.disk_flushes),
            ]
        })?;
        let help = "Cached blocks whose checksum did not fit";
        self.counter(to, "checksum_errors", help, |one| one.totals.errors.checksums)?;
        let help = "Pages of metadata that were damaged at a start, and stood elsewhere, too";
        self.counter(to, "damaged_pages", help, |one| one.totals.errors.damaged_pages)?;
        let help = "Unflushed writes whose data had not arrived whole when the process started after a crash";
        self.counter(to, "void_records", help, |one| one.totals.errors.void_records)?;
        let help = "Bytes of dirty blocks whose data is gone: reads are errors until they are written anew";
        self.gauge(to, "lost_bytes", help, |one| Some(one.now.lost_blocks * BLOCK_BYTES))?;
        let help = "Whether the SSD takes no more writes";
        self.gauge(to, "ssd_failed", help, |one| Some(i64::from(one.totals.errors.ssd_failed)))?;
        let help = "Whether the name of a device in use leads to it no longer, so that the next start would not find it";
        self.gauges(to, ("device_misplaced", "device"), help, |one| misplaced(one, |_| true))?;
        let help = "Whether a file in use was deleted, so that what it holds is lost at the end of the server";
        self.gauges(to, ("device_deleted", "device"), help, |one| {
            misplaced(one, Misplaced::is_deleted)
        })
    }

    /// Metrics of exports on a zoned disk.
    fn zoned(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        if self.measures.iter().all(|one| one.zoned.is_none()) {
            return Ok(());
        }
        let help = "Zones of a host-managed disk, by state";
        self.gauges(to, ("zones", "state"), help, |one| {
            let Some(zoned) = &one.zoned else { return Vec::new() };
            let zones = &zoned.zones;
            vec![
                ("empty", zones.empty),
                ("open", zones.open),
                ("full", zones.full),
                ("spare", zones.spare),
                ("leaving", zones.leaving),
                ("kept", zones.kept),
                ("to_be_moved", zones.to_be_moved),
                ("bad", zones.bad),
            ]
        })?;
        let help = "Bytes of the buffer of a host-managed disk";
        self.gauges(to, ("zoned_buffer_bytes", "state"), help, |one| {
            let of_zoned = one.zoned.as_ref().map(|zoned| &zoned.buffer);
            let Some(buffer) = of_zoned.filter(|buffer| buffer.blocks > 0) else {
                return Vec::new();
            };
            let states = [("all", buffer.blocks), ("used", buffer.used), ("live", buffer.live)];
            states.map(|(state, blocks)| (state, blocks * BLOCK_BYTES)).into()
        })?;
        let help = "Whether nothing is written to the zoned disk any more";
        self.gauge(to, "zoned_failed", help, |one| {
            one.zoned.as_ref().map(|zoned| i64::from(zoned.failed.is_some()))
        })?;
        let help = "Whether writes to the zoned disk are refused: its map is full, or the last write failed";
        self.gauge(to, "zoned_writes_refused", help, |one| {
            one.zoned.as_ref().map(|zoned| i64::from(zoned.writes_refused.is_some()))
        })?;
        let help = "Runs of blocks in the map of a zoned disk, and the most that are possible; absent where all blocks have room as \
                    a run each";
        self.gauges(to, ("zoned_map_runs", "state"), help, |one| {
            let of_zoned = one.zoned.as_ref().filter(|zoned| zoned.map.runs_max < zoned.blocks);
            let map = of_zoned.map(|zoned| zoned.map);
            map.map_or(Vec::new(), |map| vec![("all", map.runs_max), ("used", map.runs)])
        })?;
        let help = "Cleanings of the zoned disk";
        self.counter(to, "zoned_cleanings", help, |one| one.totals.zoned.cleanings)?;
        let help = "Bytes that cleanings of the zoned disk moved: it grows while one gets on";
        self.counter(to, "zoned_cleaned_bytes", help, |one| {
            one.totals.zoned.cleaned_blocks * BLOCK_BYTES
        })?;
        let help = "Bytes written on the zoned disk";
        self.counters(to, "zoned_written_bytes", help, |one| {
            let [host, buffer, zones, map] = one.totals.zoned.written.map(|b| b * BLOCK_BYTES);
            [
                (&[("what", "host")], host),
                (&[("what", "buffer")], buffer),
                (&[("what", "zones")], zones),
                (&[("what", "map")], map),
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use shingle_translated::{MapStatus, Status};

    use super::*;

    #[test]
    fn what_is_measured_is_told_in_the_format() {
        let mut one = Measures { export: "a \"b\"".to_owned(), up: true, ..Measures::default() };
        one.totals.requests[1].times.add(std::time::Duration::from_micros(150));
        one.totals.requests[1].bytes = 4096;
        one.now.dirty_blocks = 3;
        one.totals.bands.given_up = 2;
        let [state, device] = ["taken", "SSD"].map(str::to_owned);
        one.misplaced = vec![Misplaced { device, state, ..Misplaced::default() }];
        let map = MapStatus { runs: 950, runs_max: 1000, ..MapStatus::default() };
        let writes_refused = Some("the map has no room".to_owned());
        one.zoned = Some(Status { map, writes_refused, blocks: 1001, ..Status::default() });
        let nameless = Measures::default();
        let expires = UNIX_EPOCH + std::time::Duration::from_secs(1_800_000_000);
        let missing = ["late", ""]
            .map(|export| NotServed { export: export.to_owned(), ..NotServed::default() });
        let roomy = one.zoned.clone().map(|zoned| Status { blocks: 1000, ..zoned });
        let roomy = Measures { export: "roomy".to_owned(), zoned: roomy, ..Measures::default() };
        let text = of(&[one, nameless, roomy], &missing, &Events::default(), Some(expires));
        for line in [
            "# TYPE shingle_request_seconds histogram",
            "shingle_request_seconds_bucket{le=\"0.0001\",export=\"a \\\"b\\\"\",kind=\"write\"} 0",
            "shingle_request_seconds_bucket{le=\"0.0002\",export=\"a \\\"b\\\"\",kind=\"write\"} 1",
            "shingle_request_seconds_bucket{le=\"+Inf\",export=\"a \\\"b\\\"\",kind=\"write\"} 1",
            "shingle_request_bytes_total{export=\"a \\\"b\\\"\",kind=\"write\"} 4096",
            "shingle_cached_bytes{export=\"a \\\"b\\\"\",state=\"dirty\"} 12288",
            "shingle_device_misplaced{export=\"a \\\"b\\\"\",device=\"ssd\"} 1",
            "shingle_device_misplaced{export=\"a \\\"b\\\"\",device=\"disk\"} 0",
            "shingle_device_deleted{export=\"a \\\"b\\\"\",device=\"ssd\"} 0",
            "shingle_whole_bands_total{export=\"a \\\"b\\\"\",done=\"given_up\"} 2",
            "shingle_up{export=\"default\"} 0",
            "shingle_served{export=\"a \\\"b\\\"\"} 1",
            "shingle_served{export=\"late\"} 0",
            "shingle_served{export=\"default\"} 1",
            "shingle_clients_refused_total 0",
            "shingle_certificate_expires_seconds 1800000000.0",
            "shingle_zones{export=\"a \\\"b\\\"\",state=\"full\"} 0",
            "shingle_zoned_writes_refused{export=\"a \\\"b\\\"\"} 1",
            "shingle_zoned_map_runs{export=\"a \\\"b\\\"\",state=\"all\"} 1000",
            "shingle_zoned_map_runs{export=\"a \\\"b\\\"\",state=\"used\"} 950",
            "# EOF",
        ] {
            assert!(text.lines().any(|found| found == line), "{line:?} is not in:\n{text}");
        }
        assert!(!text.contains("shingle_zones{export=\"default\""), "it has no zoned disk");
        assert!(!text.contains("map_runs{export=\"roomy\""), "it cannot be full");
        // One that knows no rate says none.
        assert!(!text.contains("shingle_drain_seconds{"), "{text}");
        assert!(!text.contains("shingle_served{export=\"default\"} 0"), "it is served by now");
        assert!(!of(&[], &[], &Events::default(), None).contains("certificate"), "it has none");
    }
}
