use shingle_core::drive_view::Costs;
use shingle_core::units::{Nanos, Zone};

use super::*;

#[test]
fn settings_come_back_from_their_words() {
    let mut settings = Settings::new("lru");
    for text in ["policy=sac", "mode=write-around", "sac.zone=40M", "cache.batch=7"] {
        settings.set(text).expect("valid");
    }
    settings.set("sac.zone=20M").expect("valid");
    let text = settings.to_text().expect("short");
    assert_eq!(text, "policy=sac\nmode=write-around\ncache.batch=7\nsac.zone=20M\n");
    assert_eq!(Settings::from_text(&text), Ok(settings));
    assert!(Settings::from_text("mode=write-back\n").is_err());
}

#[test]
fn limits_are_settings() {
    let registry = Registry::default();
    let limits = |texts: &[&str]| {
        let mut settings = Settings::new("sac");
        texts.iter().try_for_each(|text| settings.set(text)).expect("words");
        settings.limits(&registry)
    };
    assert_eq!(limits(&[]), Ok(Limits::default()));
    let set = limits(&["limit.destage=10MiB", "limit.hours=22-6", "limit.ssd=200GiB"]);
    let set = set.expect("limits");
    assert_eq!((set.destage_blocks_per_s, set.ssd_blocks_per_day), (Some(2560), Some(52_428_800)));
    assert_eq!(set.hours.to_string(), "22-6");
    for (text, told) in [
        ("limit.destage=8KiB", "at least 64KiB"),
        ("limit.hours=25-3", "such as 22-6"),
        ("limit.ssd=0", "or `none`"),
        ("limit.ssd=200", "less than a block"),
        ("limit.rate=1", "there are"),
    ] {
        let error = limits(&[text]).expect_err(told).to_string();
        assert!(error.contains(told), "{error}");
    }
}

#[test]
fn who_is_told_of_trims_is_a_setting() {
    let registry = Registry::default();
    let tells = |text: &str, by_itself| {
        let mut settings = Settings::new("sac");
        settings.set(text).expect("words");
        settings.trim_passdown(&registry, by_itself)
    };
    let of = |text| [true, false].map(|by_itself| tells(text, by_itself).expect("valid"));
    assert_eq!(of("drive.trim=auto"), [true, false]);
    assert_eq!(of("drive.trim=on"), [true, true]);
    assert_eq!(of("drive.trim=off"), [false, false]);
    let error = tells("drive.trim=yes", true).expect_err("no such word").to_string();
    assert!(error.contains("auto, on"), "{error}");
    let (mut one, mut other) = (Settings::new("sac"), Settings::new("sac"));
    one.set("drive.trim=on").expect("words");
    assert!(!one.decides_otherwise_than(&other), "the same cache goes on");
    other.set("drive.read_us=7").expect("words");
    assert!(one.decides_otherwise_than(&other));
}

#[test]
fn what_is_known_of_the_disk_is_planned_with() {
    let registry = Registry::default();
    let told = |policy: &str, texts: &[&str]| {
        let mut settings = Settings::new(policy);
        texts.iter().try_for_each(|text| settings.set(text)).expect("valid");
        let settings = Settings::from_text(&settings.to_text().expect("short")).expect("words");
        settings.checked(registry.get(policy).expect("a policy"), &registry).expect("valid")
    };
    let nothing = told("sac", &[]);
    assert_eq!((nothing.costs(), nothing.drive.count("buffer_blocks")), (Costs::PAPER, 0));
    let profile = [
        "drive.log_blocks=7397460",
        "drive.buffer_blocks=184000",
        "drive.zone_blocks=4000",
        "drive.read_us=16036",
        "drive.rmw_base_us=613742",
        "drive.rmw_us_per_block=2435",
    ];
    let probed = told("sac", &profile);
    let costs = Costs {
        read: Nanos::from_micros(16_036),
        rmw_base: Nanos::from_micros(613_742),
        rmw_per_block: Nanos::from_micros(2_435),
    };
    assert_eq!((probed.costs(), probed.drive.count("buffer_blocks")), (costs, 184_000));
    assert_eq!(probed.in_order().log_blocks, 7_397_460);
    assert_eq!(probed.own.zones("zone"), Some(4000));
    // The user's own setting, before or after; a policy without zones.
    for order in
        [["sac.zone=100b", "drive.zone_blocks=4000"], ["drive.zone_blocks=4000", "sac.zone=100b"]]
    {
        assert_eq!(told("sac", &order).own.zones("zone"), Some(100));
    }
    assert_eq!(told("lru", &profile).costs(), costs);
}

