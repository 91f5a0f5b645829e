/** Parses JSON of the API server. The request determines the kind of the object. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller knows the kind that it requested
export function parseJson<Answer>(text: string): Answer {
  // oxlint-disable-next-line typescript/no-unsafe-return -- the API server validates objects against their schemas
  return JSON.parse(text);
}
