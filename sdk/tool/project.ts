/**
 * The folder of a component project.
 *
 * ```
 * component.ts          exports `component`
 * component.wasm        output of `cairn build`; kept with the source, since no two builds have the same bytes
 * component.test.ts     scenarios of the kit
 * definition.json       the metadata for publishing
 * node_modules/cairn    a link to this checkout, for the SDK; created again when it is missing
 * ```
 */
import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ToolError } from './failures.ts';

/** The checkout that contains this tool. */
export const CHECKOUT: string = resolve(import.meta.dirname, '../..');

export interface Project {
  readonly folder: string;
  readonly module: string;
  readonly component: string;
  readonly definition: string;
}

/** @throws ToolError when the folder is no project */
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

/** An installed package of that name is kept. */
export function ensureLink(folder: string): void {
  const link = join(folder, 'node_modules/cairn');
  if (existsSync(link)) return;
  mkdirSync(join(folder, 'node_modules'), { recursive: true });
  symlinkSync(CHECKOUT, link, 'dir');
}