#[test]
fn a_log_that_is_smaller_than_its_map_is_refused() {
    let refused = |texts: &[&str]| {
        let mut settings = Settings::new("sac");
        texts.iter().try_for_each(|text| settings.set(text)).expect("words");
        settings.cache(&Registry::default(), 4096, 100_000).err().map(|error| error.to_string())
    };
    assert_eq!(refused(&["drive.buffer_blocks=10", "drive.log_blocks=10"]), None);
    for few in [&["drive.log_blocks=9"][..], &["drive.log_blocks=9", "drive.buffer_blocks=10"]] {
        let error = refused(few).expect("no such disk");
        assert!(error.contains("or drive.log_blocks=0"), "{error}");
    }
}

#[test]
fn bands_are_written_whole_if_the_operator_knows_them() {
    let registry = Registry::default();
    let made = |texts: &[&str]| {
        let mut settings = Settings::new("disk-time");
        texts.iter().try_for_each(|text| settings.set(text)).expect("words");
        let settings = Settings::from_text(&settings.to_text().expect("short")).expect("words");
        settings.cache(&registry, 4096, 100_000)
    };
    let (bands, pass) = ("drive.bands=3000bx2,5000b", "drive.band_pass_us=150000");
    let cache = made(&["disk-time.zone=bands", bands, pass]).expect("all is known");
    let zones = cache.slots().zones();
    assert_eq!((zones.blocks(Zone(1)), zones.first_block(Zone(2)).0), (3000, 6000));
    assert_eq!(cache.slots().drive().in_order.band_pass, Some(Nanos::from_millis(150)));
    assert!(made(&["policy=most", "most.zone=bands", "cache.bands=whole", bands, pass]).is_ok());
    assert!(made(&["policy=lru-band", bands]).is_ok(), "it need not take them whole");
    assert!(made(&["policy=most", "most.zone=bands", "cache.bands=whole", bands]).is_err());
    // Facts about bands have no effect on a policy that was not set to use them.
    let without = made(&[bands, pass]).expect("all is known");
    assert_eq!(without.slots().zones().blocks(Zone(0)), 5000);
    // Where blocks are moved.
    let mut settings = Settings::new("sac");
    assert_eq!(settings.check_without_bands(), Ok(()));
    settings.set(bands).expect("words");
    let error = settings.check_without_bands().expect_err("a zoned disk").to_string();
    assert!(error.contains("set drive.bands=none"), "{error}");
    let all = settings.all(&registry).expect("valid");
    let shown = all.iter().find(|one| one.name == "drive.bands").expect("it is listed");
    assert_eq!((shown.value.as_str(), shown.is_default), ("3000bx2,5000b", false));
}

/// What is set by hand stays, and the way to the log takes as long as a read.
#[test]
fn over_a_log_zones_are_small_and_writing_them_costs_little() {
    let registry = Registry::default();
    let mut settings = Settings::new("disk-time");
    settings.set("drive.read_us=9000").expect("words");
    let zones = |settings: &Settings| {
        let cache = settings.cache(&registry, 4096, 100_000).expect("valid");
        (cache.slots().zones().blocks(Zone(0)), cache.slots().drive().costs)
    };
    assert_eq!(zones(&settings).0, 5000);
    let of_log = settings.of_log();
    let us = Nanos::from_micros;
    let costs = Costs { read: us(9000), rmw_base: us(9000), rmw_per_block: us(275) };
    assert_eq!(zones(&of_log), (64, costs));
    assert_eq!(of_log.of_log(), of_log);
    settings.set("drive.rmw_base_us=50000").expect("words");
    settings.set("drive.log=off").expect("words");
    settings.set("disk-time.log_zone=1MiB").expect("words");
    assert_eq!(zones(&settings.of_log()).0, 5000, "it was said otherwise");
    settings.set("drive.log=on").expect("words");
    let costs = Costs { rmw_base: us(50_000), ..costs };
    assert_eq!(zones(&settings.of_log()), (256, costs));
}

