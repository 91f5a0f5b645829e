// Goal: an export in Parquet has every event with all its parts, in row groups of a bounded size, and is there when it
// is whole. Method: the command against one node, and the file alone; a reader of Parquet by others reads the result.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type JsonNode, parseJson, RAW_DATA } from '#model';
import { ParquetFile } from '../../../../../src/main/commands/transfer/export-parquet.ts';
import { HttpClient } from '../../../../support/http-client.ts';
import { startTestServer, type TestServer } from '../../../../support/server.ts';
import { endWithFile, testDir } from '../../../../support/test-scope.ts';
import { type RunTransfer, transferWith } from '../../../../support/transfer.ts';

let server: TestServer;
let api: HttpClient;
let run: RunTransfer;
let file: string;

beforeAll(async () => {
  server = await startTestServer();
  endWithFile(() => server[Symbol.asyncDispose]());
  api = new HttpClient(server.http);
  run = transferWith(server.http);
});

beforeEach(() => {
  file = join(testDir(), 'events.parquet');
});

const EVENT = { specversion: '1.0', source: '/shop/orders', type: 'order.placed' };

type Row = Readonly<Record<string, unknown>>;

function parsed(text: string): Row {
  const row: Row = JSON.parse(text);
  return row;
}

async function rowsIn(path: string): Promise<readonly Row[]> {
  return parquetReadObjects({ file: await asyncBufferFromFile(path), utf8: false });
}

describe('cairn export --format parquet', () => {
  it('writes all parts of events', async () => {
    const name = await api.created();
    const first = { ...EVENT, id: 'a', subject: 'ада', time: '2026-01-15T09:00:00.123456789+01:00', partition: 7 };
    const payload = '{"total": 19.90,\n "serial": 9007199254740993}';
    const body = `{"events":[${JSON.stringify({ ...first, extensions: 'own' }).slice(0, -1)},"data":${payload}},`;
    const second = { ...EVENT, id: 'b', dataschema: 'urn:b', data_base64: 'AAH/' };
    await api.post(`/databases/${name}/events`, `${body}${JSON.stringify(second)}]}`);
    await api.commit(name, {
      ...EVENT,
      id: 'c',
      datacontenttype: 'text/plain',
      data: 'line\u2028\n',
      time: '0001-01-01T00:00:00Z',
    });
    await api.commit(name, { ...EVENT, id: 'd', source: 'other', data: 'text' }, { ...EVENT, id: 'e' });
    const { code, err } = await run(`export --database ${name} --format parquet --to ${file}`);
    expect([code, err]).toEqual([0, `${name}: 5 events, up to revision 3; --after 3 continues\n`]);
    const rows = await rowsIn(file);
    const { recordedtime } = rows[0] ?? {};
    expect(recordedtime).toBeInstanceOf(Date);
    const absent = { subject: null, time: null, datacontenttype: null, dataschema: null, data: null, data_bytes: null };
    const common = { source: '/shop/orders', type: 'order.placed', ...absent, extensions: null };
    expect(rows.map((row) => ({ ...row, recordedtime: undefined }))).toEqual([
      {
        ...common,
        revision: 1n,
        index: 0,
        id: 'a',
        subject: 'ада',
        time: new Date('2026-01-15T08:00:00.123Z'),
        data: payload,
        extensions: '{"extensions":"own","partition":7}',
      },
      { ...common, revision: 1n, index: 1, id: 'b', dataschema: 'urn:b', data_bytes: Uint8Array.of(0, 1, 255) },
      {
        ...common,
        revision: 2n,
        index: 0,
        id: 'c',
        datacontenttype: 'text/plain',
        data: 'line\u2028\n',
        time: new Date('0001-01-01T00:00:00Z'),
      },
      { ...common, revision: 3n, index: 0, id: 'd', source: 'other', data: '"text"' },
      { ...common, revision: 3n, index: 1, id: 'e' },
    ]);
  });

  it('has as many events as the export in lines, with the same sums', async () => {
    const name = await api.created();
    for (let from = 0; from < 2_500; from += 500) {
      const events = Array.from({ length: 500 }, (_, at) => ({
        ...EVENT,
        id: `e${from + at}`,
        data: { place: from + at },
      }));
      await api.commit(name, ...events);
    }
    await run(`export --database ${name} --after 1 --at 4 --format parquet --to ${file}`);
    const rows = await rowsIn(file);
    const { out } = await run(`export --database ${name} --after 1 --at 4`);
    const lines = out.trim().split('\n').map(parsed);
    const sums = (all: readonly Row[]): object => ({
      count: all.length,
      revisions: all.reduce((sum, { revision }) => sum + Number(revision), 0),
      indexes: all.reduce((sum, { index }) => sum + Number(index), 0),
      ids: createHash('sha256')
        .update(all.map(({ id }) => String(id)).join())
        .digest('hex'),
    });
    expect(sums(rows)).toEqual(sums(lines));
    const place = ({ data }: Row): unknown => parsed(String(data))['place'];
    expect(rows.map(place)).toEqual(Array.from({ length: 1_500 }, (_, at) => 500 + at));
  });

  it('leaves nothing behind when it fails, and no other file changes', async () => {
    const name = await api.created();
    await api.commit(name, { ...EVENT, id: 'a' });
    const command = `export --database ${name} --format parquet --to ${file}`;
    expect((await run(command, (count) => (count === 2 ? 'cut' : 'sent'))).code).toBe(1);
    expect(readdirSync(dirname(file))).toEqual([]);
    writeFileSync(file, 'mine');
    const err = `cairn export: ${file} exists; name another file\n`;
    expect(await run(command)).toEqual({ code: 1, out: '', err });
    expect([readdirSync(dirname(file)), readFileSync(file, 'utf8')]).toEqual([['events.parquet'], 'mine']);
  });

  it('writes an empty database', async () => {
    const name = await api.created();
    expect((await run(`export --database ${name} --format parquet --to ${file}`)).code).toBe(0);
    expect(await rowsIn(file)).toEqual([]);
  });
});

