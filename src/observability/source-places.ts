/**
 * Stack traces that name the sources. The product is a bundle, and a place in it says nothing to a reader; the map
 * beside each file of it leads to the source.
 *
 * A map is read when a trace that needs it is logged. Node could do it (`--enable-source-maps`), and would read every
 * map at every start.
 */
import { readFileSync } from 'node:fs';
import type { SourceMap, SourceMapPayload } from 'node:module';
import { fileURLToPath } from 'node:url';

/** A place in a file of the product, as V8 writes it; packages stay what they are. */
const PLACE = /(file:\/\/(?:(?!\/node_modules\/)[^\s():])+\.js):(\d+):(\d+)/g;

/** By the URL of a file of the product; undefined where there is none that can be read. */
const maps = new Map<string, SourceMap | undefined>();

/** The trace with every place that a map knows as a place in the sources; the others stay as they are. */
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
    // Something is wrong already, and this is about to say what: a missing map must not keep it from that.
    return undefined;
  }
}

function isMap(value: unknown): value is SourceMapPayload {
  return typeof value === 'object' && value !== null && 'mappings' in value && 'sources' in value;
}
