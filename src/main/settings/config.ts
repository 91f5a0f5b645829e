/**
 * Reads the command line and the environment into the frozen `Config`, once, before anything else happens.
 *
 * A flag overrides a variable, and a variable overrides the default. All faults are reported at once: unknown and
 * malformed settings, also variables that a flag overrides, and settings that contradict each other. The caller then
 * exits with code 2, so that a node never runs with unintended settings.
 */
import { failure, ok, quote, type Result } from '#base';
import { flagName, readSetting, suggestion, variableName } from './setting.ts';
import { faultsBetween } from './setting-pairs.ts';
import { buildConfig, type Config, SETTINGS } from './settings.ts';

// An import would also load the lazy parts of the module, such as its text comparison for tests.
const { parseArgs } = process.getBuiltinModule('node:util');

export type Invocation =
  | { readonly kind: 'run'; readonly config: Config }
  | { readonly kind: 'help' }
  | { readonly kind: 'version' };

type Environment = Readonly<Record<string, string | undefined>>;

interface Source {
  /** The flag or variable, as the user wrote it. */
  readonly name: string;
  readonly text: string;
}

/** The given settings, by key. */
type Given = Map<string, Source>;

const PREFIX = 'CAIRN_';
const SETTINGS_LISTED = '--help lists all settings.';
const KEY_OF_FLAG: ReadonlyMap<string, string> = new Map(Object.keys(SETTINGS).map((key) => [flagName(key), key]));
const KEY_OF_VARIABLE: ReadonlyMap<string, string> = new Map(
  Object.keys(SETTINGS).map((key) => [variableName(key), key]),
);

/** @returns the invocation, or one sentence per fault. */
export function readInvocation(
  args: readonly string[],
  environment: Environment,
): Result<Invocation, readonly string[]> {
  const faults: string[] = [];
  const variables = readEnvironment(environment, faults);
  const flags: Given = new Map();
  const asked = readFlags(args, flags, faults);
  if (asked !== undefined && faults.length === 0) return ok({ kind: asked });
  const malformed = new Set<string>();
  const config = buildConfig((key, setting) => {
    const [value = setting.default] = [flags.get(key), variables.get(key)].flatMap((source) => {
      const read = source && readSetting(setting, source);
      if (read?.kind !== 'failure') return read === undefined ? [] : [read.value];
      malformed.add(key);
      faults.push(read.reason);
      return [];
    });
    return value;
  });
  // A malformed setting has no value to compare with others.
  const nameOf = (key: keyof Config): string | undefined =>
    malformed.has(key) ? undefined : (flags.get(key)?.name ?? variables.get(key)?.name ?? `--${flagName(key)}`);
  faults.push(...faultsBetween(config, nameOf));
  if (faults.length > 0) return failure(faults);
  return ok({ kind: 'run', config: Object.freeze(config) });
}

function readEnvironment(environment: Environment, faults: string[]): Given {
  const given: Given = new Map();
  for (const [name, text] of Object.entries(environment)) {
    if (!name.startsWith(PREFIX) || text === undefined || isServiceLink(name, text)) continue;
    const key = KEY_OF_VARIABLE.get(name);
    if (key === undefined)
      faults.push(
        `${name} is set, but there is no such setting; ${suggestion(bare(name), [...KEY_OF_VARIABLE.keys()].map(bare), SETTINGS_LISTED, PREFIX)}`,
      );
    // Kubernetes sets an empty text when a variable comes from a label that the pod lacks.
    else if (text !== '') given.set(key, { name, text });
  }
  return given;
}

function bare(variable: string): string {
  return variable.slice(PREFIX.length);
}

// Kubernetes gives every pod CAIRN_SERVICE_HOST, CAIRN_PORT=tcp://… and their like when a Service is named cairn.
function isServiceLink(name: string, text: string): boolean {
  return /^(tcp|udp|sctp):\/\//.test(text) || /_SERVICE_(HOST|PORT)(_|$)|_PORT_\d+_(TCP|UDP|SCTP)(_|$)/.test(name);
}

function readFlags(args: readonly string[], given: Given, faults: string[]): 'help' | 'version' | undefined {
  const options = Object.fromEntries([...KEY_OF_FLAG.keys()].map((flag) => [flag, { type: 'string' as const }]));
  const { tokens } = parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true });
  let asked: 'help' | 'version' | undefined;
  for (const token of tokens) {
    if (token.kind === 'positional')
      faults.push(
        `${quote(token.value)} is neither a flag nor a command; settings are given as --name value, and commands are cluster, auth and recover.`,
      );
    if (token.kind !== 'option') continue;
    const key = KEY_OF_FLAG.get(token.name);
    if (key === undefined && token.value === undefined && (token.name === 'help' || token.name === 'version'))
      asked = token.name;
    else if (key === undefined)
      faults.push(
        `${token.rawName} is not a setting; ${suggestion(token.name, [...KEY_OF_FLAG.keys()], SETTINGS_LISTED)}`,
      );
    else if (token.value === undefined) faults.push(`${token.rawName} has no value; write ${token.rawName} VALUE.`);
    else if (given.get(key)?.name === token.rawName)
      faults.push(`${token.rawName} is given twice; which one is meant?`);
    else given.set(key, { name: token.rawName, text: token.value });
  }
  return asked;
}
