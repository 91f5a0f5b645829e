/** Texts of a component in errors, limited because gRPC trailers have room for a few KiB. */
import { cut } from '#base';

const TEXT_LENGTH_MAX = 800;
const CODE_LENGTH_MAX = 128;

/** A sentence; if it is too long it is cut, and its length is added. */
export function guestText(text: string): string {
  return cut(text, TEXT_LENGTH_MAX);
}

/** An error code of the component. */
export function guestCode(text: string): string {
  return cut(text, CODE_LENGTH_MAX);
}
