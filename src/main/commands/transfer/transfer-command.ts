/**
 * `cairn export` and `cairn import`: events of a database in a file, by a client of its HTTP API.
 *
 * Exit code 0: every event is written, or committed. 1: refused, or a failure; the reason is on stderr, and the events
 * before it are written. 2: the command line is malformed.
 */
import { failure, ok, quote, type Result } from '#base';
import { isDatabaseName, parseJson } from '#model';
import { refused } from '../../process/refusals.ts';
import { type ProgressPorts, progressTo, runCommandLine } from '../command-line.ts';
import {
  API_OPTIONS,
  API_URL_DEFAULT,
  type ApiPorts,
  type AskApi,
  ofOneInstance,
  openApi,
  urlFaults,
} from '../http-api.ts';
import { misplacedOptions, type Values as ValuesOf } from '../options.ts';
import { textOf } from './event-lines.ts';
import type { EventMapping } from './event-mapping.ts';
import { type ExportTarget, LinesFile } from './export-file.ts';
import { pagesOf } from './export-pages.ts';
import { batchesOf, eventsOf, type Imported, importBatches } from './import-events.ts';

const ACCESS_HELP = `  --url URL            HTTP API of any node; ${API_URL_DEFAULT} by default.
  --key-file FILE      File with an API key.
  --tls-ca-file FILE   Certificate authorities in PEM to trust, in addition to those of Node.js.
  --progress           Shows progress on stderr every 5 s, also without a terminal.
`;

type Command = 'export' | 'import';

const HELP: Readonly<Record<Command, string>> = {
  export: `Usage: cairn export --database NAME [--to FILE] [--url URL] [--key-file FILE] [--tls-ca-file FILE]

Writes the events of a database in the order of their revisions, one CloudEvent in JSON per line. Events that are
committed meanwhile are not in the export. See docs/operations/export.md.

  --to FILE            Continues the file, after the last event that it has: repeat a command that was interrupted, or
                       add new events. Without --to, the events are written to stdout.
  --format FORMAT      ndjson, by default, or parquet, which needs --to with a new file.
  --at REVISION        Last revision; the latest one by default.
  --after REVISION     Begins after this revision, such as the one that an earlier export ended with.
  --selector JSON      Writes only events that match, such as {"stream": "orders"} or {"startsWith": {"subject": "a"}}.
${ACCESS_HELP}`,
  import: `Usage: cairn import --database NAME --from FILE [--url URL] [--key-file FILE] [--tls-ca-file FILE]

Commits events in the order of their lines, each a CloudEvent in JSON: in the transactions of the database from which cairn
export has read them, or as many at once as a transaction may have. A repetition commits what is missing. See
docs/operations/export.md.

  --from FILE          File with the events; - reads them from stdin.
  --mapping FILE       Makes events of other records, by a JSON object of attributes, such as
                       {"id": "/eventId", "source": "/streamId", "type": "/eventType", "data": "/data"}.
  --into-empty         Requires that nothing but this import has written to the database.
${ACCESS_HELP}`,
};

export interface TransferPorts extends ApiPorts, ProgressPorts {
  /** Writes to stdout, and resolves once it may continue. */
  readonly write: (text: string) => Promise<void>;
  /** Content of a file; `-` is stdin. */
  readonly input: (file: string) => AsyncIterable<Uint8Array>;
}

type Values = ReturnType<typeof readArguments> extends Result<infer Value, unknown> ? Value : never;

interface Client extends TransferPorts {
  readonly ask: AskApi;
  readonly show: (text: string) => void;
}

/** Runs the command. @returns the exit code */
export function transferCommand(name: Command, args: readonly string[], ports: TransferPorts): Promise<number> {
  return runCommandLine({ name, help: HELP[name], options: OPTIONS }, args, ports, async (given, words) => {
    const read = readArguments(name, given, words);
    if (read.kind === 'failure') return read.reason;
    const values = read.value;
    const ask = ofOneInstance(openApi(values, ports), values.database);
    const client = { ...ports, ask, show: progressTo(ports, values.progress) };
    await (name === 'export' ? exportEvents : importEvents)(values, client);
    return 0;
  });
}

