/**
 * `cairn build`: builds a component from a TypeScript module, or from a core module of another compiler.
 *
 * Two builds of the same source differ in bytes, since the engine is stored as it is after its start (ADR 0102), and
 * different bytes are a new version. So a custom section records a digest of the inputs, and a component with the same
 * digest is not built again.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import type * as Toolchain from '../component/build/build.ts';
import type * as CoreToolchain from '../component/build/core-module.ts';
import { readArguments } from './arguments.ts';
import { messageOf, ToolError } from './failures.ts';
import { CHECKOUT, type Project, projectIn } from './project.ts';

const SECTION = 'cairn-source';
const DIGEST_BYTES = 32;
/** Other inputs of a component. */
const MADE_BY = ['sdk/component/wit/cairn.wit', 'sdk/component/build/build.ts', 'package-lock.json'];

export async function build(args: readonly string[], base: string, say: (text: string) => void): Promise<void> {
  const { subject = '.', values } = readArguments(args, ['out']);
  const path = resolve(base, subject);
  const isFolder = existsSync(path) && statSync(path).isDirectory();
  const out = values.out === undefined ? undefined : resolve(base, values.out);
  if (isFolder) {
    const project = projectIn(path);
    await buildProject({ ...project, component: out ?? project.component }, base, say);
    return;
  }
  if (!existsSync(path)) throw new ToolError(`${path} is not there; name a folder with a component.ts, or a module`);
  const tell = (text: string): void => say(shown(base, text));
  if (path.endsWith('.wasm')) await buildFromCore(path, out ?? path, tell);
  else await buildModule(path, out ?? path.replace(/\.[cm]?[jt]s$/, '.wasm'), tell);
}

/** Checks the types, and builds the project. */
export async function buildProject(project: Project, base: string, say: (text: string) => void): Promise<void> {
  checkTypes(project.folder);
  await buildModule(project.module, project.component, (text) => say(shown(base, text)));
}

function shown(base: string, text: string): string {
  return text.replaceAll(`${base}/`, '');
}

function checkTypes(folder: string): void {
  if (!existsSync(join(folder, 'tsconfig.json'))) return;
  const compiler = join(CHECKOUT, 'node_modules/typescript/bin/tsc');
  const checked = spawnSync(process.execPath, [compiler, '-p', folder], { stdio: ['ignore', 2, 2] });
  if (checked.status !== 0) throw new ToolError(`${relative('.', folder) || '.'} has faults of types; they are above`);
}

async function buildModule(module: string, out: string, say: (text: string) => void): Promise<void> {
  if (out === module) throw new ToolError(`${module} would be written over; name the component by --out`);
  const { bundled, componentFrom, kindOf } = await toolchain();
  try {
    const kind = await kindOf(module);
    const source = await bundled(module, kind);
    const digest = digestOf(kind, source);
    const found = existsSync(out) ? readFileSync(out) : undefined;
    if (found !== undefined && isMadeOf(found, digest)) {
      say(`${out}: ${kind}, ${found.length} bytes, unchanged\n`);
      return;
    }
    const component = Buffer.concat([await componentFrom(source, kind), sectionOf(digest)]);
    const unfinished = `${out}.${process.pid}.part`;
    writeFileSync(unfinished, component);
    renameSync(unfinished, out);
    say(`${out}: ${kind}, ${component.length} bytes\n`);
  } catch (error) {
    throw new ToolError(`${module} is not built: ${messageOf(error)}`);
  }
}

/** Builds from a core module of another compiler. */
async function buildFromCore(core: string, out: string, say: (text: string) => void): Promise<void> {
  if (out === core) throw new ToolError(`${core} would be written over; name the component by --out`);
  const { componentOfModule } = await toolchain();
  try {
    const component = await componentOfModule(new Uint8Array(readFileSync(core)));
    writeFileSync(out, component);
    say(`${out}: component, ${component.length} bytes\n`);
  } catch (error) {
    throw new ToolError(`${core} is not built: ${messageOf(error)}`);
  }
}

/** Loads a development dependency, which may be missing. */
async function toolchain(): Promise<typeof Toolchain & typeof CoreToolchain> {
  try {
    return { ...(await import('../component/build/build.ts')), ...(await import('../component/build/core-module.ts')) };
  } catch (error) {
    throw new ToolError(`componentize-js is not installed in ${CHECKOUT}, run npm ci there: ${messageOf(error)}`);
  }
}

/** Comments with module paths are excluded. */
function digestOf(kind: string, source: string): Buffer {
  const text = source.replaceAll(/^\/\/#(?:end)?region.*\n/gm, '');
  const hash = createHash('sha256').update(kind).update('\0').update(text);
  for (const file of MADE_BY) hash.update('\0').update(readFileSync(join(CHECKOUT, file)));
  return hash.digest();
}

/** The section at the end of a component: 0, its length, the length of its name, the name, the digest. */
function sectionOf(digest: Buffer): Buffer {
  const name = Buffer.from(SECTION);
  return Buffer.concat([Buffer.from([0, 1 + name.length + DIGEST_BYTES, name.length]), name, digest]);
}

function isMadeOf(component: Buffer, digest: Buffer): boolean {
  const section = sectionOf(digest);
  return component.subarray(-section.length).equals(section);
}
