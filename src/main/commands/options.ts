/** Reads the options of a command. Messages of Node do not list the options that exist. */
import type { parseArgs as Parse } from 'node:util';
import { failure, nearestName, ok, quote, type Result } from '#base';

// An import would also load the lazy parts of the module, such as its text comparison for tests.
const { parseArgs } = process.getBuiltinModule('node:util');

/** Exit code of a command whose command line is malformed. */
const EXIT_USAGE = 2;

/** `multiple`: the option may be repeated. `of`: the only command that takes the option. */
export type Options = Readonly<
  Record<string, { readonly type: 'string' | 'boolean'; readonly multiple?: boolean; readonly of?: string }>
>;

type Given<O extends Options> = ReturnType<
  typeof Parse<{ readonly args: string[]; readonly options: O; readonly allowPositionals: true }>
>;

/** Returns the options and positional arguments, or a sentence for each fault. */
export function readOptions<const O extends Options>(
  args: readonly string[],
  options: O,
): Result<Given<O>, readonly string[]> {
  const faults = optionFaults(args, options);
  return faults.length > 0 ? failure(faults) : ok(parseArgs({ args: [...args], options, allowPositionals: true }));
}

/** The variable in place of the option `--data-dir`. */
export const DATA_DIR_VARIABLE = 'CAIRN_DATA_DIR';

/**
 * Reads the options of a command without other arguments. `hints` has the required ones, and what to give them.
 * `textOf` returns the value of one of these.
 */
export function readRequired<const O extends Options, const Name extends string>(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  options: O,
  hints: Readonly<Record<Name, string>>,
): Result<{ readonly values: Given<O>['values']; readonly textOf: (name: Name) => string }, readonly string[]> {
  const given = readOptions(args, options);
  if (given.kind === 'failure') return given;
  const { values, positionals } = given.value;
  const texts = new Map<string, unknown>(Object.entries({ 'data-dir': environment[DATA_DIR_VARIABLE], ...values }));
  const textOf = (name: string): string => {
    const text = texts.get(name);
    return typeof text === 'string' ? text : '';
  };
  const faults = [
    ...(positionals.length > 0 ? [`unexpected argument ${quote(positionals.join(' '))}`] : []),
    ...Object.entries<string>(hints).flatMap(([name, hint]) =>
      textOf(name) === '' ? [`--${name} is missing; ${hint}`] : [],
    ),
  ];
  return faults.length > 0 ? failure(faults) : ok({ values, textOf });
}

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };
const DURATION = /^([1-9]\d{0,8})([smhd])$/;

/** Returns seconds, or adds a fault. */
export function readDuration(option: string, text: string | undefined, faults: string[]): number | undefined {
  if (text === undefined) return undefined;
  if (text === '0s') return 0;
  const [, count, unit = ''] = DURATION.exec(text) ?? [];
  if (count === undefined)
    faults.push(`--${option} is ${quote(text)}; it must be a number and s, m, h or d, such as 90d`);
  return Number(count ?? 0) * (SECONDS[unit] ?? 0);
}

/** Returns a sentence for each given option of another command. */
export function misplacedOptions(given: object, options: Options, command: string | undefined): readonly string[] {
  return Object.keys(given).flatMap((name) => {
    const { of = command } = options[name] ?? {};
    return of === command ? [] : [`--${name} is only for ${of}`];
  });
}

const EDITS_MAX = 3;
/** A name needs this many letters per edit, so that short names do not match everything. */
const LETTERS_PER_EDIT = 3;

/** Suggests the closest name as a question; returns `otherwise` when none is close. */
export function suggestion(name: string, names: readonly string[], otherwise: string, prefix = '--'): string {
  const nearest = nearestName(name, names, Math.min(EDITS_MAX, Math.floor(name.length / LETTERS_PER_EDIT)));
  return nearest === undefined ? otherwise : `did you mean ${prefix}${nearest}?`;
}

/** Writes a line for each fault of a command line. @returns the exit code */
export function refuseUsage(command: string, faults: readonly string[], err: (text: string) => void): number {
  for (const fault of faults) err(`cairn ${command}: ${fault}\n`);
  err(`See cairn ${command} --help.\n`);
  return EXIT_USAGE;
}

/** Returns a sentence for each fault. The caller checks positional arguments. */
export function optionFaults(args: readonly string[], options: Options): readonly string[] {
  const known = new Map(Object.entries(options));
  const names = [...known.keys()];
  const { tokens } = parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true });
  return tokens.flatMap((token) => {
    if (token.kind !== 'option') return [];
    const option = known.get(token.name);
    if (option === undefined || !token.rawName.startsWith('--')) {
      const all = `options are ${names.map((name) => `--${name}`).join(', ')}`;
      return [`unknown option ${quote(token.rawName)}; ${suggestion(token.name, names, all)}`];
    }
    if (option.type === 'boolean') return token.value === undefined ? [] : [`${token.rawName} takes no value`];
    const isMissing = token.value === undefined || (!token.inlineValue && /^-./.test(token.value));
    return isMissing ? [`${token.rawName} has no value; write ${token.rawName} VALUE`] : [];
  });
}
