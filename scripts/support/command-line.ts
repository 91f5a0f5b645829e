/** Command lines of the tools: what is not understood ends the process with one line and exit code 2. */
import { type ParseArgsConfig, parseArgs } from 'node:util';

const EXIT_USAGE = 2;

/** The values of the options, all of which take text. */
export function readOptions<Name extends string>(
  defaults: Readonly<Record<Name, string | undefined>>,
): Partial<Record<Name, string>> {
  const options: NonNullable<ParseArgsConfig['options']> = Object.fromEntries(
    Object.keys(defaults).map((name) => [name, { type: 'string' }]),
  );
  try {
    return { ...defaults, ...parseArgs({ options }).values };
  } catch (error) {
    // The one type that parseArgs throws for a command line.
    if (error instanceof TypeError) return refuse(error.message);
    throw error;
  }
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

/** Says why the command line is not understood, and ends the process. */
export function refuse(reason: string): never {
  process.stderr.write(`${reason}\n`);
  process.exit(EXIT_USAGE);
}
