/** Faults in the options of a command. Messages of Node do not list the options that exist. */
import { quote } from '#base';
import { nearest } from './nearest.ts';

// An import would also load the lazy parts of the module, such as its text comparison for tests.
const { parseArgs } = process.getBuiltinModule('node:util');

export type Options = Readonly<Record<string, { readonly type: 'string' | 'boolean' }>>;

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
      return [`unknown option ${quote(token.rawName)}; ${nearest(token.name, names, all, '--')}`];
    }
    if (option.type === 'boolean') return token.value === undefined ? [] : [`${token.rawName} takes no value`];
    const isMissing = token.value === undefined || (!token.inlineValue && /^-./.test(token.value));
    return isMissing ? [`${token.rawName} has no value; write ${token.rawName} VALUE`] : [];
  });
}
