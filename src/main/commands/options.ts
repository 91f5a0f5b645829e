/** Reads the options of a command. Messages of Node do not list the options that exist. */
import type { parseArgs as Parse } from 'node:util';
import { failure, ok, quote, type Result } from '#base';
import { suggestion } from '../settings/setting.ts';

// An import would also load the lazy parts of the module, such as its text comparison for tests.
const { parseArgs } = process.getBuiltinModule('node:util');

export type Environment = Readonly<Record<string, string | undefined>>;

/** `multiple`: the option may be repeated. `of`: the only command that takes the option. */
export type Options = Readonly<
  Record<string, { readonly type: 'string' | 'boolean'; readonly multiple?: boolean; readonly of?: string }>
>;

type Parsed<O extends Options> = ReturnType<
  typeof Parse<{ readonly args: string[]; readonly options: O; readonly allowPositionals: true }>
>;

/** The values of options, of which some are required. */
export type Values<O extends Options, Name extends string = never> = Parsed<O>['values'] & {
  readonly [Required in Name]: string;
};

export interface OptionsOf<O extends Options, Name extends string> {
  readonly options: O;
  /** The required options, and what to give them. A command that has it takes no other arguments. */
  readonly required?: Readonly<Record<Name, string>>;
}

const DATA_DIR = 'data-dir';
/** The variable in place of the option `--data-dir`. */
export const DATA_DIR_VARIABLE = 'CAIRN_DATA_DIR';

/** Returns the options and the other arguments, or a sentence for each fault. */
export function readOptions<const O extends Options, const Name extends string>(
  args: readonly string[],
  { options, required }: OptionsOf<O, Name>,
  environment: Environment,
): Result<{ readonly values: Values<O, Name>; readonly words: readonly string[] }, readonly string[]> {
  const faults = [...optionFaults(args, options)];
  if (faults.length > 0) return failure(faults);
  const { values, positionals: words } = parseArgs({ args: [...args], options, allowPositionals: true });
  if (DATA_DIR in options && !(DATA_DIR in values))
    Object.assign(values, { [DATA_DIR]: environment[DATA_DIR_VARIABLE] });
  if (required !== undefined && words.length > 0) faults.push(`unexpected argument ${quote(words.join(' '))}`);
  if (hasAll(values, required) && faults.length === 0) return ok({ values, words });
  const lacking = Object.entries<string>(required ?? {}).filter(([name]) => !hasText(values, name));
  return failure([...faults, ...lacking.map(([name, hint]) => `--${name} is missing; ${hint}`)]);
}

function hasAll<Given extends object, Name extends string>(
  values: Given,
  required: Readonly<Record<Name, string>> | undefined,
): values is Given & { readonly [Required in Name]: string } {
  return Object.keys(required ?? {}).every((name) => hasText(values, name));
}

function hasText(values: object, name: string): boolean {
  return (Reflect.get(values, name) ?? '') !== '';
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
