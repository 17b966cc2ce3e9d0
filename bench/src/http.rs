//! HTTP benchmarks: claims one at a time and by 64 concurrent clients, and write latency while 1,000 SSE
//! clients follow the event log.

use std::collections::BTreeSet;
use std::time::Instant;

use polis_core::number::saturating_cast;
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;

use crate::bench_env::{BenchEnv, BenchResult, median, quantile, run_timed};
use crate::http_client::{HttpConnection, PolisServer, json_request, register_agent};
use crate::report::BenchReport;

/// Number of concurrent claimers.
const CLAIMER_COUNT: usize = 64;
/// Number of SSE clients that follow the event log.
const SSE_READER_COUNT: usize = 1_000;

/// Measures claims, and writes with SSE readers.
pub(crate) fn measure(env: &BenchEnv, report: &mut BenchReport) -> BenchResult<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(measure_claims(env, report))?;
    runtime.block_on(measure_writes_with_readers(env, report))
}

async fn measure_claims(env: &BenchEnv, report: &mut BenchReport) -> BenchResult<()> {
    let single = env.repetitions(2_000);
    let per_claimer = env.repetitions(500);
    let count = single + CLAIMER_COUNT * per_claimer;
    let board = env.create_project("http-claims")?;
    let files = write_claimable_task_files(env, count)?;
    run_timed(env.polis_command(&board, &["task", "import", &files])).map(|_| ())?;
    let mut agents = Vec::new();
    for n in 0..=CLAIMER_COUNT {
        agents.push(register_agent(env, &board, &format!("claimer-{n}"))?);
    }
    let server = PolisServer::start(env, &board)?;
    let mut owners = BTreeSet::new();
    let started = Instant::now();
    let alone = claim_latencies(
        &server.address,
        agents.first().ok_or("no agent")?,
        (1..=single).collect(),
    )
    .await?;
    let alone_rate = per_second(alone.len(), started);
    let started = Instant::now();
    let claimers = agents.iter().skip(1).enumerate().map(|(index, token)| {
        // Interleaved ids, as when each claimer takes the next task: no claimer has a range of its own.
        let ids = (0..per_claimer)
            .map(|n| single + 1 + n * CLAIMER_COUNT + index)
            .collect();
        let (address, token) = (server.address.clone(), token.clone());
        tokio::spawn(async move {
            claim_latencies(&address, &token, ids)
                .await
                .map_err(|e| e.to_string())
        })
    });
    let mut times = Vec::new();
    for claimer in claimers.collect::<Vec<_>>() {
        times.extend(claimer.await??);
    }
    let crowd_rate = per_second(times.len(), started);
    let (p99, middle) = (quantile(&mut times, 0.99), median(&mut times));
    report.add_at_least(
        "64 concurrent HTTP claimers / one at a time, embedded",
        crowd_rate / alone_rate,
        8.0,
        &format!("{crowd_rate:.0} claims/s vs {alone_rate:.0}, every one durable"),
    );
    report.add_at_most(
        "p99 of 64 concurrent HTTP claimers / their median",
        p99 / middle,
        10.0,
        &format!("{:.2} ms vs {:.2} ms", p99 * 1e3, middle * 1e3),
    );
    drop(server);
    let listed = env
        .polis_command(&board, &["task", "list", "--json"])
        .output()?;
    let listed: Value = serde_json::from_slice(&listed.stdout)?;
    let claimed = listed["tasks"].as_array().ok_or("no tasks")?.iter();
    let claimed = claimed.filter(|task| task["status"] == "in_progress" && task["version"] == 2);
    owners.extend(claimed.filter_map(|task| task["id"].as_str().map(str::to_owned)));
    report.add_figure(
        "claims lost or doubled",
        (count - owners.len()).to_string(),
        "0".to_owned(),
        owners.len() == count,
        &format!("{count} tasks, each claimed once and at version 2"),
    );
    Ok(())
}

/// Claims these tasks one after another. Returns the time of each in seconds.
async fn claim_latencies(address: &str, token: &str, ids: Vec<usize>) -> BenchResult<Vec<f64>> {
    let mut connection = HttpConnection::connect(address).await?;
    let mut times = Vec::with_capacity(ids.len());
    for id in ids {
        let request = json_request(&format!("POST /v1/tasks/{id}/claim"), token, "{}");
        let started = Instant::now();
        connection
            .send_expecting_success(request.as_bytes())
            .await?;
        times.push(started.elapsed().as_secs_f64());
    }
    Ok(times)
}