async function exportEvents({ database, after, selector, ...values }: Values, client: Client): Promise<void> {
  await using target = await targetOf(values, client);
  const { last } = target;
  const at = values.at ?? (await client.ask({ path: `/databases/${database}` })).headers.get('x-revision') ?? '';
  if (after > Number(at)) throw refused(`--after is ${after}, but the last revision is ${at}`);
  let count = 0;
  for await (const lines of pagesOf(client.ask, { database, at, after, last, selector })) {
    await target.append(lines);
    count += lines.length;
    client.show(`${count} events, revision ${lines.at(-1)?.position.revision ?? at} of ${at}`);
  }
  await target.finish();
  client.err(`${database}: ${count} events, up to revision ${at}; --after ${at} continues\n`);
}

async function targetOf({ to, format }: Pick<Values, 'to' | 'format'>, { write }: Client): Promise<ExportTarget> {
  if (to !== undefined && format === 'parquet') {
    // Its library is loaded only here.
    const { ParquetFile } = await import('./export-parquet.ts');
    return ParquetFile.create(to);
  }
  if (to !== undefined) return LinesFile.open(to);
  return {
    append: (lines) => write(lines.map((line) => `${textOf(line)}\n`).join('')),
    finish: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

async function importEvents({ database, from, isIntoEmpty, ...values }: Values, client: Client): Promise<void> {
  const mapping = values.mapping === undefined ? undefined : readMapping(values.mapping, client);
  const batches = batchesOf(eventsOf(client.input(from ?? '-'), mapping));
  let last: Imported = { events: 0, added: 0, renamed: 0, revision: 0 };
  for await (last of importBatches({ database, isIntoEmpty, ask: client.ask }, batches)) {
    client.show(`${last.events} events, revision ${last.revision}`);
  }
  const { events, added, renamed, revision } = last;
  client.out(`${database}: ${events} events, ${added} of them new, up to revision ${revision}\n`);
  if (renamed > 0) client.out(`${renamed} events have other ids than in the input: their streams had these already\n`);
  for (const name of mapping?.missing ?? []) client.out(`no line has what the mapping says of ${quote(name)}\n`);
}

function readMapping(file: string, { read }: Client): EventMapping {
  const mapping = parseJson(Buffer.from(read(file)));
  if (mapping.kind === 'object') return { ...mapping, missing: new Set(mapping.members.keys()) };
  throw refused(`the mapping ${file} is no JSON object${mapping.kind === 'fault' ? `: ${mapping.message}` : ''}`);
}

const OPTIONS = {
  after: { type: 'string', of: 'export' },
  at: { type: 'string', of: 'export' },
  database: { type: 'string' },
  format: { type: 'string', of: 'export' },
  from: { type: 'string', of: 'import' },
  'into-empty': { type: 'boolean', of: 'import' },
  mapping: { type: 'string', of: 'import' },
  progress: { type: 'boolean' },
  selector: { type: 'string', of: 'export' },
  to: { type: 'string', of: 'export' },
  ...API_OPTIONS,
} as const;

function readArguments(command: Command, values: ValuesOf<typeof OPTIONS>, words: readonly string[]) {
  const { database = '', from, at, after = '0', selector = '{}', format = 'ndjson', progress = false } = values;
  const faults = [...misplacedOptions(values, OPTIONS, command)];
  if (words.length > 0) faults.push(`unexpected argument ${quote(words.join(' '))}`);
  if (!isDatabaseName(database)) faults.push(`--database is ${quote(database)}; it must be the name of a database`);
  if (command === 'import' && from === undefined) faults.push('--from is missing: a file with events, or - for stdin');
  if (!['ndjson', 'parquet'].includes(format)) {
    faults.push(`--format is ${quote(format)}; it must be ndjson or parquet`);
  }
  if (format === 'parquet' && values.to === undefined) faults.push('--to is missing: parquet needs a file');
  for (const [name, text] of Object.entries({ at: at ?? '0', after })) {
    if (!/^\d{1,15}$/.test(text)) faults.push(`--${name} is ${quote(text)}; it must be a revision`);
  }
  faults.push(...urlFaults(values));
  if (faults.length > 0) return failure(faults);
  const isIntoEmpty = values['into-empty'] ?? false;
  return ok({ ...values, database, from, at, after: Number(after), selector, format, isIntoEmpty, progress });
}
