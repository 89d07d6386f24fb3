use super::*;
use std::path::PathBuf;

const MODEL: &str = "\
dm_disk tiny { # a disk of two zones
   Number of data surfaces = 2,
   Block count = 180,
   Layout Model = dm_layout_g1 {
      Zones = [
         dm_layout_g1_zone {
            First cylinder number = 0, Last cylinder number = 4, Blocks per track = 12,
            Empty space at zone front = 24, slips = [ 1, 2 ], defects = []
         },
         dm_layout_g1_zone {
            First cylinder number = 6,
            Last cylinder number = 11,
            Blocks per track = 8,
            Empty space at zone front = 0,
         } # the last
      ]
   },
   Mechanical Model = dm_mech_g1 {
      Seek type = extracted,
      Add. write settling delay = 0.5,
      Head switch time = 0.25,
      Rotation speed (in rpms) = 7500
   }
}
";

const SPECS: &str = "\
disksim_disk TINY {
   Model = source tiny.model,
   Bulk sector transfer time = 2.0,
   Number of buffer segments = 2,
   Maximum number of write segments = 0,
   Segment size (in blks) = 16,
   Maximum read-ahead (blks) = 0,
   Enable caching in buffer = 1,
   Buffer continuous read = 1,
   Fast write level = 0,
   Read hit over. after read = 0.1, Read hit over. after write = 0.1,
   Read miss over. after read = 0.1, Read miss over. after write = 0.1,
   Write hit over. after read = 0.1, Write hit over. after write = 0.1,
   Write miss over. after read = 0.1, Write miss over. after write = 0.1
}
";

const SEEKS: &str = "Seek distances measured: 3\n1,\t1.0\n2,\t2.0\n11,\t2.0\n";

/// A folder with these three files, gone when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str, model: &str, specs: &str, seeks: &str) -> Folder {
        let folder = format!("shingle-disksim-{}-{test}", std::process::id());
        let folder = Folder(std::env::temp_dir().join(folder));
        std::fs::create_dir_all(&folder.0).expect("a folder");
        for (ending, text) in [("model", model), ("diskspecs", specs), ("seek", seeks)] {
            std::fs::write(folder.0.join(format!("tiny.{ending}")), text).expect("written");
        }
        folder
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn read(test: &str, model: &str, specs: &str, seeks: &str) -> Result<Disk, String> {
    let folder = Folder::new(test, model, specs, seeks);
    assert_eq!(Disk::names(&folder.0), Ok(vec!["tiny".to_owned()]));
    Disk::read(&folder.0, "tiny").map_err(|error| error.to_string())
}

fn request(op: Op, sector: u64, sectors: u64, pause: u64) -> Request {
    let pause = Nanos::from_micros(pause);
    Request { op, sector, sectors, response: Nanos::from_millis(10), pause }
}

#[test]
fn parameters_are_those_of_the_files() {
    let disk = read("parameters", MODEL, SPECS, SEEKS).expect("a disk");
    // Ten tracks less two that are empty, and twelve.
    assert_eq!(disk.zones, [(12, 8), (8, 12)]);
    assert_eq!((disk.sectors, disk.surfaces, disk.rpm), (180, 2, 7500));
    assert_eq!(disk.seeks, [(1, 1.0), (2, 2.0), (11, 2.0)]);
    assert_eq!((disk.head_switch_us, disk.settle), (250, Nanos::from_micros(500)));
    assert_eq!((disk.bus, disk.command), (Nanos::from_millis(2), Nanos::from_micros(100)));
    assert_eq!((disk.segments, disk.segment_sectors, disk.write_segments), (2, 16, 0));
}

/// A rotation takes 8 ms, a sector of the first zone 0.667 ms, of the second 1 ms; over the bus 2 ms.
#[test]
fn requests_take_what_the_mechanics_take() {
    let disk = read("mechanics", MODEL, SPECS, SEEKS).expect("a disk");
    let trace = [request(Op::Read, 6, 2, 0), request(Op::Write, 6, 1, 900)];
    let replay = disk.replay(&trace).expect("it fits");
    // Read: command 0.1, until sector 6 comes at 4 ms; 1.333 ms of two sectors, which take the bus 4 ms: 8 ms.
    let reads = replay.reads.expect("one");
    assert!((reads.model_ms - 8.0).abs() < 1e-3, "{reads:?}");
    // Write: at 8 ms, 0.1 ms and 2 ms of bus; sector 6 comes again at 12 ms; no seek, so it settles nowhere.
    let writes = replay.writes.expect("one");
    assert!((writes.model_ms - 4.667).abs() < 2e-3, "{writes:?}");
    assert_eq!((replay.all.requests, reads.requests), (2, 1));
    assert!((replay.all.measured_ms - 10.0).abs() < 1e-9);
    let (read_off, write_off) = (2.0, 10.0 - writes.model_ms);
    let squares: f64 = (read_off * read_off + write_off * write_off) / 2.0;
    assert!((replay.all.demerit_ms - squares.sqrt()).abs() < 2e-3, "{replay:?}");
    let error = disk.replay(&[request(Op::Read, 179, 2, 0)]).expect_err("beyond");
    assert_eq!(error, "request 1: beyond the 180 sectors of tiny");
    assert!(disk.replay(&[]).is_err());
}

