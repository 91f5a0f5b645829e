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

try {
  await run();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

async function run(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      server: { type: 'string', default: '127.0.0.1:50051' },
      database: { type: 'string', default: 'git-history' },
      ask: { type: 'string', multiple: true, default: [] },
    },
  });
  const repository = resolve(positionals[0] ?? '.');
  const source = { repository, stream: basename(repository), database: values.database };
  using api = new Api(values.server);
  const { commits, events, revision } = await importRepository(api, source, process.stderr);
  process.stderr.write(`${commits} commits and ${events} events are in revision ${revision}.\n`);
  const history = new History(api, values.database);
  for (const question of values.ask) process.stdout.write((await answer(history, question)) ?? '');
  if (values.ask.length === 0) await converse(history);
}

async function converse(history: History): Promise<void> {
  process.stdout.write(HELP);
  const lines = createInterface({ input: process.stdin, output: process.stdout, prompt: '> ' });
  let isOpen = true;
  lines.once('close', () => {
    isOpen = false;
  });
  lines.prompt();
  for await (const line of lines) {
    const text = await answer(history, line);
    if (text === undefined) break;
    process.stdout.write(text);
    // Questions from a pipe may all have been read while the first is being answered.
    if (isOpen) lines.prompt();
  }
  lines.close();
}