/// Measures writes with and without readers, alternately, and checks that every reader got all events in
/// order.
async fn measure_writes_with_readers(env: &BenchEnv, report: &mut BenchReport) -> BenchResult<()> {
    let board = env.create_project("http-readers")?;
    run_timed(env.polis_command(&board, &["task", "create", "--subject", "x"]))?;
    let token = register_agent(env, &board, "writer")?;
    let server = PolisServer::start(env, &board)?;
    let writes = env.repetitions(1_000);
    let (mut quiet, mut followed) = (Vec::new(), Vec::new());
    let mut connection = HttpConnection::connect(&server.address).await?;
    let mut received = Vec::new();
    for round in 0..4 {
        quiet.extend(write_latencies(&mut connection, &token, writes / 4, round * 2).await?);
        let mut readers = Vec::with_capacity(SSE_READER_COUNT);
        for _ in 0..SSE_READER_COUNT {
            readers.push(open_event_stream(&server.address, &token).await?);
        }
        let first = readers.iter().map(|r| r.0).max().unwrap_or(0) + 1;
        let readers = readers.into_iter().map(|(_, connection)| {
            tokio::spawn(async move {
                collect_event_sequences(connection, writes / 4)
                    .await
                    .map_err(|e| e.to_string())
            })
        });
        let readers: Vec<_> = readers.collect();
        followed.extend(write_latencies(&mut connection, &token, writes / 4, round * 2 + 1).await?);
        let expected: Vec<u64> = (first..).take(writes / 4).collect();
        for reader in readers {
            received.push(reader.await?? == expected);
        }
    }
    let (quiet, followed) = (median(&mut quiet), median(&mut followed));
    report.add_at_most(
        "write latency with 1,000 SSE readers / with none",
        followed / quiet,
        1.5,
        &format!(
            "{:.0} µs vs {:.0} µs, medians, alternating",
            followed * 1e6,
            quiet * 1e6
        ),
    );
    let right = received.iter().filter(|right| **right).count();
    report.add_figure(
        "SSE readers that got every event once, in order",
        format!("{right} of {}", received.len()),
        "all".to_owned(),
        right == received.len(),
        &format!("{} events each", writes / 4),
    );
    Ok(())
}

async fn write_latencies(
    connection: &mut HttpConnection,
    token: &str,
    count: usize,
    round: usize,
) -> BenchResult<Vec<f64>> {
    let mut times = Vec::with_capacity(count);
    for n in 0..count {
        let body = format!("{{\"description\":\"{round}-{n}\"}}");
        let request = json_request("PATCH /v1/tasks/1", token, &body);
        let started = Instant::now();
        connection
            .send_expecting_success(request.as_bytes())
            .await?;
        times.push(started.elapsed().as_secs_f64());
    }
    Ok(times)
}

/// Opens an SSE stream. Returns the sequence number after which it starts, taken from the first heartbeat.
async fn open_event_stream(address: &str, token: &str) -> BenchResult<(u64, HttpConnection)> {
    let mut connection = HttpConnection::connect(address).await?;
    let head = format!(
        "GET /v1/events HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\naccept: text/event-stream\r\n\r\n"
    );
    connection.stream.write_all(head.as_bytes()).await?;
    loop {
        connection.read_more().await?;
        let text = String::from_utf8_lossy(&connection.buffer);
        let sequence = text
            .split(": at ")
            .nth(1)
            .and_then(|rest| rest.split('\n').next());
        if let Some(sequence) = sequence.and_then(|value| value.trim().parse().ok()) {
            connection.buffer.clear();
            return Ok((sequence, connection));
        }
    }
}

/// Returns the sequence numbers of the next `count` events of a stream.
async fn collect_event_sequences(
    mut connection: HttpConnection,
    count: usize,
) -> BenchResult<Vec<u64>> {
    let mut sequences = Vec::with_capacity(count);
    while sequences.len() < count {
        connection.read_more().await?;
        let end = connection
            .buffer
            .iter()
            .rposition(|b| *b == b'\n')
            .map_or(0, |at| at + 1);
        let complete: Vec<u8> = connection.buffer.drain(..end).collect();
        for row in String::from_utf8_lossy(&complete).lines() {
            if let Some(id) = row.strip_prefix("id:") {
                sequences.push(id.trim().parse()?);
            }
        }
    }
    Ok(sequences)
}

fn per_second(count: usize, since: Instant) -> f64 {
    let count = saturating_cast::<u32>(count);
    f64::from(count) / since.elapsed().as_secs_f64()
}

/// Writes files of tasks that any agent may claim. Returns their directory.
fn write_claimable_task_files(env: &BenchEnv, count: usize) -> BenchResult<String> {
    let files = env.path_of("http-claim-files");
    std::fs::create_dir_all(&files)?;
    for n in 1..=count {
        let text = format!("{{\"id\":\"{n}\",\"subject\":\"{n}\",\"status\":\"pending\"}}");
        std::fs::write(files.join(format!("{n}.json")), text)?;
    }
    Ok(files.display().to_string())
}
