/** Command lines: options with a value, flags, and one positional argument. */
import { parseArgs } from 'node:util';
import { messageOf, UsageError } from './failures.ts';

export interface Asked<Name extends string> {
  readonly subject: string | undefined;
  readonly more: readonly string[];
  readonly values: Readonly<Partial<Record<Name, string>>>;
}

/** @throws UsageError */
export function readArguments<Name extends string>(
  args: readonly string[],
  names: readonly Name[],
  subjectsMax = 1,
): Asked<Name> {
  const options = Object.fromEntries(names.map((name) => [name, { type: 'string' as const }]));
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
    const [subject, ...more] = positionals;
    if (positionals.length > subjectsMax) throw new UsageError(`${positionals[subjectsMax]} is one thing too many`);
    const given = names.filter((name) => typeof values[name] === 'string').map((name) => [name, values[name]]);
    return { subject, more, values: Object.fromEntries(given) };
  } catch (error) {
    throw new UsageError(messageOf(error));
  }
}
