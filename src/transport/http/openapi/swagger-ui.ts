/**
 * Swagger UI over the full document. Its files are those of the package that prepares them, read once, when they are
 * asked for first; their names have its release, so browsers may keep them.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { type Asset, assetPath, ICON_PATH, SWAGGER_MODULE_PATH } from '../rendering/html/assets.ts';
import { html } from '../rendering/html/markup.ts';

const require = createRequire(import.meta.url);
const PACKAGE = dirname(require.resolve('@fastify/swagger-ui/package.json'));
const RELEASE = releaseOf(JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8')));

const STYLE = `swagger-ui-${RELEASE}.css`;
const BUNDLE = `swagger-ui-${RELEASE}.js`;

/** The file of the package and its content type, by the name that stands in a path. */
const FILES: ReadonlyMap<string, { readonly file: string; readonly contentType: string }> = new Map([
  [STYLE, { file: 'swagger-ui.css', contentType: 'text/css; charset=utf-8' }],
  [BUNDLE, { file: 'swagger-ui-bundle.js', contentType: 'text/javascript; charset=utf-8' }],
]);

export function isOfSwagger(name: string): boolean {
  return FILES.has(name);
}

/** Those that were asked for. */
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

/** It sets styles of elements from scripts, and has icons in its style. */
export const SWAGGER_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; style-src 'self' 'unsafe-inline'; script-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'referrer-policy': 'same-origin',
};

export function swaggerPage(documentPath: string): string {
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Swagger UI · Cairn</title><link rel="icon" href="${ICON_PATH}"><link rel="stylesheet" href="${assetPath(STYLE)}"></head>
<body><div id="swagger-ui" data-document="${documentPath}"></div><script src="${assetPath(BUNDLE)}"><\/script><script type="module" src="${SWAGGER_MODULE_PATH}"><\/script></body></html>
`.text;
}

function releaseOf(manifest: unknown): string {
  const isNamed = typeof manifest === 'object' && manifest !== null && 'version' in manifest;
  return isNamed ? String(manifest.version) : 'unknown';
}
