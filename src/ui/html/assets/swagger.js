/** Shows the document that the page names. */

const place = document.querySelector('#swagger-ui');
if (place instanceof HTMLElement) show(globalThis, place);

/**
 * Uses the script before this one, if it was loaded.
 * @param {object} scope
 * @param {HTMLElement} where
 */
function show(scope, where) {
  if (!hasBundle(scope)) return;
  const { document: url } = where.dataset;
  scope.SwaggerUIBundle({ url, domNode: where, deepLinking: true, validatorUrl: null });
}

/**
 * @param {object} scope
 * @returns {scope is { readonly SwaggerUIBundle: (options: object) => unknown }}
 */
function hasBundle(scope) {
  return 'SwaggerUIBundle' in scope;
}
