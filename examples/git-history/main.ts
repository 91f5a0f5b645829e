/**
 * Imports the history of a git repository into Cairn and answers questions about it at a prompt.
 *
 *   node --conditions=source examples/git-history/main.ts [--server host:port] [--database name] [--ask question]... REPOSITORY
 */
import { basename, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { parseArgs } from 'node:util';
import { Api } from './api.ts';
import { History } from './history.ts';
import { importRepository } from './import.ts';
import { answer, HELP } from './prompt.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    server: { type: 'string', default: '127.0.0.1:50051' },
    database: { type: 'string', default: 'git-history' },
    ask: { type: 'string', multiple: true, default: [] },
  },
});
const repository = resolve(positionals[0] ?? '.');
const stream = basename(repository);

using api = new Api(values.server);
const summary = await importRepository(api, { repository, stream, database: values.database }, process.stderr);
process.stderr.write(`${summary.commits} commits and ${summary.events} events are in revision ${summary.revision}.\n`);

const history = new History(api, values.database);
for (const question of values.ask) process.stdout.write((await answer(history, question)) ?? '');
if (values.ask.length === 0) await converse();

async function converse(): Promise<void> {
  process.stdout.write(HELP);
  const lines = createInterface({ input: process.stdin, output: process.stdout, prompt: '> ' });
  lines.prompt();
  for await (const line of lines) {
    const text = await answer(history, line);
    if (text === undefined) break;
    process.stdout.write(text);
    lines.prompt();
  }
  lines.close();
}
