/** A stored event as the parts of a CloudEvent: the inverse of `acceptCloudEventParts`. */
import type { CloudEventParts } from './cloud-event.ts';
import type { ExtensionValue } from './event.ts';
import { readEvent } from './event-decode.ts';
import { eventFacts } from './event-spans.ts';
import { payloadForm } from './payload-form.ts';

/** The accepted event in `[from, to)`. A payload that JSON shows in base64 is binary, any other is text. */
export function eventParts(bytes: Uint8Array, from: number, to: number): CloudEventParts {
  const { id, source, specVersion, type, subject, time, dataContentType, dataSchema, data, extensions } = readEvent(
    bytes,
    from,
    to,
  );
  const attributes = new Map<string, ExtensionValue>();
  if (subject !== undefined) attributes.set('subject', { kind: 'string', value: subject });
  if (time !== undefined) attributes.set('time', { kind: 'timestamp', value: time.instant });
  if (dataContentType !== undefined) attributes.set('datacontenttype', { kind: 'string', value: dataContentType });
  if (dataSchema !== undefined) attributes.set('dataschema', { kind: 'uri', value: dataSchema });
  for (const [name, value] of extensions) attributes.set(name, value);
  const form = payloadForm(bytes, eventFacts(bytes, from, to));
  const kind = form === 'base64' ? 'binary' : 'text';
  return { id, source, specVersion, type, attributes, payload: form === 'absent' ? undefined : { kind, bytes: data } };
}