describe('a file in Parquet', () => {
  const event = (
    revision: number,
    id: string,
  ): { event: JsonNode & { kind: 'object' }; position: { revision: number; index: number } } => {
    const text = `{"id":"${id}","source":"s","specversion":"1.0","type":"t","revision":${revision},"index":0,"recordedtime":"2026-01-01T00:00:00Z","data":"${'x'.repeat(100)}"}`;
    const node = parseJson(Buffer.from(text), { raw: RAW_DATA });
    if (node.kind !== 'object') throw new Error('no JSON');
    return { event: node, position: { revision, index: 0 } };
  };

  it('has a row group for so many bytes', async () => {
    {
      await using parquet = await ParquetFile.create(file, 40_000);
      for (let page = 0; page < 10; page++) {
        await parquet.append(Array.from({ length: 25 }, (_, at) => event(1 + 25 * page + at, `e${at}`)));
      }
      await parquet.finish();
    }
    const { row_groups: groups, num_rows: count } = await parquetMetadataAsync(await asyncBufferFromFile(file));
    expect([count, groups.map(({ num_rows: rows }) => rows)]).toEqual([250n, Array.from({ length: 5 }, () => 50n)]);
    expect((await rowsIn(file)).map(({ revision }) => revision)).toEqual(
      Array.from({ length: 250 }, (_, at) => BigInt(at + 1)),
    );
  });

  it('has statistics in the order of bytes, as its readers compare', async () => {
    const ids = ['\ufffd', '\u{10000}'];
    {
      await using parquet = await ParquetFile.create(file);
      await parquet.append(ids.map((id, at) => event(at + 1, id)));
      await parquet.finish();
    }
    const {
      row_groups: [group],
    } = await parquetMetadataAsync(await asyncBufferFromFile(file));
    const found = group?.columns.map(({ meta_data: meta }) => [meta?.path_in_schema[0], meta?.statistics?.max_value]);
    expect(found?.find(([name]) => name === 'id')?.[1]).not.toBe('\ufffd');
    expect(found?.find(([name]) => name === 'revision')?.[1]).toBe(2n);
  });
});