#[test]
fn what_cannot_be_is_refused() {
    let registry = Registry::default();
    let made = |texts: &[&str]| {
        let mut settings = Settings::new("sac");
        texts.iter().try_for_each(|text| settings.set(text))?;
        settings.cache(&registry, 4096, 1 << 20).map(drop)
    };
    assert_eq!(made(&[]), Ok(()));
    assert_eq!(made(&["sac.zone=40M", "roco.dwell=3"]), Ok(()));
    for (texts, told) in [
        (["policy=sacc", "cache.batch=1"], "there is no policy `sacc`"),
        (["policy=belady", "cache.batch=1"], "the future"),
        (["policy=pore", "pore.base=belady"], "pore.base=belady: `belady` has to know the future"),
        (["policy=cdc", "cdc.clean=belady"], "set cdc.clean=lru or another order"),
        (["sac.rule4=exact", "cache.batch=1"], "set sac.rule4=destaged"),
        (["policy=sac-plus", "sac-plus.rule4=exact"], "set sac-plus.rule4=destaged"),
        (
            ["sac.zone=bands", "cache.batch=1"],
            "set drive.bands if you know them, or sac.zone=20MiB",
        ),
        (["policy=zfifo", "cache.batch=1"], "or zfifo.zone=20MiB"),
        (
            ["policy=lru-band", "cache.batch=1"],
            "set drive.bands if you know them, or another policy",
        ),
        (["cache.bands=whole", "cache.batch=1"], "set drive.bands and drive.band_pass_us"),
        (["cache.bands=whole", "drive.bands=20MiB"], "(sac.zone=bands)"),
        (["policy=lru", "cache.bands=whole"], "policy `lru` does not work with bands"),
        (["drive.band_pass_us=7", "cache.batch=1"], "set drive.bands, too"),
        (
            ["drive.bands=2GiB", "cache.batch=1"],
            "drive.bands=2GiB: a band has at most 65536 blocks",
        ),
        (["drive.band_pass_us=1000000001", "drive.bands=20MiB"], "at most 1000000000 us"),
        (["policy=roco", "cache.batch=1"], "by its addresses only; set another policy"),
        (["policy=none", "cache.batch=1"], "mode=pass-through"),
        (["sac.zoom=1", "cache.batch=1"], "sac.zoom=1: no parameter `zoom`"),
        (["nobody.zone=1", "cache.batch=1"], "no policy `nobody`"),
        (["drive.read=1", "cache.batch=1"], "drive.read=1: no parameter `read`; there are read_us"),
        (["drive.read_us=-1", "cache.batch=1"], "drive.read_us=-1: "),
        (["drive.rmw_base_us=1000000001", "cache.batch=1"], "at most 1000000000 us"),
        (["drive.zone_blocks=18446744073709551615", "cache.batch=1"], "drive.zone_blocks="),
        (["mode=fast", "cache.batch=1"], "no mode `fast`"),
        (["fast=1", "cache.batch=1"], "no `fast` to set"),
        (["sac", "cache.batch=1"], "sets nothing"),
        // Parameters of another policy are checked when it is chosen: they must not contain other
        // settings.
        (["lru-band.zone=1b\npolicy=lru", "cache.batch=1"], "control character"),
        (["lru-band.zone=1b\r", "cache.batch=1"], "control character"),
    ] {
        let error = made(&texts).expect_err(told).to_string();
        assert!(error.contains(told), "{error}");
    }
}
