/**
 * Errors that fastify raises before a route is reached, as errors of ours (TH1). By their code, never by their text.
 */
import { DatabaseError } from '#base';
import { invalidField } from './errors.ts';

/** What is known of the request when a framework error is translated. */
export interface FailedRequest {
  readonly url: string;
  readonly contentType: string | undefined;
}

type Translation = (request: FailedRequest) => DatabaseError;

/**
 * What fastify can raise while it receives a request. Bodies, schemas and path lengths are not its business, so their
 * codes cannot occur.
 */
const TRANSLATIONS: Readonly<Record<string, Translation>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ({ contentType }) =>
    invalidField('Content-Type', 'must be a media type such as application/json', contentType),
  FST_ERR_BAD_URL: ({ url }) => invalidField('path', 'must have percent encodings of UTF-8, such as %C3%A9', url),
};

/** The error to answer with. Whatever is not known here is a fault of the server, and its text stays in the log. */
export function toDatabaseError(error: unknown, request: FailedRequest): DatabaseError {
  if (error instanceof DatabaseError) return error;
  const code = frameworkCode(error);
  const translate = code === undefined ? undefined : TRANSLATIONS[code];
  if (translate !== undefined) return translate(request);
  return new DatabaseError('internal', 'The server failed to answer this request; its log says why.', { cause: error });
}

function frameworkCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' && Object.hasOwn(TRANSLATIONS, error.code) ? error.code : undefined;
}
