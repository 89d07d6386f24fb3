//! One blind trial.
fn main() {
    for seed in std::env::args().skip(1).map(|s| s.parse().unwrap()) {
        let start = std::time::Instant::now();
        match shingle_probe::blind::trial(seed) {
            Ok(t) => {
                println!(
                    "seed {seed} {:?} ext {} log {} idle {:?} {:?}",
                    t.drawn.bands,
                    t.drawn.extents,
                    t.drawn.log_bytes,
                    t.drawn.idle_delay_ms,
                    t.drawn.noise
                );
                println!(
                    "  kind {:?} cap {:?} limits {} bands {}/{} worst {:.3} slope {:?} idle {:?}",
                    t.findings.kind,
                    t.capacities,
                    t.limits_told,
                    t.bands.len(),
                    t.places,
                    t.worst_band(),
                    t.slope,
                    t.profile.idle
                );
                println!(
                    "  hold cap {} bands {} slope {} idle {}; r2 {:?}; notes {:?}; drive h {:.1}; wall {:?}",
                    t.capacity_holds(),
                    t.bands_hold(),
                    t.slope_holds(),
                    t.idle_holds(),
                    t.profile.rmw,
                    t.findings.notes,
                    t.time.as_secs_f64() / 3600.0,
                    start.elapsed()
                );
                if std::env::var("BAD").is_ok() {
                    for (b, _) in &t.bands {
                        if b.off() > 0.03 {
                            println!("   off {b:?}");
                        }
                    }
                    for ((seen, band), (b, _)) in
                        t.findings.bands.iter().filter(|x| x.1.is_some()).zip(&t.bands)
                    {
                        if b.off() > 0.03 {
                            println!("{:?} {:?} {:?}", seen.seed, band, b);
                            let s = &seen.strips[0];
                            let thr = shingle_probe::split::split(&s.us).unwrap_or(1e9);
                            println!(
                                "{}",
                                s.us.iter()
                                    .map(|u| if *u as f64 > thr { '#' } else { '.' })
                                    .collect::<String>()
                            );
                        }
                    }
                }
                if std::env::var("SITES").is_ok() {
                    for (seen, band) in &t.findings.bands {
                        let us = &seen.strips[0].us;
                        let mut v = us.clone();
                        v.sort();
                        println!(
                            "   site {} {:?} min {} med {} max {} thr {:?} {}",
                            seen.seed,
                            band,
                            v[0],
                            v[v.len() / 2],
                            v[v.len() - 1],
                            shingle_probe::split::split(us),
                            us.iter()
                                .map(|u| {
                                    if *u as f64 > shingle_probe::split::split(us).unwrap_or(1e9) {
                                        '#'
                                    } else {
                                        '.'
                                    }
                                })
                                .collect::<String>()
                        );
                    }
                }
            }
            Err(e) => println!("{e}"),
        }
    }
}
