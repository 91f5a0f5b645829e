/**
 * Imports the history of a git repository into Cairn and answers questions about it at a prompt.
 *
 * USAGE says how it is called. It ends with 0 when all was answered, 1 when something failed, 2 when it was called
 * wrong.
 */
import { basename, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { parseArgs } from 'node:util';
import { type ServiceError, status } from '@grpc/grpc-js';
import { optionFaults } from '../../src/main/commands/options.ts';
import { Api } from './api.ts';
import { databaseNameOf } from './database-name.ts';
import { rootCommit } from './git-log.ts';
import { History } from './history.ts';
import { importRepository, RefusedCommit } from './import.ts';
import { answer, HELP, RefusedQuestion } from './prompt.ts';

const USAGE = `Usage: node --conditions=source examples/git-history/main.ts [option]... [REPOSITORY]

Imports the history of a git repository (default: the one here) into Cairn and answers questions about it.

  --server HOST:PORT   the gRPC address of a node; default 127.0.0.1:50051
  --database NAME      the database; default: called after the repository and its root commit
  --ask QUESTION       answers this instead of asking at a prompt; may be repeated
  --help               prints this
`;
const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

interface Invocation {
  readonly server: string;
  /** Undefined: the repository's own. */
  readonly database: string | undefined;
  readonly ask: readonly string[];
  readonly help: boolean;
  readonly repository: string;
}

const invocation = readInvocation();
if (invocation === undefined) process.exitCode = EXIT_USAGE;
else if (invocation.help) process.stdout.write(USAGE);
else {
  try {
    await run(invocation);
  } catch (error) {
    process.stderr.write(`${complaintOf(error, invocation.server)}\n`);
    process.exitCode = EXIT_FAILED;
  }
}

/** Nothing, after saying why, when the command line is not understood. */
function readInvocation(): Invocation | undefined {
  const options = {
    server: { type: 'string', default: '127.0.0.1:50051' },
    database: { type: 'string' },
    ask: { type: 'string', multiple: true },
    help: { type: 'boolean', default: false },
  } as const;
  const faults = optionFaults(process.argv.slice(2), options);
  if (faults.length > 0) {
    process.stderr.write(`${faults.join('\n')}\n\n${USAGE}`);
    return undefined;
  }
  const { values, positionals } = parseArgs({ allowPositionals: true, options });
  return { ...values, database: values.database, ask: values.ask ?? [], repository: resolve(positionals[0] ?? '.') };
}

function complaintOf(error: unknown, server: string): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof RefusedCommit) {
    return `The commit ${error.commit} was not imported. ${complaintOf(error.cause, server)}`;
  }
  if (!isServiceError(error)) return error.message;
  if (error.code !== status.UNAVAILABLE) return error.details;
  return `No node answers at ${server}: start one with npm start, or say with --server host:port where one is.`;
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' && 'details' in error;
}

async function run({ server, database: named, ask, repository }: Invocation): Promise<void> {
  const stream = basename(repository);
  const database = named ?? databaseNameOf(stream, await rootCommit(repository));
  const source = { repository, stream, database };
  using api = new Api(server);
  const { commits, empty, events, revision } = await importRepository(api, source, process.stderr);
  process.stderr.write(
    `${commits} commits (${empty} of them without a changed file) and ${events} events are in revision ${revision} of the database ${database}.\n`,
  );
  const history = new History(api, database);
  for (const question of ask) {
    const { text, isRefused } = await answerOrRefusal(history, question, server);
    (isRefused ? process.stderr : process.stdout).write(text ?? '');
    if (isRefused) process.exitCode = EXIT_FAILED;
  }
  if (ask.length === 0) await converse(history, server);
}

/** A question that is refused, here or by the node, does not end those that follow. */
async function answerOrRefusal(
  history: History,
  question: string,
  server: string,
): Promise<{ readonly text: string | undefined; readonly isRefused: boolean }> {
  try {
    return { text: await answer(history, question), isRefused: false };
  } catch (error) {
    if (!(error instanceof RefusedQuestion || isServiceError(error))) throw error;
    return { text: `${complaintOf(error, server)}\n`, isRefused: true };
  }
}

async function converse(history: History, server: string): Promise<void> {
  process.stdout.write(HELP);
  const lines = createInterface({ input: process.stdin, output: process.stdout, prompt: '> ' });
  let isOpen = true;
  lines.once('close', () => {
    isOpen = false;
  });
  lines.prompt();
  for await (const line of lines) {
    const { text } = await answerOrRefusal(history, line, server);
    if (text === undefined) break;
    process.stdout.write(text);
    // Questions from a pipe may all have been read while the first is being answered.
    if (isOpen) lines.prompt();
  }
  lines.close();
}
