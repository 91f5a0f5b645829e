// Goal: DuckDB reads an export in Parquet, and counts and sums the same as in the export in lines of JSON. Method:
// events of all kinds, in files for parts of their history; one query.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { queryDuckDb } from '../../support/duckdb.ts';
import { HttpClient } from '../../support/http-client.ts';
import { lacksTool } from '../../support/needed-tools.ts';
import { startTestServer } from '../../support/server.ts';
import { endWithFile, testDir } from '../../support/test-scope.ts';
import { transferWith } from '../../support/transfer.ts';

const TRANSACTIONS = 60;
const EVENTS = 200;
const TYPES = ['order.placed', 'order.paid', 'order.shipped'];

interface Line {
  readonly revision: number;
  readonly index: number;
  readonly type: string;
  readonly subject?: string;
  readonly time?: string;
  readonly recordedtime: string;
  readonly data?: { readonly total: number };
  readonly data_base64?: string;
  readonly priority?: number;
}

/** One of three kinds; a payload is JSON, bytes, or absent. */
function eventOf(number: number): object {
  const seconds = String(number % 60).padStart(2, '0');
  const bytes = Buffer.alloc(number % 50, number).toString('base64');
  return {
    specversion: '1.0',
    id: `e${number}`,
    source: '/shop/orders',
    type: TYPES[number % 3],
    ...(number % 2 === 0 && { subject: `ада ${number % 101}` }),
    ...(number % 5 === 0 && { time: `2026-01-15T09:00:${seconds}.${String(number % 1_000_000).padStart(6, '0')}Z` }),
    ...[{ data: { total: (number * 7919) % 10_007 } }, { data_base64: bytes }, {}][Math.floor(number / 7) % 3],
    ...(number % 11 === 0 && { priority: number % 13 }),
  };
}

const QUERY = `
  SELECT type, count(*), sum(revision)::BIGINT, sum("index")::BIGINT, count(DISTINCT id), count(subject),
    count(DISTINCT subject), coalesce(sum(epoch_us(time)), 0)::VARCHAR, sum(epoch_us(recordedtime))::VARCHAR,
    coalesce(sum((data::JSON->>'total')::BIGINT), 0)::BIGINT, coalesce(sum(octet_length(data_bytes)), 0)::BIGINT,
    coalesce(sum((extensions::JSON->>'priority')::BIGINT), 0)::BIGINT
  FROM read_parquet(?) GROUP BY type ORDER BY type`;

function sum(values: readonly (number | undefined)[]): number {
  return values.reduce((total: number, value) => total + (value ?? 0), 0);
}

function micros(times: readonly (string | undefined)[]): string {
  const known = times.filter((time) => time !== undefined);
  const digits = (time: string): bigint => BigInt((/\.(\d+)/.exec(time)?.[1] ?? '').padEnd(6, '0').slice(0, 6));
  const each = known.map((time) => BigInt(Math.floor(Date.parse(time) / 1_000)) * 1_000_000n + digits(time));
  return String(each.reduce((total, value) => total + value, 0n));
}

/** The row of the query for one type. */
function rowOf(type: string, lines: readonly Line[]): readonly unknown[] {
  const subjects = lines.flatMap(({ subject }) => subject ?? []);
  return [
    type,
    lines.length,
    sum(lines.map(({ revision }) => revision)),
    sum(lines.map(({ index }) => index)),
    lines.length,
    subjects.length,
    new Set(subjects).size,
    micros(lines.map(({ time }) => time)),
    micros(lines.map(({ recordedtime }) => recordedtime)),
    sum(lines.map(({ data }) => data?.total)),
    sum(lines.map((line) => (line.data_base64 === undefined ? 0 : Buffer.from(line.data_base64, 'base64').length))),
    sum(lines.map(({ priority }) => priority)),
  ];
}

it.skipIf(lacksTool('duckdb'))('DuckDB finds the counts and sums of the export in lines', async () => {
  const server = await startTestServer();
  endWithFile(() => server[Symbol.asyncDispose]());
  const api = new HttpClient(server.http);
  const run = transferWith(server.http);
  const dir = testDir();
  const name = await api.created();
  for (let at = 0; at < TRANSACTIONS; at++) {
    await api.commit(name, ...Array.from({ length: EVENTS }, (_, index) => eventOf(at * EVENTS + index)));
  }
  const file = (part: string): string => join(dir, part);
  const exported = `export --database ${name} --format parquet --to`;
  expect((await run(`${exported} ${file('1.parquet')} --at 25`)).code).toBe(0);
  expect((await run(`${exported} ${file('2.parquet')} --after 25`)).code).toBe(0);
  const { out } = await run(`export --database ${name}`);
  const lines = out
    .trim()
    .split('\n')
    .map((text): Line => JSON.parse(text) as Line);
  expect(lines).toHaveLength(TRANSACTIONS * EVENTS);
  const rows = TYPES.toSorted().map((type) =>
    rowOf(
      type,
      lines.filter((line) => line.type === type),
    ),
  );
  expect(await queryDuckDb(QUERY, file('*.parquet'))).toEqual(rows);
  // A file that is cut is refused, so the reader has read all of it.
  const bytes = readFileSync(file('2.parquet'));
  writeFileSync(file('2.parquet'), bytes.subarray(0, bytes.length - 100));
  await expect(queryDuckDb(QUERY, file('*.parquet'))).rejects.toThrow('2.parquet');
});
