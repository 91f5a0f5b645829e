/**
 * Builds a component of a TypeScript module that exports one as `component`.
 *
 *   node sdk/component/build/main.ts examples/bank/balances.ts --out balances.wasm
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { buildComponent, kindOf } from './build.ts';

const USAGE = 'usage: node sdk/component/build/main.ts MODULE.ts [--out COMPONENT.wasm]';

const { values, positionals } = parseArgs({ options: { out: { type: 'string' } }, allowPositionals: true });
const [path, ...others] = positionals;
if (path === undefined || others.length > 0) {
  process.stderr.write(`${USAGE}\n`);
  process.exitCode = 2;
} else {
  try {
    const kind = await kindOf(path);
    const out = values.out ?? path.replace(/\.[cm]?[jt]s$/, '.wasm');
    if (out === path) throw new TypeError(`${path} would be written over; name the component by --out`);
    const component = await buildComponent(path, kind);
    writeFileSync(out, component);
    process.stdout.write(`${out}: ${kind}, ${component.length} bytes\n`);
  } catch (error) {
    process.stderr.write(`${path} is not built: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}
