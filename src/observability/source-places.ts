/**
 * Maps stack traces of the bundled product back to source files, by the source map next to each bundle.
 *
 * A map is read when a stack trace that needs it is logged. Node.js itself (`--enable-source-maps`) would read every
 * map at every start.
 */
import { readFileSync } from 'node:fs';
import type { SourceMap, SourceMapPayload } from 'node:module';
import { fileURLToPath } from 'node:url';

/** A position in a file of the product, as V8 prints it; packages in node_modules are not mapped. */
const PLACE = /(file:\/\/(?:(?!\/node_modules\/)[^\s():])+\.js):(\d+):(\d+)/g;

/** Source maps by the URL of the bundle; undefined when there is no readable map. */
const maps = new Map<string, SourceMap | undefined>();

/** Replaces positions that a map knows by positions in the sources, and keeps the others. */
export function inSources(stack: string): string {
  return stack.replaceAll(PLACE, (place, url: string, line: string, column: string) => {
    // V8 counts from 1, maps count from 0.
    const origin = mapOf(url)?.findEntry(Number(line) - 1, Number(column) - 1);
    if (origin === undefined || !('originalSource' in origin)) return place;
    return `${new URL(origin.originalSource, url).href}:${origin.originalLine + 1}:${origin.originalColumn + 1}`;
  });
}

function mapOf(url: string): SourceMap | undefined {
  if (!maps.has(url)) maps.set(url, readMap(url));
  return maps.get(url);
}

function readMap(url: string): SourceMap | undefined {
  const { SourceMap: Reader } = process.getBuiltinModule('node:module');
  try {
    const payload: unknown = JSON.parse(readFileSync(`${fileURLToPath(url)}.map`, 'utf8'));
    return isMap(payload) ? new Reader(payload) : undefined;
  } catch {
    // A missing map must not hide the error that is being logged.
    return undefined;
  }
}

function isMap(value: unknown): value is SourceMapPayload {
  return typeof value === 'object' && value !== null && 'mappings' in value && 'sources' in value;
}
