/**
 * The files that pages load from the folder beside this file: a style sheet, an icon and scripts. Each is served
 * under a name with the hash of its content, so browsers may cache it forever. Scripts are JavaScript with checked
 * types (ADR 0120).
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
/** Imported by the other modules. */
const LIBRARY = readModule('json-text.js');
const MODULES = ['time-machine.js', 'requests.js', 'tail.js'].map((file) => readModule(file, LIBRARY));

/** Only the page of Swagger UI loads it. */
const SWAGGER_MODULE = readModule('swagger.js');

/** Files by their name in the path. */
export const ASSETS: ReadonlyMap<string, Asset> = new Map(
  [STYLE, ICON, LIBRARY, ...MODULES, SWAGGER_MODULE].map(({ file, asset }) => [file, asset]),
);

export const STYLE_PATH: string = pathOf(STYLE);
export const ICON_PATH: string = pathOf(ICON);
export const MODULE_PATHS: readonly string[] = MODULES.map(pathOf);
export const SWAGGER_MODULE_PATH: string = pathOf(SWAGGER_MODULE);

/** Hash of all files. Part of the ETag of pages, which contain the paths of the files. */
export const ASSETS_TAG: string = tagOf([...ASSETS.keys()].join(' '));

interface Named {
  /** Name in the folder. */
  readonly source: string;
  readonly file: string;
  readonly asset: Asset;
}

function readAsset(file: string, contentType: string): Named {
  return named(file, { contentType, body: readFileSync(join(FOLDER, file), 'utf8') });
}

/** Replaces the names of the libraries in its imports by those under which they are served. */
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
