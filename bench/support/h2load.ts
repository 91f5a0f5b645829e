/** Load by h2load (Debian package nghttp2-client), a client written in C++ that repeats one request. */
import { execFile } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { LoadResult } from './closed-loop.ts';
import { Latencies } from './latencies.ts';

const CALLERS_PER_CONNECTION = 16;

export interface H2loadRun {
  readonly url: string;
  readonly clients: number;
  readonly seconds: number;
  /** One length-prefixed message. */
  readonly body: Buffer;
  /** Directory for its files. */
  readonly dir: string;
}

/** Counts HTTP 200 as success; the caller has to check the gRPC status. */
export async function h2load(run: H2loadRun): Promise<LoadResult> {
  const bodyFile = join(run.dir, 'h2load-body');
  const logFile = join(run.dir, 'h2load-log');
  writeFileSync(bodyFile, run.body);
  const connections = Math.ceil(run.clients / CALLERS_PER_CONNECTION);
  await promisify(execFile)('h2load', [
    `--clients=${connections}`,
    `--max-concurrent-streams=${Math.ceil(run.clients / connections)}`,
    `--duration=${run.seconds}`,
    `--data=${bodyFile}`,
    `--log-file=${logFile}`,
    '--header=content-type: application/grpc',
    '--header=te: trailers',
    run.url,
  ]);
  const latencies = new Latencies();
  let failed = 0;
  // Columns: start time, HTTP status, microseconds.
  for (const line of readFileSync(logFile, 'utf8').split('\n')) {
    const [, status, micros] = line.split('\t');
    if (micros === undefined) continue;
    if (status !== '200') failed += 1;
    latencies.add(Number(micros) / 1000);
  }
  rmSync(logFile);
  return { calls: latencies.count, failed, seconds: run.seconds, latencies };
}
