use shingle_drive::measure::{coverage::Plan, rmw};
use shingle_probe::blind::Drawn;
fn main() {
    let seed = std::env::args().nth(1).unwrap().parse().unwrap();
    let d = Drawn::new(seed);
    for s in 1..5 {
        let plan = Plan { seed: s, fills: 3, ..Plan::default() };
        let r = rmw("st8000as0002", &d.settings, &plan).unwrap();
        println!(
            "truth seed {s}: {:?} zones {:?} ms {:?}",
            r.line,
            r.points.iter().map(|p| p.zones).collect::<Vec<_>>(),
            r.points.iter().map(|p| p.zone_ms()).collect::<Vec<_>>()
        );
    }
    let t = shingle_probe::blind::trial(seed).unwrap();
    println!("{:?}", t.findings.costs());
    for t in &t.findings.timed {
        println!(
            "{} {} stalls {} first {:?} last {:?}",
            t.coverage,
            t.zones,
            t.stalls.len(),
            &t.stalls[..4],
            &t.stalls[t.stalls.len() - 4..]
        );
    }
}
