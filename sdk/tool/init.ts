/** `cairn init`: creates a project that is ready to build, test and publish. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { isKind, KINDS } from '../component/build/kinds.ts';
import { readArguments } from './arguments.ts';
import { ToolError, UsageError } from './failures.ts';
import { ensureLink } from './project.ts';

const TEMPLATES = join(import.meta.dirname, 'templates');
/** A name that is valid both for components and for npm packages. */
const NAME = /^[a-z][a-z0-9_.-]{0,127}$/;
/** Placeholder of the name in template files. */
const PLACE = '{{name}}';
/** npm omits files of the target name from packages. */
const RENAMED = new Map([['gitignore', '.gitignore']]);

export function init(args: readonly string[], base: string, say: (text: string) => void): void {
  const { subject: kind, more } = readArguments(args, [], 2);
  if (!isKind(kind)) {
    throw new UsageError(
      `${kind === undefined ? 'The kind is missing' : `${kind} is no kind`}; it is ${KINDS.join(', ')}`,
    );
  }
  const folder = resolve(base, more[0] ?? kind);
  const name = basename(folder);
  if (!NAME.test(name)) {
    throw new UsageError(
      `${name} is no name; it must be a lowercase letter, then up to 127 of a-z, 0-9, "_", "." and "-"`,
    );
  }
  if (existsSync(folder) && (!statSync(folder).isDirectory() || readdirSync(folder).length > 0)) {
    throw new ToolError(`${folder} is there and not empty; name another folder`);
  }
  mkdirSync(folder, { recursive: true });
  for (const template of ['common', kind]) cpSync(join(TEMPLATES, template), folder, { recursive: true });
  for (const file of readdirSync(folder)) fillIn(join(folder, file), name);
  ensureLink(folder);
  const path = relative(base, folder);
  say(`${path.startsWith('..') ? folder : path}: a ${kind}. In it: npm run build, npm test, and its README.md\n`);
}

function fillIn(path: string, name: string): void {
  writeFileSync(path, readFileSync(path, 'utf8').replaceAll(PLACE, name));
  const other = RENAMED.get(basename(path));
  if (other !== undefined) renameSync(path, join(path, '..', other));
}
