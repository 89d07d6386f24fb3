//! A format that ends half-way.

use crate::common::{formatted, read, wanted, write};
use shingle_translated::{Format, OpenError, format, inspect};
use shingle_zoned::Operation;

/// The map before, whole, or none, or the new one, empty: whichever write or flush was the last.
#[test]
fn a_format_that_ends_half_way_leaves_one_map_or_none() {
    let new = Format { uuid: Some([7; 16]), force: true, ..wanted("fluid") };
    for operation in [Operation::Write, Operation::Flush] {
        let mut seen = [0; 3];
        for after in 0.. {
            let disk = formatted("log");
            let live = disk.open();
            (0..60).for_each(|block| write(&live, block, 1, 1).expect("room"));
            live.close().expect("no faults");
            disk.fail(operation, after, u64::MAX);
            let done = format(&disk, &new);
            disk.go_on();
            disk.0.cut_power();
            disk.0.restart();
            let found = inspect(&disk);
            match &found {
                Ok(found) => assert_eq!(found.damage, None, "{operation:?} {after}"),
                Err(OpenError::NotFormatted { .. }) => {}
                Err(error) => panic!("{operation:?} {after}: {error}"),
            }
            match found {
                Ok(found) if found.translation == "log" => {
                    seen[0] += 1;
                    let live = disk.open();
                    (0..60).for_each(|block| assert_eq!(read(&live, block).ok(), Some(1)));
                    drop(live);
                }
                Ok(_) => {
                    seen[2] += 1;
                    let live = disk.open();
                    (0..60).for_each(|block| assert_eq!(read(&live, block).ok(), Some(0)));
                }
                Err(_) => {
                    seen[1] += 1;
                    // Nothing is in the way of the next one.
                    format(&disk, &Format { force: false, ..new.clone() }).expect("there is none");
                }
            }
            if done.is_ok() {
                break;
            }
        }
        assert!(seen.iter().all(|count| *count > 0), "{operation:?}: {seen:?}");
    }
}
