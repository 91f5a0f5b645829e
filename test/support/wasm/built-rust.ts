// Components of Rust, built once by cargo, where that and its target for WebAssembly are. Nothing here installs a
// toolchain, so what needs one is skipped without it, also in CI.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { componentOfModule } from '../../../sdk/component/build/core-module.ts';
import { isKept, keptOr, ROOT } from './kept.ts';

const FOLDER = join(ROOT, 'node_modules/.cache/rust');
const TARGET = 'wasm32-unknown-unknown';
const SOURCES = ['src/lib.rs', 'Cargo.toml', 'Cargo.lock'];
const WORLD = 'sdk/component/wit/cairn.wit';
/** Of Rust 1: wit-bindgen asks for it. */
const MINOR_MIN = 85;
const FETCH_MS = 60_000;

/** Whether this crate of the repository cannot be built here; then it has been said on standard error. */
export function lacksCompiler(crate: string): boolean {
  const complaint = isKept(nameOf(crate)) ? undefined : complaintOf(crate);
  if (complaint !== undefined) process.stderr.write(`Tests of ${crate} are skipped: ${complaint}.\n`);
  return complaint !== undefined;
}

/** The component of a crate whose library is called as its folder. */
export async function builtRust(crate: string): Promise<Uint8Array> {
  return keptOr(nameOf(crate), async () => {
    await cargo(['build', '--locked', '--release', `--target=${TARGET}`, `--target-dir=${FOLDER}`], crate);
    const name = `${crate.split('/').at(-1)?.replaceAll('-', '_')}.wasm`;
    return componentOfModule(new Uint8Array(readFileSync(join(FOLDER, TARGET, 'release', name))));
  });
}

function nameOf(crate: string): string {
  const hash = createHash('sha256').update(readFileSync(join(ROOT, WORLD)));
  for (const file of SOURCES) hash.update(readFileSync(join(ROOT, crate, file)));
  return `rust-${hash.digest('hex')}`;
}

/**
 * Why it cannot be built, as far as that is no fault of the crate.
 *
 * @throws Error when it is, as by a Cargo.lock of something else.
 */
function complaintOf(crate: string): string | undefined {
  const options = { cwd: join(ROOT, crate), encoding: 'utf8', timeout: FETCH_MS } as const;
  const version = spawnSync('rustc', ['--version'], options);
  if (version.status !== 0) return 'there is no rustc; rustup installs it';
  const [, minor] = /^rustc 1\.(\d+)/.exec(version.stdout) ?? [];
  if (Number(minor) < MINOR_MIN) return `${version.stdout.trim()} is older than 1.${MINOR_MIN}`;
  const library = spawnSync('rustc', ['--print=target-libdir', `--target=${TARGET}`], options);
  if (!existsSync(library.stdout.trim())) return `rustc has no ${TARGET}; rustup target add ${TARGET} installs it`;
  const fetched = spawnSync('cargo', ['fetch', '--locked', `--target=${TARGET}`], options);
  if (fetched.status === 0) return undefined;
  if (/lock file|parse manifest/.test(fetched.stderr ?? '')) throw new Error(fetched.stderr);
  const [said] = /error: .*/.exec(fetched.stderr ?? '') ?? [fetched.error?.message];
  return `cargo gets no crates (${said})`;
}

async function cargo(args: readonly string[], crate: string): Promise<void> {
  const child = spawn('cargo', args, { cwd: join(ROOT, crate), stdio: ['ignore', 'ignore', 'pipe'] });
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (complaint += text));
  const code = await new Promise<number | null>((settle, reject) => {
    child.once('error', reject);
    child.once('close', settle);
  });
  if (code !== 0) throw new Error(`cargo ${args[0]} ends with ${code}: ${complaint}`);
}
