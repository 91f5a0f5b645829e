// Goal: events leave a database as lines and come into another one as they were, also after a failure in the middle; a
// line that is no event is named, and nothing after it is committed. Method: both commands against one node, with
// requests that fail where a test wants it.
import { appendFileSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { cairnIn } from '../../../../support/author-command.ts';
import { HttpClient } from '../../../../support/http-client.ts';
import { startTestServer, type TestServer } from '../../../../support/server.ts';
import { endWithFile, testDir } from '../../../../support/test-scope.ts';
import { type Fate, type RunTransfer, transferWith } from '../../../../support/transfer.ts';

let server: TestServer;
let api: HttpClient;
let file: string;
let run: RunTransfer;

beforeAll(async () => {
  server = await startTestServer();
  endWithFile(() => server[Symbol.asyncDispose]());
  api = new HttpClient(server.http);
  run = transferWith(server.http);
});

beforeEach(() => {
  file = join(testDir(), 'events.ndjson');
});

const EVENT = { specversion: '1.0', source: '/shop/orders', type: 'order.placed' };

/** A database with 2 + 1 + 1 events, whose payloads no parser of JavaScript keeps. */
async function shop(): Promise<string> {
  const name = await api.created();
  const first = { ...EVENT, id: 'a', subject: 'ada', time: '2026-01-15T09:00:00+01:00', partition: 7 };
  const payload = '{"total": 19.90,\n "serial": 9007199254740993, "2": 1, "1": "\\u0041\\n"}';
  const text = `{"events":[${JSON.stringify(first).slice(0, -1)},"data":${payload}},`;
  const body = `${text}${JSON.stringify({ ...EVENT, id: 'b', data_base64: 'AAEC' })}]}`;
  expect((await api.post(`/databases/${name}/events`, body)).status).toBe(200);
  await api.commit(name, { ...EVENT, id: 'a', datacontenttype: 'text/plain', data: 'line\u2028\u0001' });
  await api.commit(name, { ...EVENT, id: 'c', source: 'other' });
  return name;
}

/** Whatever a database says of its events, except when it recorded them. */
async function eventsOf(name: string): Promise<string> {
  const revision = await api.latestRevision(name);
  const { text } = await api.get(`/db/${name}/${revision}/events`);
  return text.replaceAll(/"recordedtime":"[^"]*"/g, '').replace(/^.*?"events"/, '');
}

/** Lines of events that no database has exported. */
function lines(count: number, from = 0): string {
  const all = Array.from({ length: count }, (_, place) => ({ ...EVENT, id: `e${from + place}`, data: { place } }));
  return all.map((event) => `${JSON.stringify(event)}\n`).join('');
}

/** Makes another database of the name, with these events. */
async function recreate(name: string, ...ids: readonly string[]): Promise<void> {
  await api.delete(`/databases/${name}`);
  await api.create(name);
  for (const id of ids) await api.commit(name, { ...EVENT, id });
}

async function filled(count: number): Promise<string> {
  const name = await api.created();
  writeFileSync(file, lines(count));
  expect((await run(`import --database ${name} --from ${file}`)).code).toBe(0);
  writeFileSync(file, '');
  return name;
}

const idsIn = (text: string): readonly string[] => Array.from(text.matchAll(/"id":"([^"]*)"/g), ([, id = '']) => id);
const countedIds = (count: number): readonly string[] => Array.from({ length: count }, (_, place) => `e${place}`);

describe('cairn export and cairn import', () => {
  it('move a database with its revisions, ids, times and payloads', async () => {
    const [from, to] = [await shop(), await api.created()];
    const said = { code: 0, out: '', err: `${from}: 4 events, up to revision 3; --after 3 continues\n` };
    expect(await run(`export --database ${from} --to ${file}`)).toEqual(said);
    const done = `${to}: 4 events, 4 of them new, up to revision 3\n`;
    expect(await run(`import --database ${to} --from ${file} --into-empty`)).toEqual({ code: 0, out: done, err: '' });
    expect(await eventsOf(to)).toBe((await eventsOf(from)).replace(',\n "serial"', ',  "serial"'));
    expect((await run(`export --database ${from}`)).out).toBe(readFileSync(file, 'utf8'));
  });
});

describe('cairn export', () => {
  it('ends at the revision at which it began, and names it', async () => {
    const name = await shop();
    const ran = await run(`export --database ${name}`, async (count): Promise<Fate> => {
      if (count === 2) await api.commit(name, { ...EVENT, id: 'later' });
      return 'sent';
    });
    expect(idsIn(ran.out)).toEqual(['a', 'b', 'a~2.0', 'c']);
    expect(ran.err).toBe(`${name}: 4 events, up to revision 3; --after 3 continues\n`);
    expect(idsIn((await run(`export --database ${name} --after 3`)).out)).toEqual(['later']);
    expect(idsIn((await run(`export --database ${name} --after 1 --at 2`)).out)).toEqual(['a~2.0']);
    expect(idsIn((await run(`export --database ${name} --selector {"stream":"other"}`)).out)).toEqual(['c']);
  });

  it('continues a file that a failure left with a part of a line', async () => {
    const name = await filled(2_500);
    const command = `export --database ${name} --to ${file}`;
    const failed = await run(command, (count) => (count === 4 ? 'cut' : 'sent'));
    expect([failed.code, failed.err]).toEqual([1, `cairn export: no answer from ${server.http} (cut)\n`]);
    expect(idsIn(readFileSync(file, 'utf8'))).toHaveLength(2_000);
    truncateSync(file, readFileSync(file).length - 20);
    expect((await run(command)).err).toContain(': 501 events, up to revision 3');
    await api.commit(name, { ...EVENT, id: 'e2500' });
    expect((await run(command)).err).toContain(': 1 events, up to revision 4');
    expect((await run(command)).err).toContain(': 0 events, up to revision 4');
    expect(idsIn(readFileSync(file, 'utf8'))).toEqual(countedIds(2_501));
    expect((await run(`export --database ${name}`)).out).toBe(readFileSync(file, 'utf8'));
  });

  it('leaves a file that begins like an export as it is', async () => {
    const [name, empty] = [await shop(), await api.created()];
    for (const text of ['{"id":"ada","name":"Ada"}', '{"id":7}', '{']) {
      for (const database of text === '{' ? [empty] : [name, empty]) {
        writeFileSync(file, text);
        const { code, err } = await run(`export --database ${database} --to ${file}`);
        expect([code, err]).toEqual([
          1,
          `cairn export: ${file} has something else than an export; name another file\n`,
        ]);
        expect(readFileSync(file, 'utf8')).toBe(text);
      }
    }
  });

  it('writes one file with another export of the database at once', async () => {
    const name = await filled(2_500);
    const command = `export --database ${name} --to ${file}`;
    const codes: number[] = [];
    const slow = await run(command, async (count): Promise<Fate> => {
      if (count === 3) await api.commit(name, { ...EVENT, id: 'later' });
      if (count > 2) codes.push((await run(count === 3 ? `${command} --at 3` : command)).code);
      return 'sent';
    });
    expect(codes).toEqual([0, 0]);
    expect(slow.err).toBe(`${name}: 2500 events, up to revision 3; --after 3 continues\n`);
    expect(idsIn(readFileSync(file, 'utf8'))).toEqual([...countedIds(2_500), 'later']);
    expect((await run(`export --database ${name}`)).out).toBe(readFileSync(file, 'utf8'));
  });

  it.each(['{"a":1}', '{"a":1}\n', 'text\n{"id":', '\n'])(
    'leaves a file with something else as it is: %j',
    async (text) => {
      const name = await shop();
      writeFileSync(file, text);
      const message = `cairn export: ${file} has something else than an export; name another file\n`;
      expect(await run(`export --database ${name} --to ${file}`)).toEqual({ code: 1, out: '', err: message });
      expect(readFileSync(file, 'utf8')).toBe(text);
    },
  );

  it('leaves the file of another database or selector as it is', async () => {
    const [name, other] = [await shop(), await filled(3)];
    await run(`export --database ${name} --to ${file}`);
    const before = readFileSync(file, 'utf8');
    for (const line of [`--database ${other}`, `--database ${name} --selector {"stream":"orders"}`]) {
      const { code, err } = await run(`export ${line} --to ${file}`);
      expect([code, err]).toEqual([
        1,
        'cairn export: the last event of the file, revision 3 and index 0, is not of this export\n',
      ]);
    }
    expect(readFileSync(file, 'utf8')).toBe(before);
  });

  it.each([2, 3])('ends when the database is another one by request %d', async (changed) => {
    const name = await filled(1_500);
    const { code, err } = await run(`export --database ${name}`, async (count): Promise<Fate> => {
      if (count === changed) await recreate(name, 'x', 'y');
      return 'sent';
    });
    expect([code, err]).toEqual([1, `cairn export: "${name}" is another database by now\n`]);
  });

  it.each([
    ['--after 9', 'cairn export: --after is 9, but the last revision is 3\n'],
    ['--at 9', /has no revision 9; its latest is 3\n$/],
    ['--selector {"streem":"a"}', /streem.*is unknown/],
    ['--selector {', /must hold JSON/],
  ])('refuses %s', async (options, message) => {
    const { code, out, err } = await run(`export --database ${await shop()} ${options}`);
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(message);
  });
});

describe('cairn import', () => {
  it.each(['cut', 'lost'] as const)(
    'continues after a request that was %s, with what was added since',
    async (fate) => {
      const name = await api.created();
      writeFileSync(file, lines(2_500));
      const command = `import --database ${name} --from ${file}`;
      const failed = await run(command, (count) => (count === 2 ? fate : 'sent'));
      expect([failed.code, failed.err]).toEqual([1, expect.stringContaining('import: lines 1001 to 2000: no answer')]);
      const recorded = fate === 'cut' ? 1_000 : 2_000;
      const [added, revision] = [2_500 - recorded, 3];
      expect((await run(command)).out).toBe(`${name}: 2500 events, ${added} of them new, up to revision ${revision}\n`);
      appendFileSync(file, lines(700, 2_500));
      expect((await run(command)).out).toBe(`${name}: 3200 events, 700 of them new, up to revision 5\n`);
      expect((await run(command)).out).toBe(`${name}: 3200 events, 0 of them new, up to revision 5\n`);
      expect(idsIn((await run(`export --database ${name}`)).out)).toEqual(countedIds(3_200));
    },
  );

  it('finds what an import with other borders has committed', async () => {
    const [from, to] = [await shop(), await api.created()];
    const text = (await run(`export --database ${from}`)).out;
    writeFileSync(
      file,
      text.replaceAll(/"(?:revision|index)":\d+,|"recordedtime":"[^"]*",?/g, '').replaceAll(',}', '}'),
    );
    expect((await run(`import --database ${to} --from ${file}`)).out).toBe(
      `${to}: 4 events, 4 of them new, up to revision 1\n`,
    );
    writeFileSync(file, text);
    expect((await run(`import --database ${to} --from ${file}`)).out).toBe(
      `${to}: 4 events, 0 of them new, up to revision 1\n`,
    );
  });

  it('names an event that an earlier import has not', async () => {
    const name = await filled(3);
    writeFileSync(file, lines(3).replace('e1', 'x1'));
    const rule = 'but the transaction that begins with the event of line 1 has "e1": lines were changed';
    const { code, err } = await run(`import --database ${name} --from ${file}`);
    expect([code, err]).toEqual([1, expect.stringContaining(`cairn import: line 2 has the event "x1", ${rule}`)]);
  });

  it('ends when the database is another one by now', async () => {
    const name = await api.created();
    writeFileSync(file, lines(2_500));
    const { code, err } = await run(`import --database ${name} --from ${file}`, async (count): Promise<Fate> => {
      if (count === 2) await recreate(name);
      return 'sent';
    });
    expect([code, err]).toEqual([1, expect.stringContaining(`"${name}" is another database by now\n`)]);
  });

  it('into an empty database refuses to split a transaction of the export', async () => {
    const [from, to] = [await shop(), await api.created()];
    const whole = (await run(`export --database ${from}`)).out;
    writeFileSync(file, whole.slice(0, whole.indexOf('\n') + 1));
    const command = `import --database ${to} --from ${file}`;
    expect((await run(`${command} --into-empty`)).code).toBe(0);
    writeFileSync(file, whole);
    const rule = 'lines 2 to 2: events of their transaction are committed without them';
    expect((await run(`${command} --into-empty`)).err).toContain(`cairn import: ${rule}`);
    expect((await run(command)).out).toBe(`${to}: 4 events, 3 of them new, up to revision 4\n`);
  });

  it.each(['', 'two\nlines', 'ключ'])('does not show a key that is none: %j', async (key) => {
    const [name, keyFile] = [await api.created(), `${file}.key`];
    writeFileSync(keyFile, key);
    writeFileSync(file, lines(1));
    const err = `cairn import: --key-file ${keyFile} must contain a key in one line, and nothing else\n`;
    const done = await run(`import --database ${name} --from ${file} --key-file ${keyFile}`);
    expect(done).toEqual({ code: 1, out: '', err });
  });

  it('says that events have other ids', async () => {
    const name = await filled(3);
    writeFileSync(file, lines(2, 1));
    const { out } = await run(`import --database ${name} --from ${file}`);
    expect(out).toContain('2 events have other ids than in the input: their streams had these already\n');
  });

  it.each([
    ['{"id":"x"}', 'The input is malformed: line[1002].specversion is required, "1.0" (and 2 more)'],
    ['{"id":', 'line 1002 is not JSON: column 7: expected a value; found the end'],
    ['7', 'line 1002 must be a JSON object, not number'],
    ['[{"id":"x"}]', 'line 1002 must be a JSON object, not array'],
    ['\u0000\u0000', 'line 1002 is not JSON'],
    [
      `{"id":"x","revision":1,"index":0,${JSON.stringify(EVENT).slice(1)}`,
      'The input is malformed: line[1002].index must not',
    ],
  ])('names the line %s, and commits nothing after it', async (line, message) => {
    const name = await api.created();
    writeFileSync(file, `${lines(1_001)}${line}\n${lines(3, 1_001)}`);
    const { code, err } = await run(`import --database ${name} --from ${file}`);
    expect([code, err]).toEqual([1, expect.stringContaining(`cairn import: ${message}`)]);
    expect(await api.latestRevision(name)).toBe(1);
  });

  it('into an empty database refuses one to which others write', async () => {
    const name = await filled(1);
    const command = `import --database ${name} --from ${file} --into-empty`;
    writeFileSync(file, lines(2_000, 1));
    const refusal = (needed: number, found: number): RegExp =>
      new RegExp(`^cairn import: lines .*needs revision exactly ${needed}; the database is at revision ${found}\n$`);
    expect((await run(command)).err).toMatch(refusal(0, 1));
    writeFileSync(file, lines(1_500));
    expect((await run(command)).out).toBe(`${name}: 1500 events, 1499 of them new, up to revision 3\n`);
    appendFileSync(file, lines(10, 1_500));
    await api.commit(name, { ...EVENT, id: 'other' });
    expect((await run(command)).err).toMatch(refusal(3, 4));
    const other = await api.created();
    await api.commit(other, { ...EVENT, id: 'other' });
    await run(`import --database ${other} --from ${file}`);
    const rule = 'lines 1 to 1000: they are revision 2, not 1';
    expect((await run(command.replace(name, other))).err).toBe(`cairn import: ${rule}\n`);
  });

  it('makes events of the records of another product', async () => {
    const [name, mapping] = [await api.created(), `${file}.json`];
    const names = { id: '/eventId', source: '/streamId', type: '/eventType', time: '/created', data: '/data' };
    writeFileSync(
      mapping,
      JSON.stringify({
        ...names,
        position: '/eventNumber',
        old: true,
        subject: '/metadata/user',
        dataschema: '/shema',
      }),
    );
    const first = `"eventId":"5f","eventType":"placed","eventNumber":4,"created":"2026-01-02T03:04:05.1234567Z"`;
    writeFileSync(file, `{"streamId":"order-1",${first},"data":{"n":1.50},"metadata":{"user":"ada"}}\n\n`);
    appendFileSync(file, '{"streamId":"order-1","eventId":6,"eventType":"paid","eventNumber":5,"data":null}');
    const { code, out } = await run(`import --database ${name} --from ${file} --mapping ${mapping}`);
    const rest = 'no line has what the mapping says of "dataschema"\n';
    expect([code, out]).toEqual([0, `${name}: 2 events, 2 of them new, up to revision 1\n${rest}`]);
    const served = /"revision":1,"index":\d,"recordedtime":"[^"]*",?/g;
    const stored = (await run(`export --database ${name}`)).out.replaceAll(served, '').replaceAll(',}', '}');
    const time = '"time":"2026-01-02T03:04:05.1234567Z"';
    expect(stored.split('\n')).toEqual([
      `{"id":"5f","source":"order-1","specversion":"1.0","type":"placed","subject":"ada",${time},"old":true,"position":4,"data":{"n":1.50}}`,
      '{"id":"6","source":"order-1","specversion":"1.0","type":"paid","old":true,"position":5}',
      '',
    ]);
  });
});

