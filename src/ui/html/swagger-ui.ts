/**
 * The page of Swagger UI, the only one that page.ts does not render, and its files. A file of the npm package is read
 * when it is first requested. File names contain the release of the package, so browsers may cache them forever.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { type Asset, assetPath, ICON_PATH, SWAGGER_MODULE_PATH } from './assets.ts';
import { html } from './markup.ts';

const require = createRequire(import.meta.url);
const PACKAGE = dirname(require.resolve('@fastify/swagger-ui/package.json'));
const RELEASE = releaseOf(JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8')));

const STYLE = `swagger-ui-${RELEASE}.css`;
const BUNDLE = `swagger-ui-${RELEASE}.js`;

/** Files of the package, by their name in the path. */
const FILES: ReadonlyMap<string, { readonly file: string; readonly contentType: string }> = new Map([
  [STYLE, { file: 'swagger-ui.css', contentType: 'text/css; charset=utf-8' }],
  [BUNDLE, { file: 'swagger-ui-bundle.js', contentType: 'text/javascript; charset=utf-8' }],
]);

export function isOfSwagger(name: string): boolean {
  return FILES.has(name);
}

/** Files that were requested. */
const READ = new Map<string, Asset>();

export function swaggerAsset(name: string): Asset | undefined {
  const read = READ.get(name);
  if (read !== undefined) return read;
  const known = FILES.get(name);
  if (known === undefined) return undefined;
  const asset = { contentType: known.contentType, body: readFileSync(join(PACKAGE, 'static', known.file), 'utf8') };
  READ.set(name, asset);
  return asset;
}

/** Swagger UI sets inline styles, and has icons as `data:` URLs in its style. */
export const SWAGGER_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; style-src 'self' 'unsafe-inline'; script-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'referrer-policy': 'same-origin',
};

export function renderSwagger(documentPath: string): string {
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Swagger UI · Cairn</title><link rel="icon" href="${ICON_PATH}"><link rel="stylesheet" href="${assetPath(STYLE)}"></head>
<body><div id="swagger-ui" data-document="${documentPath}"></div><script src="${assetPath(BUNDLE)}"><\/script><script type="module" src="${SWAGGER_MODULE_PATH}"><\/script></body></html>
`.text;
}

function releaseOf(manifest: unknown): string {
  const isNamed = typeof manifest === 'object' && manifest !== null && 'version' in manifest;
  return isNamed ? String(manifest.version) : 'unknown';
}
