/**
 * The form of a payload in the JSON of its event:
 * - `data`, raw, when its kind is JSON, or unspecified and the content type is JSON or absent; and it is valid JSON;
 * - `data`, a string, when its kind is text, or unspecified and the content type is text/…; and it is valid UTF-8;
 * - `data_base64` otherwise; omitted when there is no payload.
 */
import { decodeUtf8, indexOfIllFormed } from '#base';
import { DATA_KIND } from './event.ts';
import type { EventSpans } from './event-spans.ts';
import { isWellFormedJson } from './json-scan.ts';
import { isJsonType, isTextType } from './media-type.ts';

/** The JSON form of the payload of a stored event. */
export function payloadForm(bytes: Uint8Array, span: EventSpans): 'absent' | 'json' | 'text' | 'base64' {
  const { dataKind, dataStart, contentTypeStart } = span;
  if (dataStart === -1 && dataKind === DATA_KIND.UNSPECIFIED) return 'absent';
  const from = dataStart === -1 ? 0 : dataStart;
  const to = dataStart === -1 ? 0 : span.dataEnd;
  const isTyped = dataKind === DATA_KIND.UNSPECIFIED && contentTypeStart !== -1;
  const contentType = isTyped ? decodeUtf8(bytes, contentTypeStart, span.contentTypeEnd) : undefined;
  if (mayBeJson(dataKind, contentType) && isWellFormedJson(bytes, from, to)) return 'json';
  if (mayBeText(dataKind, contentType) && indexOfIllFormed(bytes, from, to) === -1) return 'text';
  return 'base64';
}

function mayBeJson(dataKind: number, contentType: string | undefined): boolean {
  if (dataKind !== DATA_KIND.UNSPECIFIED) return dataKind === DATA_KIND.JSON;
  return contentType === undefined || isJsonType(contentType);
}

function mayBeText(dataKind: number, contentType: string | undefined): boolean {
  if (dataKind !== DATA_KIND.UNSPECIFIED) return dataKind === DATA_KIND.TEXT;
  return contentType !== undefined && isTextType(contentType);
}
