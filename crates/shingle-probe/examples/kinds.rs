use shingle_drive::registry::{Settings, make};
use shingle_probe::{
    model::{Model, Noise},
    options::Options,
    probe::probe,
    session::Session,
    target::Target,
};
fn main() {
    for name in std::env::args().skip(1) {
        let start = std::time::Instant::now();
        let drive = match make(&name, &Settings::default()) {
            Ok(d) => d,
            Err(_) => shingle_drive::registry::make_ssd(&name, &Settings::default()).unwrap(),
        };
        let mut m = Model::new(&name, drive, Noise::default(), 1);
        let facts = m.facts().clone();
        let o = Options::default();
        match probe(Some(&mut m), facts, &mut Session::in_memory(), &o, &mut |_, _| ()) {
            Ok(f) => {
                println!(
                    "{name}: {:?} read {:.0} look {:?} notes {:?} wall {:?} drive h {:.2}",
                    f.kind,
                    f.reads.random(),
                    f.look.as_ref().map(|l| (l.end, l.writes, l.mean_us(), l.usual_us)),
                    f.notes,
                    start.elapsed(),
                    m.now().as_secs_f64() / 3600.0
                );
                let p = f.profile(o.zone_blocks);
                println!(
                    "  idle {:?} rmw {:?}\n  buffer {:#?} bands {:?}",
                    p.idle,
                    p.rmw,
                    p.buffer,
                    p.bands.iter().map(|b| b.blocks).collect::<Vec<_>>()
                );
            }
            Err(e) => println!("{name}: {e}"),
        }
    }
}
