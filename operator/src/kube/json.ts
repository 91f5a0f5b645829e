/** JSON of the API server, whose requests say which kind of object comes back. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller says what it asked for
export function parseJson<Answer>(text: string): Answer {
  // oxlint-disable-next-line typescript/no-unsafe-return -- the API server holds its objects to their schemas
  return JSON.parse(text);
}
