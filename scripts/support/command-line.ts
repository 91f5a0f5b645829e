/** Command lines of the tools: what is not understood ends the process with one line and exit code 2. */
import { readFileSync } from 'node:fs';
import { type ParseArgsConfig, parseArgs } from 'node:util';

const EXIT_USAGE = 2;
/** The description of a tool at the top of its file. */
const HEADER = /\/\*\*\n(?<lines>[^]*?)\n \*\//;

/**
 * The values of the options that take text. A flag is in the result when it was given. `--help` prints the comment at
 * the top of the tool's file and exits with code 0, unless the tool has its own.
 */
export function readOptions<Name extends string>(
  defaults: Readonly<Record<Name, string | undefined>>,
  flags: readonly string[] = [],
): Partial<Record<Name, string>> {
  const options: NonNullable<ParseArgsConfig['options']> = Object.fromEntries([
    ...Object.keys(defaults).map((name) => [name, { type: 'string' }]),
    ...flags.map((name) => [name, { type: 'boolean' }]),
  ]);
  if (options['help'] === undefined && process.argv.slice(2).includes('--help')) return showHeader();
  try {
    return { ...defaults, ...parseArgs({ options }).values };
  } catch (error) {
    // The one type that parseArgs throws for a command line.
    if (error instanceof TypeError) return refuse(error.message);
    throw error;
  }
}

function showHeader(): never {
  const [, tool = ''] = process.argv;
  const lines = HEADER.exec(readFileSync(tool, 'utf8'))?.groups?.['lines'] ?? '';
  process.stdout.write(`${lines.replaceAll(/^ \* ?/gm, '')}\n`);
  process.exit(0);
}

/** The number that an option asks for, `min` or more. */
export function readNumber(
  option: string,
  text: string | undefined,
  { min, isWhole }: { readonly min: number; readonly isWhole: boolean },
): number {
  const value = text !== undefined && /^\d{1,12}(?:\.\d{1,6})?$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && (Number.isInteger(value) || !isWhole)) return value;
  const kind = isWhole ? 'a whole number' : 'a number';
  return refuse(`--${option} takes ${kind} from ${min} on, not ${JSON.stringify(text)}`);
}

/** The whole numbers that an option lists with commas between them, each `min` or more. */
export function readNumbers(option: string, text: string | undefined, min: number): readonly number[] {
  return (text ?? '').split(',').map((each) => readNumber(option, each, { min, isWhole: true }));
}

/** Ends the process when there are options that mean nothing without `needed`, which is not there. */
export function refuseAlone(
  options: Readonly<Record<string, unknown>>,
  names: readonly string[],
  needed: string,
): void {
  const alone = names.find((name) => options[name] !== undefined);
  if (alone !== undefined && options[needed] === undefined) refuse(`--${alone} goes with --${needed}`);
}

/** Says why the command line is not understood, and ends the process. */
export function refuse(reason: string): never {
  process.stderr.write(`${reason}\n`);
  process.exit(EXIT_USAGE);
}
