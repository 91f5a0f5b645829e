/** Runs commands, and their output: tables, and failures that are reported in one line because they are no bugs. */
import { toHex } from '#base';
import { EXIT_REFUSED, isRefusal, refuseUsage } from '../process/refusals.ts';
import { type Environment, type Options, type OptionsOf, readOptions, type Values } from './options.ts';

interface Command<O extends Options, Name extends string> extends OptionsOf<O, Name> {
  readonly name: string;
  readonly help: string;
}

export interface CommandPorts {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Variables in place of options. */
  readonly environment?: Environment;
}

/**
 * Runs a command, or prints its help. `run` returns the exit code, or a sentence for each fault of the command line.
 * @returns the exit code
 */
export async function runCommandLine<const O extends Options, const Name extends string = never>(
  command: Command<O, Name>,
  args: readonly string[],
  { out, err, environment = {} }: CommandPorts,
  run: (values: Values<O, Name>, words: readonly string[]) => Promise<number | readonly string[]>,
): Promise<number> {
  const { name, help } = command;
  if (args.includes('--help') || args[0] === 'help') {
    out(help);
    return 0;
  }
  try {
    const given = readOptions(args, command, environment);
    const done = given.kind === 'failure' ? given.reason : await run(given.value.values, given.value.words);
    if (typeof done === 'number') return done;
    const code = refuseUsage(`cairn ${name}`, done, err);
    err(`See cairn ${name} --help.\n`);
    return code;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    err(`cairn ${name}: ${error.message}\n`);
    return EXIT_REFUSED;
  }
}

export interface ProgressPorts extends CommandPorts {
  readonly nowMs: () => number;
  /** Stderr is a terminal. */
  readonly isTerminal: boolean;
}

const PROGRESS_MS = 5_000;

/** Returns a function that writes its text to stderr at most every 5 s, and only if wanted or on a terminal. */
export function progressTo({ err, nowMs, isTerminal }: ProgressPorts, isWanted = false): (text: string) => void {
  let shownMs = nowMs();
  return (text) => {
    if (!(isWanted || isTerminal) || nowMs() - shownMs < PROGRESS_MS) return;
    shownMs = nowMs();
    err(`${text}\n`);
  };
}

/** Formats a value as JSON for people and programs; bytes are hexadecimal text. */
export function jsonText(value: unknown): string {
  const bytesAsHex = (_key: string, each: unknown): unknown => (each instanceof Uint8Array ? toHex(each) : each);
  return `${JSON.stringify(value, bytesAsHex, 2)}\n`;
}

/** Formats a text table: columns as wide as their cells, with two spaces between. */
export function table(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
