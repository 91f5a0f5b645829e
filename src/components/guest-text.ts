/** What a component says to whoever asked: in errors, of which trailers of gRPC have room for a few KiB. */
import { cut } from '#base';

const TEXT_LENGTH_MAX = 800;
const CODE_LENGTH_MAX = 128;

/** A sentence; more of it than fits is cut off, and how long it was is told. */
export function guestText(text: string): string {
  return cut(text, TEXT_LENGTH_MAX);
}

/** A word of the component's own for what is wrong. */
export function guestCode(text: string): string {
  return cut(text, CODE_LENGTH_MAX);
}
