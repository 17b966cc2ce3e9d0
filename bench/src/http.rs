//! HTTP benchmarks: claims one at a time and by 64 concurrent clients, and write latency while 1,000 SSE clients follow
//! the event log.

use std::collections::BTreeSet;
use std::time::Instant;

use serde_json::Value;
use tokio::io::AsyncWriteExt as _;

use crate::report::Report;
use crate::scene::{Fallible, Scene, at_share, median, run};
use crate::wire::{Line, Server, agent, request};

/// Number of concurrent claimers.
const CLAIMERS: usize = 64;
/// Number of SSE clients that follow the event log.
const READERS: usize = 1_000;

/// Measures claims, and writes with SSE readers.
pub(crate) fn measure(scene: &Scene, report: &mut Report) -> Fallible<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(claims(scene, report))?;
    runtime.block_on(readers(scene, report))
}

async fn claims(scene: &Scene, report: &mut Report) -> Fallible<()> {
    let single = scene.times(2_000);
    let each = scene.times(500);
    let count = single + CLAIMERS * each;
    let board = scene.board("http-claims")?;
    let files = plain_tasks(scene, count)?;
    run(scene.polis(&board, &["task", "import", &files])).map(|_| ())?;
    let mut agents = Vec::new();
    for n in 0..=CLAIMERS {
        agents.push(agent(scene, &board, &format!("claimer-{n}"))?);
    }
    let server = Server::start(scene, &board)?;
    let mut owners = BTreeSet::new();
    let begun = Instant::now();
    let alone = claim(
        &server.address,
        agents.first().ok_or("no agent")?,
        (1..=single).collect(),
    )
    .await?;
    let alone_rate = rate(alone.len(), begun);
    let begun = Instant::now();
    let crowd = agents.iter().skip(1).enumerate().map(|(place, token)| {
        // Interleaved ids, as when each claimer takes the next task: no claimer has a range of its own.
        let ids = (0..each)
            .map(|n| single + 1 + n * CLAIMERS + place)
            .collect();
        let (address, token) = (server.address.clone(), token.clone());
        tokio::spawn(async move {
            claim(&address, &token, ids)
                .await
                .map_err(|e| e.to_string())
        })
    });
    let mut times = Vec::new();
    for claimer in crowd.collect::<Vec<_>>() {
        times.extend(claimer.await??);
    }
    let crowd_rate = rate(times.len(), begun);
    let (p99, middle) = (at_share(&mut times, 0.99), median(&mut times));
    report.at_least(
        "64 concurrent HTTP claimers / one at a time, embedded",
        crowd_rate / alone_rate,
        8.0,
        &format!("{crowd_rate:.0} claims/s beside {alone_rate:.0}, every one durable"),
    );
    report.at_most(
        "p99 of 64 concurrent HTTP claimers / their median",
        p99 / middle,
        10.0,
        &format!("{:.2} ms beside {:.2} ms", p99 * 1e3, middle * 1e3),
    );
    drop(server);
    let listed = scene.polis(&board, &["task", "list", "--json"]).output()?;
    let listed: Value = serde_json::from_slice(&listed.stdout)?;
    let held = listed["tasks"].as_array().ok_or("no tasks")?.iter();
    let held = held.filter(|task| task["status"] == "in_progress" && task["version"] == 2);
    owners.extend(held.filter_map(|task| task["id"].as_str().map(str::to_owned)));
    report.add(
        "claims lost or doubled",
        (count - owners.len()).to_string(),
        "0".to_owned(),
        owners.len() == count,
        &format!("{count} tasks, each claimed once and at version 2"),
    );
    Ok(())
}

/// Claims these tasks one after another. Returns the time of each in seconds.
async fn claim(address: &str, token: &str, ids: Vec<usize>) -> Fallible<Vec<f64>> {
    let mut line = Line::connect(address).await?;
    let mut times = Vec::with_capacity(ids.len());
    for id in ids {
        let request = request(&format!("POST /v1/tasks/{id}/claim"), token, "{}");
        let begun = Instant::now();
        line.exchange(request.as_bytes()).await?;
        times.push(begun.elapsed().as_secs_f64());
    }
    Ok(times)
}

