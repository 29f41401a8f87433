import type { DocumentServer } from '@plainpath/auth/document-server'

/** A placeholder for the key. The document that contains it is replaced immediately. */
const NO_KEY = { jwk: { kty: 'OKP' } }

/**
 * Publishes a document at a new URL. If `createDocument` returns undefined, the URL is not found.
 *
 * @returns the URL, and a function that replaces the document
 */
export function publishDocument(
  documents: DocumentServer,
  createDocument: (url: string) => object | undefined,
) {
  const published = documents.publish([NO_KEY])
  published.change(createDocument(published.client_id))
  return { url: published.client_id, change: (document: object) => published.change(document) }
}
