/**
 * A folder in which somebody writes a component.
 *
 * ```
 * component.ts          exports `component`
 * component.wasm        what `cairn build` makes of it; kept with the source, since no two builds have the same bytes
 * component.test.ts     scenarios of the kit
 * definition.json       the metadata under which it is published
 * node_modules/cairn    a link to this checkout, where the SDK is found; made again when it is missing
 * ```
 */
import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ToolError } from './failures.ts';

/** The checkout that this tool is a part of. */
export const CHECKOUT: string = resolve(import.meta.dirname, '../..');

export interface Project {
  readonly folder: string;
  readonly module: string;
  readonly component: string;
  readonly definition: string;
}

/** @throws ToolError when the folder is none */
export function projectIn(folder: string): Project {
  const module = join(folder, 'component.ts');
  if (!existsSync(module)) {
    throw new ToolError(`${folder} has no component.ts; cairn init state-view ${folder} makes a project`);
  }
  ensureLink(folder);
  return {
    folder,
    module,
    component: join(folder, 'component.wasm'),
    definition: join(folder, 'definition.json'),
  };
}

/** Whoever has installed a package of that name keeps it. */
export function ensureLink(folder: string): void {
  const link = join(folder, 'node_modules/cairn');
  if (existsSync(link)) return;
  mkdirSync(join(folder, 'node_modules'), { recursive: true });
  symlinkSync(CHECKOUT, link, 'dir');
}
