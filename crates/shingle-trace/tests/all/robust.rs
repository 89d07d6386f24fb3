//! Any bytes give a result without a panic, and only valid requests.

use proptest::prelude::*;
use shingle_core::units::{Nanos, Op};
use shingle_trace::input::Input;
use shingle_trace::source::{DISK_BYTES_MAX, REQUEST_BYTES_MAX, TRACE_NANOS_MAX, TRIM_BYTES_MAX};
use shingle_trace::{OpenOptions, Shape, Summary, format, read_all};

/// Options tested in addition to the name of each format.
const MAPS: [&str; 3] = [
    "csv:time=1/ms,op=2,offset=3/sectors,size=4/blocks,read=1,write=0,delim=space",
    "csv:time=1/filetime,op=4,offset=5,size=6,device=3,delim=comma",
    "srt:512",
];

/// Reads bytes in every format; accepted requests must be valid.
fn survive(bytes: &[u8]) {
    let named = format::FORMATS.iter().map(|format| format.name).chain(MAPS);
    let formats = named.map(Some).chain([None]);
    for (format, volume) in formats.flat_map(|f| [(f, None), (f, Some("*"))]) {
        let mut options = OpenOptions::of(format, volume);
        // The format that does not record operations.
        options.assume_op = (format == Some("oracleGeneral")).then_some(Op::Read);
        let opened = Input::from_bytes("fuzz", bytes).and_then(|i| format::open(i, &options));
        let read = opened.and_then(|(_, mut source)| read_all(&mut *source, &mut |_| {}));
        match read {
            Err(error) => assert_eq!(error.to_string().lines().count(), 1),
            Ok(requests) => {
                let mut last = Nanos::ZERO;
                assert_eq!(requests[0].at, last);
                for r in &requests {
                    assert!(r.at >= last && r.at.0 < TRACE_NANOS_MAX);
                    last = r.at;
                    match r.op {
                        Op::Flush => assert_eq!((r.offset, r.bytes), (0, 0)),
                        Op::Trim => assert!((1..=TRIM_BYTES_MAX).contains(&r.bytes)),
                        _ => assert!((1..=REQUEST_BYTES_MAX).contains(&r.bytes)),
                    }
                    assert!(r.offset + r.bytes <= DISK_BYTES_MAX);
                }
                let shape = Shape { remap: true, copies: 2, ..Shape::default() };
                if let Ok(shaped) = shape.apply(requests) {
                    let _ = Summary::of(&shaped);
                }
            }
        }
    }
}

const TEXTS: &[&str] = &[
    "128166372003061629,hm,1,Read,8110592,4096,1331\n128166372003061639,hm,1,Write,0,512,1\n",
    "time_us,op,offset_bytes,size_bytes\n89,W,4096,512\n90,R,0,4096\n91,F,,\n",
    "Timestamp,Response,IOType,LUN,Offset,Size\n1.5,0.1,R,0,0,512\n1.7,,W,0,512,512\n",
    "26.214000\t0\t303574\t1\t0\n78.643000\t0\t55596\t1\t1\n",
    "938513000 4 264719034 16 0\n938828000 4 197570570 16 1\n",
    "7,16,4096,w,0.026214\n7,24,4096,R,0.026714\n",
    "419,W,8192,4096,1577808000000626\n419,R,12288,4096,1577808000001126\n",
    "1538323200,16,8,1,1063\n1538323199,24,8,0,1063\n",
    "1000 207 gzip 16 8 W 6 0 56f1\n501000 4 Web Content 24 8 R 6 0 56f1\n",
    "8,0 3 1 0.000000000 697 Q FWS 16 + 8 [k]\n8,0 3 2 0.01 697 Q FN [k]\nSkips: 0\n",
    "24 8 4096 4 1.5 1.6 1.7 1.8\n16 8 4096 5 1.4 1.6 1.7 1.8\n",
    "1 0 5\n0 17 0\n",
    "fio version 3 iolog\n0 f add\n1 f write 4096 512\n7 f sync 0 0\n",
];

fn samples() -> Vec<Vec<u8>> {
    let mut samples: Vec<Vec<u8>> = TEXTS.iter().map(|text| text.as_bytes().to_vec()).collect();
    let mut one = [0_u8; 32];
    (one[5], one[12], one[15], one[16], one[24]) = (2, 0x2a, 1, 9, 7);
    samples.push([one, one, one].concat());
    let mut two = [0_u8; 40];
    (two[0], two[3], two[9], two[16], two[24]) = (0x28, 2, 2, 9, 7);
    samples.push([two, two, two].concat());
    let compressed: Vec<Vec<u8>> =
        samples.iter().map(|bytes| zstd::encode_all(&bytes[..], 1).expect("memory")).collect();
    samples.extend(compressed);
    samples
}

proptest! {
    #[test]
    fn any_bytes_get_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        survive(&bytes);
    }

    #[test]
    fn any_text_gets_an_answer(text in "([0-9]{0,20}|[rRwW,; \t.\n\"#-]|time_us,op,offset,size\n){0,60}") {
        survive(text.as_bytes());
    }

    #[test]
    fn mutated_files_get_an_answer(
        sample in 0..30_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in any::<prop::sample::Index>(),
        twice in any::<bool>(),
    ) {
        let mut bytes = samples().swap_remove(sample);
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if twice {
            bytes.truncate(cut.index(bytes.len()) + 1);
        }
        survive(&bytes);
    }

    #[test]
    fn any_spec_gets_an_answer(
        map in "(csv|msr|vscsi|req|blkparse)?:?((time|op|offset|size|read|device|header|bytes|delim)[=/:,|1-9a-z]{0,8}){0,6}",
        parameters in "synth:(mixed|zipf|uniform|read-mostly)\\?((range|write|theta|size|requests|idle)=[0-9.%]{0,4}[kMGB]{0,2}&){0,3}",
    ) {
        let input = Input::from_bytes("fuzz", TEXTS[1]).expect("not empty");
        if let Ok((_, mut source)) = format::open(input, &OpenOptions::of(Some(&map), None)) {
            let _ = read_all(&mut *source, &mut |_| {});
        }
        if let Ok((_, mut source)) = shingle_trace::synth::open(&parameters, 1) {
            let mut batch = Vec::with_capacity(100);
            prop_assert!(source.fill(&mut batch).expect("synthetic requests are valid"));
        }
    }
}
