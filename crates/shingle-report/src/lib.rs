//! The parts of reports: charts as SVG, the frame and style of a page that works offline, and
//! formatted numbers. The callers decide the contents of a report.
//!
//! ```
//! use shingle_report::chart::{DrawError, Kind, Picture};
//! use shingle_report::page::{Making, foot, head};
//!
//! let dirty = Picture {
//!     title: "dirty in the cache (MiB)".into(),
//!     kind: Kind::Course {
//!         x_label: "seconds".into(),
//!         series: vec![("lru".into(), vec![(0.0, 0.0), (60.0, 12.5)])],
//!     },
//! };
//! let mut page = head("A replay", "");
//! page += &dirty.svg()?;
//! foot(&mut page, &Making { command: "shingle replay trace.csv".into(), version: "0.1.0".into() });
//! assert!(page.contains("<svg") && page.ends_with("</html>\n"));
//! # Ok::<(), DrawError>(())
//! ```

pub mod chart;
pub mod numbers;
pub mod page;
#[cfg(feature = "png")]
pub mod png;
