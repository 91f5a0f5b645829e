/**
 * An `Event` as canonical bytes (event-wire.ts). It writes any event; the walk over the bytes checks it. Texts must be
 * well-formed: an unpaired surrogate would be replaced, so readers of JSON refuse it.
 */
import {
  ByteWriter,
  beginMessage,
  compareBytes,
  encodeUtf8,
  formatInstant,
  isInstant,
  writeBytesField,
  writeSignedField,
  writeTextField,
  writeVarintField,
} from '#base';
import type { EffectiveTime, Event, ExtensionValue } from './event.ts';
import { writeTimestamp } from './timestamp-wire.ts';

export function encodeEvent(event: Event): Uint8Array {
  const writer = new ByteWriter();
  writeTextUnlessEmpty(writer, 1, event.id);
  writeTextUnlessEmpty(writer, 2, event.specVersion);
  writeTextUnlessEmpty(writer, 3, event.type);
  writeTextUnlessEmpty(writer, 4, event.source);
  if (event.subject !== undefined) writeTextField(writer, 5, event.subject);
  if (event.time !== undefined) writeTimestamp(writer, 6, event.time.instant);
  if (event.data.length > 0) writeBytesField(writer, 7, event.data);
  writeExtensions(writer, event.extensions);
  if (event.dataContentType !== undefined) writeTextField(writer, 9, event.dataContentType);
  if (event.dataSchema !== undefined) writeTextField(writer, 10, event.dataSchema);
  if (event.dataKind !== 0) writeSignedField(writer, 11, event.dataKind);
  const timeText = neededTimeText(event.time);
  if (timeText !== undefined) writeTextField(writer, 12, timeText);
  return writer.take();
}

function writeTextUnlessEmpty(writer: ByteWriter, field: number, text: string): void {
  if (text !== '') writeTextField(writer, field, text);
}

/** The spelling of the time, unless it is the canonical one. */
function neededTimeText(time: EffectiveTime | undefined): string | undefined {
  if (time?.text === undefined) return undefined;
  const { seconds, nanos } = time.instant;
  return isInstant(seconds, nanos) && time.text === formatInstant(time.instant) ? undefined : time.text;
}

function writeExtensions(writer: ByteWriter, extensions: Event['extensions']): void {
  if (extensions.size === 0) return;
  const entries = Array.from(extensions, ([name, value]) => ({ name: encodeUtf8(name), value }));
  for (const { name, value } of entries.toSorted((left, right) => compareBytes(left.name, right.name))) {
    const entry = beginMessage(writer, 8);
    writeBytesField(writer, 1, name);
    const message = beginMessage(writer, 2);
    writeExtensionValue(writer, value);
    writer.endLength(message);
    writer.endLength(entry);
  }
}

function writeExtensionValue(writer: ByteWriter, extension: ExtensionValue): void {
  switch (extension.kind) {
    case 'boolean':
      writeVarintField(writer, 1, extension.value ? 1 : 0);
      return;
    case 'integer':
      writeSignedField(writer, 2, extension.value);
      return;
    case 'string':
      writeTextField(writer, 3, extension.value);
      return;
    case 'bytes':
      writeBytesField(writer, 4, extension.value);
      return;
    case 'uri':
      writeTextField(writer, 5, extension.value);
      return;
    case 'uri-ref':
      writeTextField(writer, 6, extension.value);
      return;
    case 'timestamp':
      writeTimestamp(writer, 7, extension.value);
      return;
  }
}