#[test]
fn the_demerit_figure_is_the_distance_of_distributions() {
    // Sorted 1, 3, 5 and 2, 3, 9: distances of 1, 0 and 4.
    let figure = demerit(&mut [5.0, 1.0, 3.0], &mut [3.0, 9.0, 2.0]).expect("some");
    assert!((figure - (17.0_f64 / 3.0).sqrt()).abs() < 1e-12);
    assert_eq!(demerit(&mut [], &mut []), None);
    assert_eq!(demerit(&mut [1.0], &mut [1.0, 2.0]), None);
}

#[test]
fn what_is_wrong_is_told_with_file_and_line() {
    let model = |from: &str, to: &str| read("model", &MODEL.replace(from, to), SPECS, SEEKS);
    let specs = |from: &str, to: &str| read("specs", MODEL, &SPECS.replace(from, to), SEEKS);
    let seeks = |text: &str| read("seeks", MODEL, SPECS, text);
    for (disk, told) in [
        (model("Block count = 180,", ""), "tiny.model: line 1: the block that begins here has no"),
        (model("180,", "x,"), "tiny.model: line 3: `Block count` is a number from 1"),
        (model("180,", "1.5,"), "tiny.model: line 3: `Block count` is a whole number"),
        (model("180,", "-1,"), "tiny.model: line 3: "),
        (model("180,", "1e300,"), "tiny.model: line 3: "),
        (model("180,", "500,"), "tiny.model: line 4: zones have room for 192 of 500"),
        (model("number = 6,", "number = 4,"), "tiny.model: line 11: `First cylinder number`"),
        (model("number = 11,", "number = 5,"), "tiny.model: line 12: `Last cylinder number`"),
        (model("= 24,", "= 240,"), "tiny.model: line 6: the zone that begins here is empty"),
        (model("= extracted", "= linear"), "tiny.model: line 18: seeks are `linear`"),
        (model("= 0.25,", "= 0.25"), "tiny.model: line 21: a `,` is missing"),
        (model("7500\n   }\n}\n", "7500\n"), "tiny.model: line 18: the block that begins here has"),
        (model("7500\n   }\n}\n", "7500\n   }\n}\n}"), "tiny.model: line 25: something follows"),
        (model("Zones = [", "Zones = "), "tiny.model: line "),
        (model("Zones =", "Zones"), "tiny.model: line 5: no `key = value`"),
        (specs("Bulk sector", "Bulk"), "tiny.diskspecs: line 1: the block that begins here has no"),
        (specs("= 0.1\n", "= \n"), "tiny.diskspecs: line "),
        (seeks("1,1\n2,2\n"), "tiny.seek: line 1: no `Seek distances measured"),
        (seeks("Seek distances measured: 2\n1,1\n2\n"), "tiny.seek: line 3: no `cylinders"),
        (seeks("Seek distances measured: 2\n1,1\n1,1\n"), "tiny.seek: line 3: distances ascend"),
        (seeks("Seek distances measured: 2\n1,NaN\n2,1\n"), "tiny.seek: line 2: a seek takes"),
        (seeks("Seek distances measured: 3\n1,1\n2,1\n"), "tiny.seek: line 1: 2 distances follow"),
    ] {
        let error = disk.map(|disk| disk.name).expect_err(told);
        assert!(error.contains(told) && error.lines().count() == 1, "{told}: {error}");
    }
    let nested = "a { b = ".repeat(100_000);
    let error = read("nested", &nested, SPECS, SEEKS).expect_err("too deep");
    assert!(error.contains("too many others"), "{error}");
}

/// Any bytes are a disk or an error of one line.
#[test]
fn no_damage_brings_the_parser_down() {
    let mut rng = crate::parts::rng::Rng::new(4);
    for _ in 0..3000 {
        let mut model = MODEL.as_bytes().to_vec();
        for _ in 0..=rng.below(3) {
            let at = usize::try_from(rng.below(model.len().max(1) as u64)).expect("small");
            if at >= model.len() {
                break;
            }
            match rng.below(3) {
                0 => drop(model.remove(at)),
                1 => model[at] = b"{}[]=,#09.\n "[usize::try_from(rng.below(12)).expect("small")],
                _ => model.truncate(at.max(1)),
            }
        }
        let text = String::from_utf8_lossy(&model);
        let path = Path::new("tiny.model");
        let disk = Block::of(path, &text).and_then(|model| {
            let seeks = vec![(1, 1.0), (11, 2.0)];
            Disk::of("tiny", &model, seeks)
                .map_err(|(line, what)| DiskSimError::new(path, Some(line), what))
        });
        match disk {
            Ok(disk) => drop(disk.replay(&[request(Op::Read, 0, 1, 0)])),
            Err(error) => assert_eq!(error.to_string().lines().count(), 1, "{error}"),
        }
    }
}
