/** Which id every event of a transaction is stored under: `EventIdMapping` messages, without decoding the events. */
import { type ByteWriter, beginMessage, WIRE_BYTES, writeTag, writeTextField } from '#base';

export interface MappedEvents {
  /** In canonical wire form, so that each begins with its id: tag 0A, length, text. */
  readonly events: readonly Uint8Array[];
  /** Events that were stored under another id, ascending by index. */
  readonly storedIds: readonly { readonly index: number; readonly id: string }[];
}

const STORED_ID = 2;
const ID_LENGTH_AT = 1;

/** Writes one message for each event, in order, as elements of a repeated field. */
export function writeEventIdMappings(writer: ByteWriter, field: number, { events, storedIds }: MappedEvents): void {
  let renamedCount = 0;
  let index = -1;
  for (const event of events) {
    index++;
    const mapping = beginMessage(writer, field);
    const idEnd = endOfId(event);
    // client_event_id is field 1 of the mapping as the id is of the event: the bytes are the same.
    writer.slice(event, 0, idEnd);
    const renamed = storedIds[renamedCount];
    if (renamed?.index === index) {
      renamedCount++;
      writeTextField(writer, STORED_ID, renamed.id);
    } else {
      writeTag(writer, STORED_ID, WIRE_BYTES);
      writer.slice(event, ID_LENGTH_AT, idEnd);
    }
    writer.endLength(mapping);
  }
}

/** An id has 1 to 255 bytes, so its length takes one byte or two. */
function endOfId(event: Uint8Array): number {
  const low = event[ID_LENGTH_AT] ?? 0;
  if (low < 0x80) return ID_LENGTH_AT + 1 + low;
  return ID_LENGTH_AT + 2 + (low - 0x80) + (event[ID_LENGTH_AT + 1] ?? 0) * 0x80;
}