describe('the command line', () => {
  it('exports to stdout, and imports from a file', async () => {
    const [from, to, dir] = [await shop(), await api.created(), dirname(file)];
    const { code, out, err } = await cairnIn(dir, 'export', '--database', from, '--url', server.http);
    expect([code, err]).toEqual([0, `${from}: 4 events, up to revision 3; --after 3 continues\n`]);
    writeFileSync(file, out);
    const done = { code: 0, out: `${to}: 4 events, 4 of them new, up to revision 3\n`, err: '' };
    expect(await cairnIn(dir, 'import', '--database', to, '--url', server.http, '--from', file)).toEqual(done);
  });

  it.each([
    ['export', '--database is ""; it must be the name of a database'],
    ['export --database shop --after x', '--after is "x"; it must be a revision'],
    ['export --database shop --from f', '--from is only for import'],
    ['export --database shop --format csv', '--format is "csv"; it must be ndjson or parquet'],
    ['export --database shop --format parquet', '--to is missing: parquet needs a file'],
    ['export --database shop --url http://ada:secret@localhost', '--url is'],
    ['export --database shop --url http://localhost:3000/cairn', '--url is'],
    ['import --database shop', '--from is missing: a file with events, or - for stdin'],
    ['import --database shop --from f more', 'unexpected argument "more'],
  ])('%s', async (line, message) => {
    const { code, err } = await run(line);
    expect([code, err]).toEqual([2, expect.stringContaining(message)]);
  });
});
