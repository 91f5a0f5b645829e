/**
 * What pages load: a style, an icon and modules, as they lie in the folder beside this file, under names that change
 * with what is in them, so that browsers may keep them for ever. Modules are JavaScript whose types are checked (ADR
 * 0120).
 */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Asset {
  readonly contentType: string;
  readonly body: string;
}

const ASSETS_PATH = '/assets';
const FOLDER = join(import.meta.dirname, 'assets');
const TAG_LENGTH = 12;

const STYLE = readAsset('cairn.css', 'text/css; charset=utf-8');
const ICON = readAsset('cairn.svg', 'image/svg+xml');
/** What modules load. */
const LIBRARY = readModule('json-text.js');
const MODULES = ['time-machine.js', 'requests.js', 'tail.js'].map((file) => readModule(file, LIBRARY));

/** Of the page that shows Swagger UI alone. */
const SWAGGER_MODULE = readModule('swagger.js');

/** By the name that stands in its path. */
export const ASSETS: ReadonlyMap<string, Asset> = new Map(
  [STYLE, ICON, LIBRARY, ...MODULES, SWAGGER_MODULE].map(({ file, asset }) => [file, asset]),
);

export const STYLE_PATH: string = pathOf(STYLE);
export const ICON_PATH: string = pathOf(ICON);
export const MODULE_PATHS: readonly string[] = MODULES.map(pathOf);
export const SWAGGER_MODULE_PATH: string = pathOf(SWAGGER_MODULE);

/** Changes with any of them: pages name their paths. */
export const ASSETS_TAG: string = tagOf([...ASSETS.keys()].join(' '));

interface Named {
  /** As it lies in the folder. */
  readonly source: string;
  readonly file: string;
  readonly asset: Asset;
}

function readAsset(file: string, contentType: string): Named {
  return named(file, { contentType, body: readFileSync(join(FOLDER, file), 'utf8') });
}

/** A module names what it loads as it lies beside it; a browser finds that under another name. */
function readModule(file: string, ...libraries: readonly Named[]): Named {
  let body = readFileSync(join(FOLDER, file), 'utf8');
  for (const library of libraries) body = body.replaceAll(`'./${library.source}'`, `'./${library.file}'`);
  return named(file, { contentType: 'text/javascript; charset=utf-8', body });
}

function named(source: string, asset: Asset): Named {
  const dot = source.lastIndexOf('.');
  return { source, file: `${source.slice(0, dot)}-${tagOf(asset.body)}${source.slice(dot)}`, asset };
}

function tagOf(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, TAG_LENGTH);
}

function pathOf({ file }: Named): string {
  return assetPath(file);
}

export function assetPath(file: string): string {
  return `${ASSETS_PATH}/${file}`;
}