/// Measures writes with and without readers, alternately, and checks that every reader got all events in order.
async fn readers(scene: &Scene, report: &mut Report) -> Fallible<()> {
    let board = scene.board("http-readers")?;
    run(scene.polis(&board, &["task", "create", "--subject", "x"]))?;
    let token = agent(scene, &board, "writer")?;
    let server = Server::start(scene, &board)?;
    let writes = scene.times(1_000);
    let (mut quiet, mut followed) = (Vec::new(), Vec::new());
    let mut line = Line::connect(&server.address).await?;
    let mut got = Vec::new();
    for round in 0..4 {
        quiet.extend(write(&mut line, &token, writes / 4, round * 2).await?);
        let mut readers = Vec::with_capacity(READERS);
        for _ in 0..READERS {
            readers.push(follow(&server.address, &token).await?);
        }
        let first = readers.iter().map(|r| r.0).max().unwrap_or(0) + 1;
        let readers = readers.into_iter().map(|(_, line)| {
            tokio::spawn(async move { collect(line, writes / 4).await.map_err(|e| e.to_string()) })
        });
        let readers: Vec<_> = readers.collect();
        followed.extend(write(&mut line, &token, writes / 4, round * 2 + 1).await?);
        let wanted: Vec<u64> = (first..).take(writes / 4).collect();
        for reader in readers {
            got.push(reader.await?? == wanted);
        }
    }
    let (quiet, followed) = (median(&mut quiet), median(&mut followed));
    report.at_most(
        "write latency with 1,000 SSE readers / with none",
        followed / quiet,
        1.5,
        &format!(
            "{:.0} µs beside {:.0} µs, medians, in turns",
            followed * 1e6,
            quiet * 1e6
        ),
    );
    let right = got.iter().filter(|right| **right).count();
    report.add(
        "SSE readers that got every event once, in order",
        format!("{right} of {}", got.len()),
        "all".to_owned(),
        right == got.len(),
        &format!("{} events each", writes / 4),
    );
    Ok(())
}

async fn write(line: &mut Line, token: &str, many: usize, round: usize) -> Fallible<Vec<f64>> {
    let mut times = Vec::with_capacity(many);
    for n in 0..many {
        let body = format!("{{\"description\":\"{round}-{n}\"}}");
        let request = request("PATCH /v1/tasks/1", token, &body);
        let begun = Instant::now();
        line.exchange(request.as_bytes()).await?;
        times.push(begun.elapsed().as_secs_f64());
    }
    Ok(times)
}

/// Opens an SSE stream. Returns the sequence number after which it starts, taken from the first heartbeat.
async fn follow(address: &str, token: &str) -> Fallible<(u64, Line)> {
    let mut line = Line::connect(address).await?;
    let head = format!(
        "GET /v1/events HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\naccept: text/event-stream\r\n\r\n"
    );
    line.stream.write_all(head.as_bytes()).await?;
    loop {
        line.more().await?;
        let text = String::from_utf8_lossy(&line.buffer);
        let place = text
            .split(": at ")
            .nth(1)
            .and_then(|rest| rest.split('\n').next());
        if let Some(place) = place.and_then(|place| place.trim().parse().ok()) {
            line.buffer.clear();
            return Ok((place, line));
        }
    }
}

/// Returns the sequence numbers of the next `many` events of a stream.
async fn collect(mut line: Line, many: usize) -> Fallible<Vec<u64>> {
    let mut places = Vec::with_capacity(many);
    while places.len() < many {
        line.more().await?;
        let end = line
            .buffer
            .iter()
            .rposition(|b| *b == b'\n')
            .map_or(0, |at| at + 1);
        let whole: Vec<u8> = line.buffer.drain(..end).collect();
        for row in String::from_utf8_lossy(&whole).lines() {
            if let Some(place) = row.strip_prefix("id:") {
                places.push(place.trim().parse()?);
            }
        }
    }
    Ok(places)
}

fn rate(many: usize, since: Instant) -> f64 {
    let many = u32::try_from(many).unwrap_or(u32::MAX);
    f64::from(many) / since.elapsed().as_secs_f64()
}

/// Writes files of tasks that any agent may claim. Returns their directory.
fn plain_tasks(scene: &Scene, count: usize) -> Fallible<String> {
    let files = scene.place("http-claim-files");
    std::fs::create_dir_all(&files)?;
    for n in 1..=count {
        let text = format!("{{\"id\":\"{n}\",\"subject\":\"{n}\",\"status\":\"pending\"}}");
        std::fs::write(files.join(format!("{n}.json")), text)?;
    }
    Ok(files.display().to_string())
}
