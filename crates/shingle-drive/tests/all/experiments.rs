//! The papers' experiments on bare drives: what can be said of them beforehand.

use shingle_core::units::Op;
use shingle_drive::entry;
use shingle_drive::measure::experiments::sac::{Start, figure_1, table_2, table_3};
use shingle_drive::measure::experiments::{Bandwidth, pore};

/// SAC Figure 1: the shingled disk swings by far more than the conventional one, and is slower.
#[test]
fn bandwidth_of_a_full_shingled_disk_varies_and_of_a_conventional_disk_does_not() {
    let series = |drive| figure_1(drive, Start::Full, 600, 7).expect("measured");
    let (smr, cmr) = (series("st8000as0002"), series("cmr5900"));
    assert_eq!((smr.bytes.len(), cmr.bytes.len()), (600, 600));
    assert!(smr.bytes.iter().all(|bytes| bytes % 4096 == 0));
    let (smr, cmr) = (smr.bandwidth(), cmr.bandwidth());
    assert!(cmr.rsd() < 0.1 && smr.rsd() > 5.0 * cmr.rsd(), "{smr:?} {cmr:?}");
    assert!(smr.mean < cmr.mean / 4.0, "{smr:?} {cmr:?}");
    assert_eq!(series("cmr5900"), series("cmr5900"));
}

/// SAC Table 2: reads vary little; writes of the shingled disk, from an empty buffer, by multiples of
/// their mean.
#[test]
fn writes_of_a_shingled_disk_vary_as_nothing_else_does() {
    let cell = |drive, op, seconds| -> Bandwidth {
        table_2(drive, op, Start::Empty, seconds, 1).expect("measured")
    };
    for drive in ["cmr5900", "st8000as0002"] {
        assert!(cell(drive, Op::Read, 60).rsd() < 0.15);
    }
    assert!(cell("cmr5900", Op::Write, 60).rsd() < 0.3);
    assert!(cell("st8000as0002", Op::Write, 3600).rsd() > 2.0);
}

/// SAC Table 3: the buffer is full by extents of small writes, by bytes of large ones.
#[test]
fn the_buffer_is_detected() {
    let blocks = entry("st8000as0002").expect("known").parameters();
    let log_bytes = blocks.iter().find(|parameter| parameter.name == "log_bytes").expect("there");
    let small = table_3("st8000as0002", 4096, 1).expect("measured");
    // 184,000 live extents, and a few overwritten.
    assert!((184_000..184_100).contains(&(small.buffer_bytes / 4096)), "{small:?}");
    assert!(small.iops_after < small.iops_before / 20.0, "{small:?}");
    assert!((small.seconds * small.iops_before - 184_000.0).abs() < 200.0, "{small:?}");
    let large = table_3("st8000as0002", 256 * 1024, 1).expect("measured");
    let limit: u64 = log_bytes.value.to_string().parse().expect("a count");
    // Overwritten blocks are holes, which take their place until the tail reaches them.
    assert!(large.buffer_bytes.abs_diff(limit) <= 256 * 1024, "{large:?}");
}

#[test]
fn what_an_experiment_cannot_run_on_is_refused_in_a_line() {
    let conventional = table_3("cmr5900", 4096, 1).expect_err("no buffer").to_string();
    assert_eq!(conventional, "cmr5900: no buffer to detect; take a shingled drive");
    let odd = table_3("st8000as0002", 5000, 1).expect_err("no whole block").to_string();
    assert_eq!(odd, "st8000as0002: a write is of whole blocks of 4096 bytes");
    let pore = pore::figure_3_shingled("cmr7200", 56 << 30, 1).expect_err("no buffer").to_string();
    assert_eq!(pore, "cmr7200: no buffer to fill; take a shingled one");
    assert!(figure_1("st800", Start::Full, 1, 1).is_err());
    assert!(pore::figure_3_conventional("cmr", 56 << 30, 1).is_err());
}
