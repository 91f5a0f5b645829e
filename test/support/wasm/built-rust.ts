// Components in Rust, built once by cargo if cargo and its WebAssembly target are available. Tests never install a
// toolchain; without one, tests that need it are skipped, also in CI.
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
/** Minimum version 1.x of Rust, which wit-bindgen requires. */
const MINOR_MIN = 85;
const FETCH_MS = 60_000;

/** Returns true when this crate of the repository cannot be built here, after printing the reason to standard error. */
export function lacksCompiler(crate: string): boolean {
  const complaint = isKept(nameOf(crate)) ? undefined : complaintOf(crate);
  if (complaint !== undefined) process.stderr.write(`Tests of ${crate} are skipped: ${complaint}.\n`);
  return complaint !== undefined;
}

/** Component of a crate whose library has the name of its folder. */
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
 * Reason why the crate cannot be built here, for example a missing toolchain.
 *
 * @throws Error when the crate itself is the reason, such as an outdated Cargo.lock.
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
